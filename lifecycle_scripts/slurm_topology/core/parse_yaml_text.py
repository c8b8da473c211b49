"""YAML text → nodes with line numbers, the way slurmctld's reader sees them: every scalar is text, whatever its look.

Three readers, the cheapest that fits:

1. the form that ``render_yaml`` writes: line by line, no library
2. JSON (which slurmctld accepts in topology.yaml): the standard library
3. any other YAML: PyYAML, imported only then
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from . import check_rules as rules
from .check_rules import Report
from .errors import InputError

__all__ = ["Mapping", "Node", "Scalar", "Sequence", "read"]

_FILE = "topology.yaml"
# Tags by which slurmctld (26.05, trials) converts a scalar, or refuses the file when it can't; others it ignores.
_CONVERTING = re.compile(r"tag:yaml\.org,2002:(int|float|bool|null|seq|map)")
_DEEPEST = 32  # collections in collections: a topology.yaml has six; PyYAML's time grows with the square of it


class Scalar(NamedTuple):
    """``line`` counts from 1; 0 is unknown."""

    text: str
    line: int = 0


class Sequence(NamedTuple):
    items: tuple[Node, ...]
    line: int = 0


class Mapping(NamedTuple):
    """In the file's order, repeated keys included."""

    pairs: tuple[tuple[str, Node], ...]
    line: int = 0


Node: TypeAlias = "Scalar | Sequence | Mapping"


def read(text: str, report: Report) -> Node | None:
    """The first document, or None when there is none or it can't be read (then the report says why).

    Raises InputError when the text needs PyYAML and PyYAML isn't there.
    """
    if not re.search(r"^[^#\n]*[^#\s]", text, re.MULTILINE):
        return None
    own = _read_own(text)
    if own is not None:
        return own
    if text.lstrip("\ufeff \t\r\n")[:1] in ("[", "{"):
        try:
            return _node_of_json(json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str))
        except (ValueError, RecursionError):
            pass  # flow YAML looks like JSON; what is wrong with it, PyYAML says with a line number
    return _read_foreign(text, report)


# ---- 1. our own form

_OWN_LINE = re.compile(r'( *)(- )?([a-z_]+):(?: "([^"\\]*)"| \[((?:"[^"\\]*"(?:, )?)*)\])?')
_QUOTED = re.compile(r'"([^"\\]*)"')


class _Open(NamedTuple):
    """A mapping that may still grow; its keys stand at ``indent``."""

    indent: int
    pairs: list[tuple[str, Any]]
    line: int


def _read_own(text: str) -> Sequence | None:
    """The nodes of a text in exactly our form (block style, double quotes, no escapes), or None when it isn't."""
    items: list[_Open] = []
    stack: list[_Open] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        match = _OWN_LINE.fullmatch(line)
        if match is None or not _place(match, number, items, stack) or len(stack) > _DEEPEST:
            return None
    return Sequence(tuple(_closed(item) for item in items), items[0].line) if items else None


def _place(match: re.Match[str], number: int, items: list[_Open], stack: list[_Open]) -> bool:
    """Put one line where its indentation says; False when there is no such place."""
    indent = len(match[1])
    while stack and stack[-1].indent > indent:
        stack.pop()
    if match[2]:
        siblings = items if indent == 0 else _open_list(stack)
        if siblings is None:
            return False
        siblings.append(_Open(indent + 2, [], number))
        stack.append(siblings[-1])
    elif stack and stack[-1].indent == indent - 2 and _is_open(stack[-1]):
        stack.append(_Open(indent, [], number))
        stack[-2].pairs[-1] = (stack[-2].pairs[-1][0], stack[-1])
    elif not stack or stack[-1].indent != indent:
        return False
    stack[-1].pairs.append((match[3], _own_value(match, number)))
    return True


def _is_open(mapping: _Open) -> bool:
    return bool(mapping.pairs) and mapping.pairs[-1][1] is None


def _open_list(stack: list[_Open]) -> list[_Open] | None:
    """The list that a line with a dash belongs to: the value of the last key above it."""
    if not stack or not stack[-1].pairs:
        return None
    key, value = stack[-1].pairs[-1]
    if value is None:
        value = []
        stack[-1].pairs[-1] = (key, value)
    return value if isinstance(value, list) else None


