"""Shape checks for parsed JSON that somebody else wrote, shared by all readers.

A reader never trusts a member to exist or to be of the documented type. What makes an answer unusable as a whole raises
InputError with the place, what was got and what was expected; what is merely absent becomes None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .errors import InputError

__all__ = ["describe", "fact", "items", "mapping", "members", "number", "pages", "text"]

# Seen for an unknown label, beside JSON null and the empty string.
_UNKNOWN_WORD = "null"


def describe(value: object) -> str:
    """What a value is, in a few words, for messages: ``a list of 3``, ``the text 'abc'``, ``null``."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"the text {value[:60]!r}"
    if isinstance(value, Mapping):
        return f"an object with {', '.join(sorted(map(str, value))[:6]) or 'no members'}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return f"{value!r:.60}"


def mapping(value: object, where: str) -> Mapping[str, Any]:
    """The value as a JSON object; InputError names the place when it is none."""
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: expected an object, got {describe(value)}")
    return value


def items(value: object, where: str) -> Sequence[Any]:
    """The value as a list, null as an empty one; InputError names the place when it is something else."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise InputError(f"{where}: expected a list, got {describe(value)}")
    return value


def text(value: object) -> str | None:
    """A non-empty text without blanks around it, else None. For names: a partition may be called "null"."""
    return value.strip() or None if isinstance(value, str) else None


def fact(value: object) -> str | None:
    """Like text, but the word "null" means unknown, too. For labels, ids and addresses."""
    known = value.strip() if isinstance(value, str) else ""
    return None if not known or (len(known) == len(_UNKNOWN_WORD) and known.lower() == _UNKNOWN_WORD) else known


def number(value: object) -> int | None:
    """A whole number ≥ 0, also when written as text (custom resources get all values as text), else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return None


def pages(document: object, where: str) -> Iterator[Mapping[str, Any]]:
    """Each answer in a document that is one answer or a list of answers (pages of a listing, or one call per node)."""
    answers = document if isinstance(document, list | tuple) else [document]
    for index, answer in enumerate(answers):
        yield mapping(answer, f"{where}[{index}]" if len(answers) > 1 else where)


def members(answer: Mapping[str, Any], name: str, where: str) -> Sequence[Any]:
    """The list under ``name``; InputError when the member is missing altogether (then it is another kind of answer)."""
    if name not in answer:
        raise InputError(f"{where}: expected an answer with {name!r}, got {describe(answer)}")
    return items(answer[name], f"{where}.{name}")
