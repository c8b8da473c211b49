"""The picture of a cluster as data: what every renderer (text, svg, html, dot, mermaid) draws. Pure.

One drawing a topology, each a forest of units (zones, switches, aggregates, blocks) with nodes in the leaves. A zone
is drawn around its roots, though Slurm doesn't know zones: no job can use EFA across them. Nodes that a topology
should hold but doesn't are drawn too, in a unit of their own, because they are what somebody looks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from slurm_topology.core.explain import Context, Forest, Job, JobPhase, NodeFacts, NodeState, Score, Snapshot, score
from slurm_topology.core.model import Blocks, Finding, NamedTopology, TopologyKind

from .order import as_people_count

__all__ = ["Drawing", "DrawnJob", "DrawnUnit", "Picture", "UnitKind", "draw"]


class UnitKind(str, Enum):
    """What a drawn box is."""

    ZONE = "zone"
    SWITCH = "switch"  # with switches in it
    LEAF = "leaf"  # a switch with nodes in it
    AGGREGATE = "aggregate"  # of consecutive blocks
    BLOCK = "block"
    FLAT = "flat"
    OUTSIDE = "outside"  # nodes that should be in the topology and aren't


class DrawnUnit(NamedTuple):
    """A box. Parents come before children; indices are into ``Drawing.units``."""

    name: str
    kind: UnitKind
    parent: int | None
    depth: int  # 0: outermost
    children: tuple[int, ...]
    nodes: tuple[str, ...]  # directly in it
    total: int  # nodes in it and below
    states: Mapping[NodeState, int]  # of these
    ultraserver: str | None = None  # when all its nodes are in one


class Drawing(NamedTuple):
    """One topology."""

    name: str
    kind: TopologyKind
    is_default: bool
    partitions: tuple[str, ...]  # that are placed by it
    block_sizes: tuple[int, ...]
    units: tuple[DrawnUnit, ...]

    @property
    def roots(self) -> list[int]:
        return [index for index, unit in enumerate(self.units) if unit.parent is None]

    @property
    def leaf_count(self) -> int:
        return sum(unit.kind in (UnitKind.LEAF, UnitKind.BLOCK) for unit in self.units)


class DrawnJob(NamedTuple):
    """A job and how near its nodes are; no score for one that waits."""

    job: Job
    score: Score | None
    topology: str


@dataclass(frozen=True)
class Picture:
    """All that is drawn. ``facts`` are label and value pairs for the head line; ``nodes`` are in people's order, and
    so are those of each unit."""

    title: str
    facts: tuple[tuple[str, str], ...]
    drawings: tuple[Drawing, ...]
    nodes: Mapping[str, NodeFacts]
    jobs: tuple[DrawnJob, ...]
    findings: tuple[Finding, ...]

    @property
    def states(self) -> dict[NodeState, int]:
        """How many nodes are in each state, states in the order of the enum."""
        counts = Counter(node.state for node in self.nodes.values())
        return {state: counts[state] for state in NodeState if counts[state]}


def draw(snapshot: Snapshot) -> Picture:
    """The picture of a snapshot. A topology's nodes that the snapshot knows nothing about are drawn as unknown."""
    context = Context(snapshot)
    topologies = snapshot.topology.topologies
    nodes = dict(snapshot.nodes)
    for topology in topologies:
        for name in context.forest_of(topology).leaf_of:
            nodes.setdefault(name, NodeFacts(name))
    nodes = {name: nodes[name] for name in sorted(nodes, key=as_people_count)}
    return Picture(
        title=snapshot.cluster or "Slurm cluster",
        facts=tuple(_facts(snapshot, len(nodes))),
        drawings=tuple(_drawing(context, topology, nodes) for topology in topologies or (None,)),
        nodes=nodes,
        jobs=tuple(_jobs(context)),
        findings=snapshot.findings,
    )


def _facts(snapshot: Snapshot, node_count: int) -> Iterator[tuple[str, str]]:
    if snapshot.slurm_version:
        yield "Slurm", snapshot.slurm_version
    yield "nodes", f"{node_count:,}"
    if snapshot.jobs:
        counts = Counter(job.phase for job in snapshot.jobs)
        yield "jobs", f"{counts[JobPhase.RUNNING]:,} running, {counts[JobPhase.PENDING]:,} pending"
    if snapshot.source:
        yield "from", snapshot.source
    if snapshot.taken:
        yield "as of", snapshot.taken


def _jobs(context: Context) -> Iterator[DrawnJob]:
    for job in context.snapshot.jobs:
        if job.phase is JobPhase.ENDED:
            continue
        topology = context.topology_of(job.partitions[0] if job.partitions else "")
        found = score(context.forest_of(topology), job.nodes) if job.nodes else None
        yield DrawnJob(job, found, topology.name if topology else "")


