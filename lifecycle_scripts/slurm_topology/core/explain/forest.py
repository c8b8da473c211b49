"""A topology as a forest of units: the one shape that pictures and scores are made from.

A unit is a switch, a block, or consecutive blocks that Slurm aggregates. Heights count from the leaf: a leaf switch or
a block has height 0, whatever holds it is one higher than the highest thing in it. So two nodes are as far apart as
the smallest unit that holds both is high, and that distance is an ultrametric: "everything within distance h of a
node" is one unit. The collapse of chains that carry no information (design rule of the core) leaves these heights
comparable, where depths from the root would not be.

Files that others wrote can be odd (a switch with two parents, a loop, a node in two leaves): the first mention counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..model import Blocks, NamedTopology, TopologyKind, Tree

__all__ = ["Forest", "Unit", "forest_of"]


class Unit(NamedTuple):
    """A switch, a block or an aggregate of blocks. Children and parent are indices into ``Forest.units``."""

    name: str
    parent: int | None
    height: int  # 0: a leaf switch or a block
    children: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()  # directly in it, in file order; only leaves have any


@dataclass(frozen=True)
class Forest:
    """Units depth first: a parent, then each child with all that is in it; siblings in file order."""

    kind: TopologyKind
    units: tuple[Unit, ...] = ()

    @cached_property
    def roots(self) -> tuple[int, ...]:
        return tuple(index for index, unit in enumerate(self.units) if unit.parent is None)

    @cached_property
    def leaf_of(self) -> Mapping[str, int]:
        """Node → index of its leaf."""
        return {node: index for index, unit in enumerate(self.units) for node in unit.nodes}

    @cached_property
    def levels(self) -> int:
        """Number of levels: 1 for leaves alone."""
        return 1 + max((unit.height for unit in self.units), default=-1)

    def ancestors(self, index: int) -> Iterator[int]:
        """A unit and all that hold it, upwards."""
        step: int | None = index
        while step is not None:
            yield step
            step = self.units[step].parent

    def counts(self, nodes: Iterable[str]) -> list[int]:
        """How many different ``nodes`` each unit holds, directly or below. Nodes outside the forest don't count."""
        counts = [0] * len(self.units)
        wanted = frozenset(nodes)
        if len(wanted) > len(self._leaf_sets):  # then a set operation a leaf is quicker than a look-up a node
            for leaf, members in self._leaf_sets:
                counts[leaf] = len(members & wanted)
        else:
            for node in wanted:
                if node in self.leaf_of:
                    counts[self.leaf_of[node]] += 1
        for index in range(len(self.units) - 1, -1, -1):
            parent = self.units[index].parent
            if parent is not None:
                counts[parent] += counts[index]
        return counts

    @cached_property
    def ends(self) -> Sequence[int]:
        """For each unit, one past the last index of what is in it: units lie depth first, so each holds one stretch."""
        ends = list(range(1, len(self.units) + 1))
        for index in range(len(self.units) - 1, -1, -1):
            parent = self.units[index].parent
            if parent is not None:
                ends[parent] = max(ends[parent], ends[index])
        return ends

    @cached_property
    def _leaf_sets(self) -> Sequence[tuple[int, frozenset[str]]]:
        return [(index, frozenset(unit.nodes)) for index, unit in enumerate(self.units) if unit.nodes]

    def leaves_under(self, index: int) -> list[int]:
        """Indices of the leaves in a unit, in file order; the unit itself when it is one."""
        return [leaf for leaf in range(index, self.ends[index]) if not self.units[leaf].children]

    def nodes_under(self, index: int) -> list[str]:
        return [node for leaf in self.leaves_under(index) for node in self.units[leaf].nodes]

    def distance(self, one: str, other: str) -> int | None:
        """Switches on the way between two nodes: 1 in one leaf, 3 one level up, …; None when Slurm knows no way."""
        if one not in self.leaf_of or other not in self.leaf_of:
            return None
        upwards = set(self.ancestors(self.leaf_of[one]))
        meeting = next((index for index in self.ancestors(self.leaf_of[other]) if index in upwards), None)
        return None if meeting is None else hops(self.units[meeting].height)


def hops(height: int) -> int:
    """Switches on the way between two nodes that meet at this height: up, across, and down again."""
    return 2 * height + 1


def forest_of(topology: NamedTopology, all_nodes: Collection[str] = ()) -> Forest:
    """The forest of one topology. Flat is one unit of ``all_nodes``: every node is as near as any other."""
    body = topology.body
    if isinstance(body, Tree):
        return _of_tree(body)
    if isinstance(body, Blocks):
        return _of_blocks(body)
    return Forest(TopologyKind.FLAT, (Unit(topology.name, None, 0, (), tuple(all_nodes)),) if all_nodes else ())


