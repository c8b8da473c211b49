"""Names from outside, made harmless for XML and HTML."""

from __future__ import annotations

import re
from html import escape

__all__ = ["markup"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # not allowed in XML, or invisible


def markup(text: str) -> str:
    """The text as content or attribute value."""
    return escape(_CONTROL.sub("?", text))
