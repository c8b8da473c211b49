"""Host lists as Slurm writes and reads them: ``fold`` names into an expression, ``expand`` an expression into names.

Source: Slurm's src/common/hostlist.c, and trials with `scontrol show hostlistsorted|hostnames` of 24.11.5 and 26.05.5:

* only the digits at a name's end are folded: ``r1n1,r1n2,r2n1`` is ``r1n[1-2],r2n1``
* a range takes its width from its low bound, so 08, 09, 10 is ``[08-10]``, and 8 and 08 never share a range
* names (of ASCII) are ordered by prefix as people count (``a9-`` before ``a10-``), then by width, then by number
* several brackets are read (``r[1-2]n[1-2]``), never written

Stricter than Slurm on purpose, because Slurm changes a name or dies without a word where these are read:
``n[1-]`` (is n1), ``n[ 1-3]`` and ``n[+1-3]`` (are n01 …), ``n1]``, ``block{b1}`` (a host list function: slurmctld
26.05 crashes on it), and a number of 2^64 - 1 or more at a name's end (larger ones are changed, a range up to it is a
crash).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from .errors import HostListError

__all__ = ["DEFAULT_LIMIT", "MAX_RANGE", "NUMBER_LIMIT", "Expander", "expand", "fold", "is_large"]

MAX_RANGE = 65_536  # names in one range: MAX_RANGE in hostlist.c; n[0-65536] is "Too many hosts in range"
NUMBER_LIMIT = 2**64 - 1  # numbers at a name's end stay below it: Slurm keeps them in an unsigned long
LONGEST_NAME = 255  # characters around and in a bracket: bounds the memory that a short hostile expression can ask for
DEFAULT_LIMIT = 262_144  # names in one expression: 4 times MAX_SLURM_NODES, the most that slurmctld takes

_DIGITS = "0123456789"
_SAFE_DIGITS = 19  # numbers of up to 19 digits are below NUMBER_LIMIT
_NOT_IN_A_NAME = re.compile(r"[\[\]{}, \t\n\r\f\v]")
_ONE_RANGE = re.compile(r"([^\[\]{}, \t\n]*)\[([0-9]+)-([0-9]+)\]")
_ITEM = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_TOKEN = re.compile(r"(?:[^, \t\n\[\]]+|\[[^\[\]]*\])+")
_BRACKET = re.compile(r"\[([^\]]*)\]")


# ---- names → expression


def fold(names: Iterable[str]) -> str:
    """The shortest expression that Slurm's sorted host list has for these names; each name once, in Slurm's order.

    The same names in any order give the same text; no names give "". Raises HostListError for a name that no host
    list can hold: empty, with one of ``[ ] { } ,`` or white space in it, or with too large a number at its end.
    """
    unique = sorted(set(names))
    if not unique:
        return ""
    _refuse_unwritable(unique)
    _refuse_large(unique)
    prefix = unique[0].rstrip(_DIGITS)
    if unique[-1].startswith(prefix):  # sorted: then all of them start with it
        tails = [name[len(prefix) :] for name in unique]
        joined = "".join(tails)
        if tails[0] and joined.isdecimal() and joined.isascii():
            return _fold_tails(prefix, tails)
    return _fold_by_prefix(unique)


def _fold_by_prefix(unique: list[str]) -> str:
    by_prefix: dict[str, list[str]] = {}
    for name in unique:
        prefix = name.rstrip(_DIGITS)
        by_prefix.setdefault(prefix, []).append(name[len(prefix) :])
    prefixes = sorted(by_prefix, key=_as_people_count) if len(by_prefix) > 1 else list(by_prefix)
    folded = []
    for prefix in prefixes:
        tails = by_prefix[prefix]
        folded.append(prefix + tails[0] if len(tails) == 1 else _fold_tails(prefix, tails))
    return ",".join(folded)


def _fold_tails(prefix: str, tails: list[str]) -> str:
    """One prefix with its numbers. ``tails``: unique digit strings in text order; one of them may be ""."""
    if len(tails) == 1:
        return prefix + tails[0]
    if not tails[0]:
        return f"{prefix},{_fold_tails(prefix, tails[1:])}"
    tails.sort(key=len)  # stable: by width, then by number
    low, high = tails[0], tails[-1]
    if len(low) == len(high) and int(high) - int(low) == len(tails) - 1 < MAX_RANGE:
        return f"{prefix}[{low}-{high}]"
    return f"{prefix}[{','.join(_ranges(tails))}]"


def _ranges(tails: list[str]) -> Iterator[str]:
    """``3``, ``08-10``: runs of numbers that Slurm's expansion of the range gives back digit for digit."""
    low = high = tails[0]
    start = end = int(low)
    for tail in tails[1:]:
        number = int(tail)
        same_look = len(tail) == len(low) or tail[0] != "0"
        if number == end + 1 and same_look and number - start < MAX_RANGE:
            high, end = tail, number
            continue
        yield low if start == end else f"{low}-{high}"
        low = high = tail
        start = end = number
    yield low if start == end else f"{low}-{high}"


@lru_cache(maxsize=8192)
def _as_people_count(prefix: str) -> str:
    """A sort key with the order of Slurm's strnatcmp: by value inside, leading zeros as fractions."""
    return re.sub(r"[0-9]+", _number_key, prefix)


def _number_key(match: re.Match[str]) -> str:
    digits = match[0]
    return f"{digits}\0" if digits[0] == "0" else f"9{chr(len(digits))}{digits}"