# ---- units


def _drawing(context: Context, topology: NamedTopology | None, nodes: Mapping[str, NodeFacts]) -> Drawing:
    forest = context.forest_of(topology)
    partitions = tuple(_partitions(context, topology))
    boxes = _Boxes(nodes)
    for zone, roots in _by_zone(forest, nodes):
        outer = boxes.add(zone, UnitKind.ZONE, None, ()) if zone else None
        for root in roots:
            boxes.add_tree(forest, root, outer)
    outside = _outside(context, partitions, forest, nodes)
    if outside:
        boxes.add("not in this topology", UnitKind.OUTSIDE, None, outside)
    return Drawing(
        name=(topology.name if topology else "") or "default",
        kind=forest.kind,
        is_default=topology is None or topology == context.default_topology,
        partitions=partitions,
        block_sizes=topology.body.block_sizes if topology and isinstance(topology.body, Blocks) else (),
        units=boxes.units(),
    )


def _partitions(context: Context, topology: NamedTopology | None) -> Iterator[str]:
    snapshot = context.snapshot
    names = {partition.name for partition in snapshot.partitions} | set(snapshot.topology.partitions)
    names |= {name for node in snapshot.nodes.values() for name in node.partitions}
    yield from (name for name in sorted(names) if context.topology_of(name) == topology)


def _by_zone(forest: Forest, nodes: Mapping[str, NodeFacts]) -> Iterable[tuple[str | None, list[int]]]:
    """Roots under their zone, zones in order of appearance; a root whose nodes name several zones has none."""
    grouped: dict[str | None, list[int]] = {}
    for root in forest.roots:
        zones = {nodes[node].zone for node in forest.nodes_under(root)} - {None}
        grouped.setdefault(zones.pop() if len(zones) == 1 else None, []).append(root)
    return grouped.items()


def _outside(
    context: Context, partitions: Sequence[str], forest: Forest, nodes: Mapping[str, NodeFacts]
) -> tuple[str, ...]:
    if forest.kind is TopologyKind.FLAT:
        return ()
    wanted: Collection[str] = nodes
    if partitions:
        wanted = {node for name in partitions for node in context.nodes_of(name)}
    return tuple(name for name in nodes if name in wanted and name not in forest.leaf_of)


class _Boxes:
    """Units while they are collected."""

    def __init__(self, nodes: Mapping[str, NodeFacts]) -> None:
        self._nodes = nodes
        self._places = {name: place for place, name in enumerate(nodes)}
        self._rows: list[tuple[str, UnitKind, int | None, int, tuple[str, ...]]] = []

    def add(self, name: str, kind: UnitKind, parent: int | None, nodes: tuple[str, ...]) -> int:
        depth = 0 if parent is None else self._rows[parent][3] + 1
        self._rows.append((name, kind, parent, depth, tuple(sorted(nodes, key=self._places.__getitem__))))
        return len(self._rows) - 1

    def add_tree(self, forest: Forest, root: int, outer: int | None) -> None:
        places: dict[int, int] = {}
        for index in range(root, forest.ends[root]):
            unit = forest.units[index]
            parent = outer if index == root or unit.parent is None else places[unit.parent]
            places[index] = self.add(unit.name, _kind(forest.kind, bool(unit.children)), parent, unit.nodes)

    def units(self) -> tuple[DrawnUnit, ...]:
        totals = [Counter(self._nodes[node].state for node in row[4]) for row in self._rows]
        children: list[list[int]] = [[] for _ in self._rows]
        for index in range(len(self._rows) - 1, -1, -1):
            parent = self._rows[index][2]
            if parent is not None:
                totals[parent].update(totals[index])
                children[parent].insert(0, index)
        return tuple(
            DrawnUnit(
                *row[:4],
                children=tuple(children[index]),
                nodes=row[4],
                total=totals[index].total(),
                states={state: totals[index][state] for state in NodeState if totals[index][state]},
                ultraserver=self._ultraserver(row[4]),
            )
            for index, row in enumerate(self._rows)
        )

    def _ultraserver(self, nodes: Sequence[str]) -> str | None:
        found = {self._nodes[node].ultraserver_id for node in nodes}
        return found.pop() if len(found) == 1 else None


def _kind(kind: TopologyKind, has_children: bool) -> UnitKind:
    if kind is TopologyKind.FLAT:
        return UnitKind.FLAT
    if kind is TopologyKind.TREE:
        return UnitKind.SWITCH if has_children else UnitKind.LEAF
    return UnitKind.AGGREGATE if has_children else UnitKind.BLOCK
