"""Small things about texts."""

from __future__ import annotations

import hashlib

__all__ = ["digest"]


def digest(text: str | None) -> str:
    """Short name of a content; "" for a file that isn't there."""
    return "" if text is None else hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
