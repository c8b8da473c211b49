"""slurm.conf, read for what the agent needs and edited in one line at most. Pure: files come in through a function.

Syntax (man slurm.conf, and read_config.c / parse_config.c): `key=value` pairs, several to a line allowed; keys are
case-insensitive; `#` starts a comment unless escaped; a trailing backslash continues the line; `Include FILE` is
relative to slurm.conf's folder, also in an included file, and `%c` in it is the cluster's name; the last of several
equal keys wins.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from slurm_topology.core import hostlist
from slurm_topology.core.errors import HostListError, InputError
from slurm_topology.core.model import Partition

__all__ = [
    "ConfLine",
    "ConfNode",
    "SlurmConf",
    "joined",
    "read_slurm_conf",
    "with_topology_plugin",
    "without_topology_plugin",
]

INCLUDE_DEPTH = 8  # deeper is a loop
NODE_LIMIT = 65_536  # hosts in one NodeName expression; Slurm's own MAX_RANGE
PAIR = re.compile(r"""([A-Za-z][\w.]*)\s*=\s*("[^"]*"|\S*)""")
INCLUDE = re.compile(r"\s*include\s+(\S+)", re.IGNORECASE)
CLUSTER_NAME = re.compile(r"^\s*ClusterName\s*=\s*([^\s#]+)", re.IGNORECASE | re.MULTILINE)
PLUGIN = re.compile(r"(?i)((?:^|\s)TopologyPlugin\s*=\s*)(\"[^\"]*\"|[^\s#]*)")

ReadText = Callable[[str], "str | None"]


class ConfLine(NamedTuple):
    """A logical line: its pairs with keys in lower case, and the file that it stands in."""

    file: str
    pairs: tuple[tuple[str, str], ...]

    def get(self, key: str) -> str | None:
        return next((value for name, value in reversed(self.pairs) if name == key), None)


class ConfNode(NamedTuple):
    """A static node as slurm.conf names it."""

    name: str
    hostname: str
    address: str


@dataclass(frozen=True)
class SlurmConf:
    """What a (re)start of slurmctld would read."""

    path: str
    lines: tuple[ConfLine, ...] = ()
    nodes: tuple[ConfNode, ...] = ()
    partitions: tuple[
        Partition, ...
    ] = ()  # nodes None: named in a way that only Slurm can resolve; topology: on the line
    plugin_file: str | None = None  # the file with the TopologyPlugin line that wins
    unread: tuple[str, ...] = ()  # what couldn't be read, in words: node lines, included files

    @property
    def tells_all_nodes(self) -> bool:
        """Slurm has no other static nodes than ``nodes``: a node that isn't among them will be gone."""
        return bool(self.nodes) and not self.unread

    def value(self, key: str) -> str | None:
        """The value of a cluster-wide key, in any case; the last one wins."""
        wanted = key.lower()
        return next((found for line in reversed(self.lines) if (found := line.get(wanted)) is not None), None)

    @property
    def partition_topologies(self) -> tuple[str, ...]:
        """The topology names that partition lines use: a topology.yaml that lacks one is refused."""
        return tuple(sorted({partition.topology for partition in self.partitions if partition.topology}))

    @property
    def topology_plugin(self) -> str | None:
        """As written, None when no line says it (Slurm's default then: flat)."""
        return self.value("TopologyPlugin")


def read_slurm_conf(path: str, read: ReadText) -> SlurmConf:
    """Read slurm.conf with everything that it includes. Raises InputError when the file itself isn't there."""
    text = read(path)
    if text is None:
        raise InputError(f"{path} isn't there: expected the slurm.conf that slurmctld runs with")
    reader = _Reader(posixpath.dirname(path), name[1] if (name := CLUSTER_NAME.search(text)) else "", read)
    lines = tuple(reader.lines(path, text))
    nodes: list[ConfNode] = []
    plugin_file = None
    for line in lines:
        if (names := line.get("nodename")) and names.upper() != "DEFAULT":
            try:
                nodes += _nodes(names, line)
            except HostListError as error:
                reader.unread.append(f"NodeName={names} in {line.file}: {error}")
        if line.get("topologyplugin") is not None:
            plugin_file = line.file
    partitions = tuple(_partitions(lines, [node.name for node in nodes]))
    return SlurmConf(path, lines, tuple(nodes), partitions, plugin_file, tuple(reader.unread))