def _refuse_unwritable(unique: list[str]) -> None:
    if unique[0] and not _NOT_IN_A_NAME.search("".join(unique)):
        return
    bad = next(name for name in unique if not name or _NOT_IN_A_NAME.search(name))
    raise HostListError(f"{bad!r} can't be in a host list: expected no brackets, braces, commas and white space", bad)


def _refuse_large(names: list[str]) -> None:
    if names and max(map(len, names)) > _SAFE_DIGITS:
        for name in names:
            digits = name[len(name.rstrip(_DIGITS)) :]
            if is_large(digits):
                raise HostListError(
                    f"{name!r} ends in a number that Slurm changes: expected less than 2^64 - 1", digits
                )


def is_large(digits: str) -> bool:
    """Whether these digits at a name's end are a number of NUMBER_LIMIT or more; leading zeros don't count."""
    significant = digits.lstrip("0") if len(digits) > _SAFE_DIGITS else ""
    return len(significant) > _SAFE_DIGITS + 1 or (len(significant) > _SAFE_DIGITS and int(significant) >= NUMBER_LIMIT)


# ---- expression → names


class _Range(NamedTuple):
    """Numbers from ``low`` to ``high``, both included, written with at least ``width`` digits."""

    low: int
    high: int
    width: int


def expand(text: str, limit: int = DEFAULT_LIMIT) -> list[str]:
    """The names of an expression, in its order, repeated ones kept; the last bracket of a name varies fastest.

    Commas, blanks, tabs and line ends separate; empty parts are skipped, as Slurm does. Raises HostListError with the
    wrong part for what Slurm refuses or would quietly change (see above), and for more than ``limit`` names.
    """
    simple = _ONE_RANGE.fullmatch(text)
    if simple:
        names = _expand_bracket(simple[1], [_range(simple[2], simple[3], text)], "", text, limit)
        _refuse_large(names[-1:])
        return names
    names = []
    for token in _tokens(text):
        if "[" in token:
            names += _expand_token(token, limit - len(names))
        else:
            names.append(token)
    _refuse_too_many(len(names), limit, text)
    _refuse_large(names)
    return names


class _TooManyError(HostListError):
    """More names than the caller's limit."""


class Expander:
    """``expand`` for all the host lists of one file, which share a limit: a hostile file can't fill the memory."""

    def __init__(self, limit: int = 4 * DEFAULT_LIMIT) -> None:
        self._left = limit

    def __call__(self, text: str) -> tuple[str, ...]:
        try:
            names = expand(text, min(self._left, DEFAULT_LIMIT))
        except _TooManyError:
            self._left = 0  # no more work for what is refused anyway
            raise
        self._left -= len(names)
        return tuple(names)


def _tokens(text: str) -> list[str]:
    """The parts between separators. Raises HostListError for a lone bracket and for host list functions."""
    for brace in "{}":
        if brace in text:
            raise HostListError(f"{text[:80]!r} has a {brace!r}: slurmctld can crash on a host list function", brace)
    tokens = _TOKEN.findall(text)
    kept = "".join(tokens)
    for bracket in "[]":
        if text.count(bracket) != kept.count(bracket):
            raise HostListError(f"{text[:80]!r} has a {bracket!r} without its partner", bracket)
    return tokens


def _parse_bracket(content: str, token: str) -> list[_Range]:
    return [_parse_item(item, token) for item in content.split(",")]


def _parse_item(item: str, token: str) -> _Range:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise HostListError(f"{item!r} in {token[:80]!r} is no range: expected something like 3 or 01-16", item)
    return _range(match[1], match[2] or match[1], token)


def _range(low: str, high: str, token: str) -> _Range:
    part = f"{low}-{high}"
    if len(part) > LONGEST_NAME:
        raise HostListError(f"a range in {token[:80]!r} has numbers of {len(low)} and {len(high)} digits", part)
    numbers = _Range(int(low), int(high), len(low))
    if numbers.low > numbers.high:
        raise HostListError(f"the range {part} in {token[:80]!r} goes down: expected the lower number first", part)
    if numbers.high - numbers.low >= MAX_RANGE:
        raise HostListError(f"the range {part} in {token[:80]!r} has more than {MAX_RANGE} names, Slurm's limit", part)
    return numbers


def _expand_token(token: str, limit: int) -> list[str]:
    """All combinations of a token's brackets, the last one varying fastest."""
    first, *pieces = _BRACKET.split(token)
    names = [first]
    for content, literal in zip(pieces[::2], pieces[1::2], strict=True):
        ranges = [_parse_item(item, token) for item in content.split(",")]
        _refuse_too_many(len(names) * _count(ranges), limit, token)
        names = [full for name in names for full in _expand_bracket(name, ranges, literal, token, limit)]
    return names


def _expand_bracket(before: str, ranges: list[_Range], after: str, token: str, limit: int) -> list[str]:
    _refuse_too_many(_count(ranges), limit, token)
    if len(before) + len(after) > LONGEST_NAME:
        raise HostListError(f"{token[:80]!r} makes names of more than {LONGEST_NAME} characters", token)
    names: list[str] = []
    for low, high, width in ranges:
        if width == 1 or low >= 10 ** (width - 1):  # no leading zeros: the usual case, and twice as fast
            names += [f"{before}{number}{after}" for number in range(low, high + 1)]
        else:
            names += [f"{before}{number:0{width}}{after}" for number in range(low, high + 1)]
    return names


def _count(ranges: list[_Range]) -> int:
    return sum([high - low + 1 for low, high, _ in ranges])


def _refuse_too_many(size: int, limit: int, token: str) -> None:
    if size > limit:
        raise _TooManyError(f"{token[:80]!r} makes {size} names, expected at most {limit} here", token)
