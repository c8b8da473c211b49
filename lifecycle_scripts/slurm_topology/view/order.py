"""The order in which people look for names: node-4 before node-10."""

from __future__ import annotations

import re

__all__ = ["as_people_count"]

_NUMBER = re.compile(r"([0-9]+)")


def as_people_count(name: str) -> tuple[str | int, ...]:
    """A sort key: words as text, numbers by value. Words and numbers take turns, so that keys compare; names that
    differ only in zeros before a number (n1, n01) are told apart by the name at the end."""
    parts = _NUMBER.split(name)
    return (*(int(part) if index % 2 else part for index, part in enumerate(parts)), name)
