"""topology.yaml → topology, read as slurmctld ≥ 25.05 reads it (tried on 26.05.5; 25.05.8 and 25.11.4 are alike).

* a list of topologies, each with exactly one of ``tree``, ``block``, ``flat``; one mapping will do for a list of one
* all scalars are text; ``nodes`` and ``children`` are host lists, never YAML lists
* unknown keys are ignored, of repeated keys the last one wins, of several documents the first one
* for a truth value, only a few words and zero are false; anything else is true
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from . import check_rules as rules
from .check_rules import Report, Rule, unit_subject
from .errors import HostListError
from .hostlist import Expander
from .model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree
from .parse_yaml_text import Mapping, Node, Scalar, Sequence, read
from .parsed import Parsed

__all__ = ["parse"]

_FILE = "topology.yaml"
_FALSE = re.compile(r"|null|~|false|f|no|n|off|[+-]?0+(\.0*)?", re.IGNORECASE)
_TRUE = re.compile(r"true|t|yes|y|on|[+-]?[0-9]+(\.[0-9]*)?", re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"([+-]?)(0x[0-9a-f]{1,8}|[0-9]{1,20})", re.IGNORECASE)
_OTHER_KINDS = ("ring", "torus3d")  # new in 26.05


def parse(text: str) -> Parsed:
    """Read a topology.yaml: ours, HyperPod's, JSON text, or one that a person wrote.

    The findings are all that makes slurmctld refuse the text or misread it. Raises InputError when the text is neither
    in our own form nor JSON, and PyYAML isn't installed.
    """
    report = Report()
    lines: dict[str, int] = {}
    if "\0" in text or not _is_unicode(text):
        report.add(rules.BAD_BYTES, _FILE, "has a NUL or bytes that are no UTF-8")
        return Parsed(ClusterTopology(), report.findings)
    document = read(text, report)
    if document is None:
        if not report.findings:
            report.add(rules.NOTHING_DEFINED, _FILE, "has no content, slurmctld refuses it")
        return Parsed(ClusterTopology(), report.findings)
    reader = _Reader(report, lines)
    topologies = tuple(filter(None, (reader.topology(entry, n) for n, entry in enumerate(reader.entries(document), 1))))
    return Parsed(ClusterTopology(topologies), report.findings, lines)


def _is_unicode(text: str) -> bool:
    """False for text that was decoded with surrogateescape from bytes that are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Unit(NamedTuple):
    """A switch or a block."""

    name: str
    subject: str
    fields: dict[str, Node]