# ---- trees


def _of_tree(tree: Tree) -> Forest:
    switches = {switch.name: switch for switch in reversed(tree.switches)}
    children = _children_once(tree)
    held = {child for names in children.values() for child in names}
    growing = _Growing()
    for switch in tree.switches:
        if switch.name not in held and switch.name not in growing.seen:
            growing.add_subtree(switch.name, {name: switches[name].nodes for name in switches}, children)
    return growing.forest(TopologyKind.TREE)


def _children_once(tree: Tree) -> dict[str, list[str]]:
    """Switch → its children, each child under the first switch that names it, unknown names and loops left out."""
    known = {switch.name for switch in tree.switches}
    parent: dict[str, str] = {}
    for switch in tree.switches:
        for child in switch.children:
            if child in known and child not in parent and not _is_above(child, switch.name, parent):
                parent[child] = switch.name
    children: dict[str, list[str]] = {name: [] for name in known}
    for child, name in parent.items():
        children[name].append(child)
    return children


def _is_above(candidate: str, name: str, parent: Mapping[str, str]) -> bool:
    """Whether ``candidate`` is ``name`` or holds it."""
    step: str | None = name
    while step is not None:
        if step == candidate:
            return True
        step = parent.get(step)
    return False


class _Growing:
    """Units while they are collected: heights are only known when the children are."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.parents: list[int | None] = []
        self.nodes: list[tuple[str, ...]] = []
        self.seen: set[str] = set()
        self._placed: set[str] = set()

    def add(self, name: str, parent: int | None, nodes: Sequence[str]) -> int:
        fresh = tuple(dict.fromkeys(node for node in nodes if node not in self._placed))
        self._placed.update(fresh)
        self.seen.add(name)
        self.names.append(name)
        self.parents.append(parent)
        self.nodes.append(fresh)
        return len(self.names) - 1

    def add_subtree(self, name: str, nodes: Mapping[str, Sequence[str]], children: Mapping[str, Sequence[str]]) -> None:
        """Depth first, without recursion: a foreign file can hold a chain of thousands."""
        waiting: list[tuple[str, int | None]] = [(name, None)]
        while waiting:
            current, parent = waiting.pop()
            index = self.add(current, parent, nodes[current] if not children[current] else ())
            waiting.extend((child, index) for child in reversed(children[current]))

    def forest(self, kind: TopologyKind) -> Forest:
        count = len(self.names)
        heights, children = [0] * count, [[] for _ in range(count)]  # type: list[int], list[list[int]]
        for index in range(count - 1, -1, -1):
            parent = self.parents[index]
            if parent is not None:
                heights[parent] = max(heights[parent], heights[index] + 1)
        for index, parent in enumerate(self.parents):
            if parent is not None:
                children[parent].append(index)
        return Forest(kind, tuple(map(Unit, self.names, self.parents, heights, map(tuple, children), self.nodes)))


# ---- blocks


def _of_blocks(blocks: Blocks) -> Forest:
    """Blocks, and above them the aggregates of consecutive blocks, a level for each size; the last may be short."""
    growing = _Growing()
    _add_aggregates(growing, blocks, None, 0, len(blocks.blocks), _spans(blocks))
    return growing.forest(TopologyKind.BLOCK)


def _spans(blocks: Blocks) -> list[int]:
    """Blocks in an aggregate, for each useful level above the block, largest first."""
    base = blocks.block_sizes[0] if blocks.block_sizes else 0
    wanted = {size // base for size in blocks.block_sizes} if base else set()
    useful = {span for span in wanted if 1 < span < len(blocks.blocks)}
    return sorted(useful, reverse=True)


def _add_aggregates(
    growing: _Growing, blocks: Blocks, parent: int | None, first: int, end: int, spans: list[int]
) -> None:
    if parent is None and len(blocks.blocks) > 1:
        parent = growing.add("all blocks", None, ())
    if not spans:
        for block in blocks.blocks[first:end]:
            growing.add(block.name, parent, block.nodes)
        return
    for start in range(first, end, spans[0]):
        stop = min(start + spans[0], end)
        if stop - start == 1:
            growing.add(blocks.blocks[start].name, parent, blocks.blocks[start].nodes)
            continue
        name = f"{blocks.blocks[start].name} … {blocks.blocks[stop - 1].name}"
        _add_aggregates(growing, blocks, growing.add(name, parent, ()), start, stop, spans[1:])