def _own_value(match: re.Match[str], number: int) -> Node | None:
    if match[4] is not None:
        return Scalar(match[4], number)
    if match[5] is not None:
        return Sequence(tuple(Scalar(text, number) for text in _QUOTED.findall(match[5])), number)
    return None


def _closed(value: Any) -> Node:
    if isinstance(value, _Open):
        return Mapping(tuple((key, _closed(inner)) for key, inner in value.pairs), value.line)
    if isinstance(value, list):
        return Sequence(tuple(_closed(inner) for inner in value), value[0].line)
    return Scalar("") if value is None else value


# ---- 2. JSON


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with repeated keys kept."""


def _node_of_json(value: Any) -> Node:
    if isinstance(value, _Pairs):
        return Mapping(tuple((key, _node_of_json(inner)) for key, inner in value))
    if isinstance(value, list):
        return Sequence(tuple(_node_of_json(inner) for inner in value))
    return Scalar(value if isinstance(value, str) else json.dumps(value))


# ---- 3. any other YAML


def _read_foreign(text: str, report: Report) -> Node | None:
    try:
        import yaml
    except ImportError:
        raise InputError(
            f"this {_FILE} is not in the form that slurm-topology writes; reading any other needs PyYAML, "
            "which isn't there: install it (pip install PyYAML), or write the file as JSON"
        ) from None
    try:
        return _compose(yaml, yaml.parse(text, Loader=yaml.SafeLoader), report)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = _FILE if mark is None else f"{_FILE} line {mark.line + 1}"
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        report.add(rules.SYNTAX, where, f"is no YAML: {problem}")
        return None


def _compose(yaml: Any, events: Iterator[Any], report: Report) -> Node | None:
    """The first document's node; None, with a finding, when it is nested too deep."""
    finished: list[Node] = []  # at most one: the document's
    stack: list[tuple[Any, list[Node]]] = []
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentEndEvent):
            break
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            stack.append((event, []))
            if len(stack) > _DEEPEST:
                report.add(rules.SYNTAX, f"{_FILE} line {line}", f"is nested more than {_DEEPEST} deep")
                return None
            continue
        if isinstance(event, yaml.ScalarEvent):
            node: Node = Scalar(event.value, line)
            if tag := _CONVERTING.fullmatch(event.tag or ""):
                message = f"{event.value[:60]!r} has the tag !!{tag[1]}, by which slurmctld changes or refuses it"
                report.add(rules.TAG, f"{_FILE} line {line}", message)
        elif isinstance(event, yaml.AliasEvent):
            report.add(rules.ALIAS, f"{_FILE} line {line}", f"has the alias *{event.anchor}, slurmctld refuses aliases")
            node = Scalar("", line)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            start, children = stack.pop()
            node = _collection(yaml, start, children, report)
        else:
            continue
        (stack[-1][1] if stack else finished).append(node)
    if finished and any(isinstance(event, yaml.DocumentStartEvent) for event in _until_error(yaml, events)):
        report.add(rules.MORE_DOCUMENTS, _FILE, "has more than one document, slurmctld reads the first one only")
    return finished[0] if finished else None


def _collection(yaml: Any, start: Any, children: list[Node], report: Report) -> Node:
    line = start.start_mark.line + 1
    if isinstance(start, yaml.SequenceStartEvent):
        return Sequence(tuple(children), line)
    pairs = []
    for key, value in zip(children[::2], children[1::2], strict=True):
        if isinstance(key, Scalar):
            pairs.append((key.text, value))
        else:
            report.add(rules.WRONG_SHAPE, f"{_FILE} line {line}", "has a list or a mapping as key, expected a word")
    return Mapping(tuple(pairs), line)


def _until_error(yaml: Any, events: Iterator[Any]) -> Iterator[Any]:
    """What follows the first document; slurmctld doesn't read it, so errors in it don't count."""
    try:
        yield from events
    except yaml.YAMLError:
        return