class _Reader:
    """Reads nodes, reports what slurmctld would not take, and notes in which line each unit is."""

    def __init__(self, report: Report, lines: dict[str, int]) -> None:
        self.report = report
        self.lines = lines
        self._expand = Expander()

    def entries(self, document: Node) -> tuple[Node, ...]:
        if isinstance(document, Sequence) and not document.items:
            self.report.add(rules.NOTHING_DEFINED, _FILE, "is an empty list, slurmctld crashes on it")
        if isinstance(document, Scalar):
            if document.text:
                self._wrong(_FILE, document, "a list of topologies")
            else:
                self.report.add(rules.NOTHING_DEFINED, _FILE, "has no content, slurmctld refuses it")
            return ()
        return _as_list(document)

    def topology(self, node: Node, number: int) -> NamedTopology | None:
        where = f"topology {number} of {_FILE}"
        if not isinstance(node, Mapping):
            self._wrong(where, node, "a mapping with topology, cluster_default and one of tree, block, flat")
            return None
        fields = self._fields(node, where, ("topology", "cluster_default", "tree", "block", "flat", *_OTHER_KINDS))
        name = self._scalar(fields.get("topology"), where, "a name") or ""
        if not name:
            self._report_at(rules.WRONG_SHAPE, where, node, "has no name: expected the key topology")
        subject = f"topology {name}"
        self.lines.setdefault(subject, node.line)
        default = self._truth(fields.get("cluster_default"), subject, "cluster_default")
        body = self._body(fields, name, subject, node)
        return None if body is None else NamedTopology(name, body, default)

    def _body(self, fields: dict[str, Node], name: str, subject: str, node: Node) -> Tree | Blocks | Flat | None:
        bodies: list[Tree | Blocks | Flat] = []
        if tree := self._mapping(fields.get("tree"), subject, "tree"):
            bodies += self._tree(tree, name, subject)
        if block := self._mapping(fields.get("block"), subject, "block"):
            bodies += self._block(block, name, subject)
        if self._flat(fields.get("flat"), subject):
            bodies.append(Flat())
        for kind in _OTHER_KINDS:
            if kind in fields:
                self._report_at(rules.OTHER_KIND, subject, fields[kind], f"is a {kind}, which is not checked here")
        if len(bodies) > 1:
            self._report_at(rules.MIXED_KINDS, subject, node, "has more than one of tree, block and flat")
        if not bodies and not any(kind in fields for kind in ("tree", "block", *_OTHER_KINDS)):
            self._report_at(rules.WRONG_SHAPE, subject, node, "has none of tree, block and flat: expected one")
        return bodies[0] if bodies else None

    def _flat(self, node: Node | None, subject: str) -> bool:
        return isinstance(node, Mapping) or self._truth(node, subject, "flat")

    # ---- trees and blocks

    def _tree(self, node: Mapping, name: str, subject: str) -> list[Tree]:
        fields = self._fields(node, f"{subject}: tree", ("switches",))
        units = self._units(fields.get("switches"), f"{subject}: switches", node)
        switches = [
            self._switch(unit) for item in units for unit in self._unit(item, name, "switch", ("nodes", "children"))
        ]
        return [Tree(tuple(switches))] if switches else []

    def _switch(self, unit: _Unit) -> Switch:
        children = unit.fields.get("children")
        if isinstance(children, Scalar) and not children.text.strip(" ,\t\n"):
            self._report_at(rules.BAD_HOST_LIST, unit.subject, children, "children names none, slurmctld crashes on it")
        return Switch(unit.name, self._names(unit, "children"), self._names(unit, "nodes"))

    def _block(self, node: Mapping, name: str, subject: str) -> list[Blocks]:
        fields = self._fields(node, f"{subject}: block", ("block_sizes", "blocks"))
        units = self._units(fields.get("blocks"), f"{subject}: blocks", node)
        named = [unit for item in units for unit in self._unit(item, name, "block", ("nodes",))]
        blocks = tuple(Block(unit.name, self._names(unit, "nodes")) for unit in named)
        sizes = self._sizes(fields.get("block_sizes"), subject)
        return [Blocks(sizes, blocks)] if blocks else []

    def _sizes(self, node: Node | None, subject: str) -> tuple[int, ...]:
        if node is None:
            return ()
        if isinstance(node, Mapping):
            self._wrong(subject, node, "a list of block sizes")
            return ()
        sizes = []
        for item in _as_list(node):
            size = _whole_number(item)
            if size is None:
                message = f"block_sizes has {_shown(item)}, expected whole numbers"
                self._report_at(rules.BAD_VALUE, subject, item, message)
            else:
                sizes.append(size)
        return tuple(sizes)

    # ---- shared

    def _units(self, node: Node | None, where: str, parent: Mapping) -> list[Mapping]:
        """The switches or blocks; empty, with a finding, when there are none."""
        if node is None or (isinstance(node, Sequence) and not node.items):
            self._report_at(rules.NOTHING_DEFINED, where, node or parent, "are none, slurmctld refuses that")
            return []
        if isinstance(node, Scalar):
            self._wrong(where, node, "a list")
            return []
        return [unit for item in _as_list(node) if (unit := self._mapping(item, where, "each item"))]

    def _unit(self, node: Mapping, topology: str, kind: str, keys: tuple[str, ...]) -> Iterator[_Unit]:
        """One switch or block; nothing when it has no name."""
        where = f"a {kind} of topology {topology}"
        name = self._scalar(dict(node.pairs).get(kind), where, "a name")
        if not name:
            self._report_at(rules.WRONG_SHAPE, where, node, f"has no name: expected the key {kind}")
            return
        subject = unit_subject(kind, name, topology)
        self.lines.setdefault(subject, node.line)
        yield _Unit(name, subject, self._fields(node, subject, (kind, *keys)))

    def _fields(self, node: Mapping, where: str, known: tuple[str, ...]) -> dict[str, Node]:
        for key, count in Counter(key for key, _ in node.pairs).items():
            if count > 1:
                self._report_at(rules.REPEATED_KEY, where, node, f"{key!r} is given {count} times, the last one wins")
            if key not in known:
                self._report_at(rules.IGNORED_KEY, where, node, f"{key!r} is ignored: expected {', '.join(known)}")
        return {key: value for key, value in node.pairs if key in known}

    def _names(self, unit: _Unit, key: str) -> tuple[str, ...]:
        node = unit.fields.get(key)
        text = self._scalar(node, unit.subject, f"a host list as text for {key}")
        try:
            return self._expand(text or "")
        except HostListError as error:
            self._report_at(rules.BAD_HOST_LIST, unit.subject, node, str(error))
            return ()

    def _scalar(self, node: Node | None, where: str, expected: str) -> str | None:
        if node is None or isinstance(node, Scalar):
            return None if node is None else node.text
        self._wrong(where, node, expected)
        return None

    def _truth(self, node: Node | None, subject: str, key: str) -> bool:
        text = self._scalar(node, subject, f"true or false for {key}")
        if text is None or _FALSE.fullmatch(text):
            return False
        if not _TRUE.fullmatch(text):
            self._report_at(rules.BAD_VALUE, subject, node, f"{key} is {text[:60]!r}, which slurmctld takes for true")
        return True

    def _mapping(self, node: Node | None, where: str, what: str) -> Mapping | None:
        if node is None or isinstance(node, Mapping):
            return node
        self._wrong(where, node, f"a mapping as {what}")
        return None

    def _wrong(self, where: str, node: Node, expected: str) -> None:
        self._report_at(rules.WRONG_SHAPE, where, node, f"expected {expected}, got {_shown(node)}")

    def _report_at(self, rule: Rule, where: str, node: Node | None, message: str) -> None:
        self.report.add(rule, where, message, 0 if node is None else node.line)


def _as_list(node: Node) -> tuple[Node, ...]:
    """slurmctld takes a single mapping or scalar for a list of one."""
    return node.items if isinstance(node, Sequence) else (node,)


def _whole_number(node: Node) -> int | None:
    match = _WHOLE_NUMBER.fullmatch(node.text) if isinstance(node, Scalar) else None
    if match is None:
        return None
    sign, digits = match[1], match[2]
    return int(sign + digits, 16 if digits[:2].lower() == "0x" else 10)


def _shown(node: Node) -> str:
    if isinstance(node, Scalar):
        return repr(node.text[:60])
    return "a list" if isinstance(node, Sequence) else "a mapping"
