"""What size of job would still find a near place: the free nodes of a topology, unit by unit."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ..block_rule import block_fit
from ..model import Blocks, NamedTopology, TopologyKind
from .context import Context
from .forest import Forest
from .score import Place, best_place

__all__ = ["Fragmentation", "SizeRow", "UnitRow", "fragmentation"]


class SizeRow(NamedTuple):
    """A job of so many nodes: ``now`` on the free nodes, ``empty`` on an empty cluster; None: it can't be placed."""

    node_count: int
    now: Place | None
    empty: Place | None
    starts_now: bool  # by the topology's own rule; a block topology can refuse what would be near enough


class UnitRow(NamedTuple):
    """A leaf switch or block."""

    name: str
    nodes: int
    free: int
    out_of_service: int


class Fragmentation(NamedTuple):
    """The report of one topology."""

    topology: str
    kind: TopologyKind
    nodes: int
    free: int
    out_of_service: int
    largest_free: int  # the most free nodes in one leaf
    largest_possible: int  # the same, were the same number of free nodes lying as well as they can
    scattered: float  # 1 - largest_free / largest_possible: 0 is as good as can be, near 1 is dust
    sizes: tuple[SizeRow, ...]
    leaves: tuple[UnitRow, ...]


def fragmentation(context: Context, topology: NamedTopology | None) -> Fragmentation:
    """Report on all nodes that the topology holds."""
    forest = context.forest_of(topology)
    everyone = set(forest.leaf_of)
    free, away = context.free & everyone, context.out_of_service & everyone
    leaves = tuple(_rows(forest, everyone, free, away))
    largest_free = max((row.free for row in leaves), default=0)
    largest_possible = min(max((row.nodes for row in leaves), default=0), len(free))
    body = topology.body if topology else None
    return Fragmentation(
        topology=topology.name if topology else "",
        kind=forest.kind,
        nodes=len(everyone),
        free=len(free),
        out_of_service=len(away),
        largest_free=largest_free,
        largest_possible=largest_possible,
        scattered=1 - largest_free / largest_possible if largest_possible else 0.0,
        sizes=tuple(
            _size_row(forest, body if isinstance(body, Blocks) else None, everyone, free, count)
            for count in _sizes(forest)
        ),
        leaves=leaves,
    )


def _rows(forest: Forest, everyone: Collection[str], free: Collection[str], away: Collection[str]) -> list[UnitRow]:
    counts = [forest.counts(nodes) for nodes in (everyone, free, away)]
    return [
        UnitRow(unit.name, *(count[index] for count in counts))
        for index, unit in enumerate(forest.units)
        if not unit.children
    ]


def _sizes(forest: Forest) -> list[int]:
    """1, 2, 4, … nodes, the size of the largest leaf, and everything."""
    total = len(forest.leaf_of)
    powers = {1 << k for k in range(total.bit_length()) if 1 << k <= total}
    largest = max((len(unit.nodes) for unit in forest.units), default=0)
    return sorted(size for size in powers | {largest, total} if size)


def _size_row(
    forest: Forest, blocks: Blocks | None, everyone: Collection[str], free: Collection[str], count: int
) -> SizeRow:
    now, empty = best_place(forest, free, count), best_place(forest, everyone, count)
    starts = now is not None
    if blocks is not None:
        starts = block_fit(blocks, [sum(node in free for node in block.nodes) for block in blocks.blocks], count).fits
    return SizeRow(count, now, empty, starts)