def with_topology_plugin(text: str, plugin: str) -> str:
    """The text with its (last) TopologyPlugin set, or a line appended; every other byte as it was."""
    pieces = text.splitlines(keepends=True)
    for index in reversed(range(len(pieces))):
        code = _without_comment(pieces[index])
        if PLUGIN.search(code):
            edited = PLUGIN.sub(lambda match: match[1] + plugin, code)
            pieces[index] = edited + pieces[index][len(code) :]
            return "".join(pieces)
    ending = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{ending}TopologyPlugin={plugin}\n"


def without_topology_plugin(text: str) -> str:
    """The text without its last TopologyPlugin setting (and without its line, when nothing else stands on it)."""
    pieces = text.splitlines(keepends=True)
    for index in reversed(range(len(pieces))):
        code = _without_comment(pieces[index])
        if PLUGIN.search(code):
            left = PLUGIN.sub("", code) + pieces[index][len(code) :]
            pieces[index] = left if left.strip() else ""
            return "".join(pieces)
    return text


def joined(pairs: Iterable[tuple[str, str]]) -> str:
    """Pairs as a line of slurm.conf."""
    return " ".join(f'{key}="{value}"' if " " in value else f"{key}={value}" for key, value in pairs)


@dataclass
class _Reader:
    """One reading of slurm.conf with what it includes. ``unread``: what it couldn't."""

    folder: str
    cluster_name: str
    read: ReadText
    unread: list[str] = field(default_factory=list)

    def lines(self, path: str, text: str, depth: int = 0) -> Iterator[ConfLine]:
        for line in _logical_lines(text):
            if included := INCLUDE.match(line):
                yield from self._included(included[1], path, depth + 1)
                continue
            pairs = tuple((match[1].lower(), match[2].strip('"')) for match in PAIR.finditer(line))
            if pairs:
                yield ConfLine(path, pairs)

    def _included(self, name: str, path: str, depth: int) -> Iterator[ConfLine]:
        place = posixpath.join(self.folder, name.replace("%c", self.cluster_name))
        text = self.read(place) if depth <= INCLUDE_DEPTH else None
        if text is None:
            why = "isn't there" if depth <= INCLUDE_DEPTH else f"is included more than {INCLUDE_DEPTH} levels deep"
            self.unread.append(f"{place}, which {path} includes, {why}")
        else:
            yield from self.lines(place, text, depth)


def _logical_lines(text: str) -> Iterator[str]:
    held = ""
    for raw in text.splitlines():
        line = held + _without_comment(raw)
        if line.endswith("\\"):
            held = line[:-1]
            continue
        held = ""
        if line.strip():
            yield line
    if held.strip():
        yield held


def _without_comment(line: str) -> str:
    """Cut at the first `#` that no backslash escapes (with the line's end, when there is a comment)."""
    for match in re.finditer("#", line):
        if match.start() == 0 or line[match.start() - 1] != "\\":
            return line[: match.start()]
    return line


def _nodes(names: str, line: ConfLine) -> list[ConfNode]:
    """A node line's nodes; NodeHostName and NodeAddr default to the name, in that order (man slurm.conf).

    Raises HostListError when the names can't be expanded; what can't be of the other two is left to the default.
    """
    expanded = hostlist.expand(names, NODE_LIMIT)
    hosts = _same_length(line.get("nodehostname"), expanded, expanded)
    addresses = _same_length(line.get("nodeaddr"), expanded, hosts)
    return [ConfNode(*node) for node in zip(expanded, hosts, addresses, strict=True)]


def _partitions(lines: tuple[ConfLine, ...], nodes: list[str]) -> Iterator[Partition]:
    default = None  # Topology= of the last PartitionName=DEFAULT line
    for line in lines:
        name = line.get("partitionname")
        if name is None:
            continue
        if name.upper() == "DEFAULT":
            default = line.get("topology") or default
            continue
        yield Partition(name, nodes=_members(line.get("nodes"), nodes), topology=line.get("topology") or default)


def _members(text: str | None, nodes: list[str]) -> tuple[str, ...] | None:
    if text is None or text.upper() == "ALL":
        return None if text is None else tuple(nodes)
    try:
        members = hostlist.expand(text, NODE_LIMIT)
    except HostListError:
        return None
    return tuple(members) if set(members) <= set(nodes) else None  # else node sets are among them


def _same_length(text: str | None, names: list[str], default: list[str]) -> list[str]:
    if text is None:
        return default
    try:
        expanded = hostlist.expand(text, NODE_LIMIT)
    except HostListError:
        return default
    if len(expanded) == 1:
        return expanded * len(names)
    return expanded if len(expanded) == len(names) else default
