"""How near to each other nodes are, and how near they could be: pure counting on a forest.

The order of what is better: first the worst pair (the lower the unit that holds all nodes), then the number of leaves.
It is also what Slurm's tree and block plugins look for: the lowest unit that is large enough, and in it the fewest
leaves. ``best_place`` is exact: distances are an ultrametric, so the best height is that of the lowest unit with
enough nodes, and in a unit the fewest leaves are the fullest ones. tests/explain compares it with every subset of
small clusters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from .forest import Forest, hops

__all__ = ["Place", "Score", "best_place", "score"]


@dataclass(frozen=True)
class Score:
    """How a set of nodes is placed."""

    node_count: int
    leaves: tuple[str, ...]  # names of the leaf switches or blocks they touch, in file order
    spanned: tuple[int, ...] = ()  # units touched at height 0, 1, 2, … up to the one that holds them all
    holder: str | None = None  # name of the lowest unit that holds them all; None: there is none
    worst_hops: int | None = None  # switches on the way of the worst pair; None: Slurm knows no way
    worst_pair: tuple[str, str] | None = None
    mean_hops: float | None = None  # over all pairs; None as above, or with fewer than two nodes
    unplaced: tuple[str, ...] = ()  # nodes that the topology doesn't hold


class Place(NamedTuple):
    """The best nodes for a job; ``worst_hops`` and ``leaves`` as in Score."""

    nodes: tuple[str, ...]
    holder: str
    worst_hops: int
    leaves: tuple[str, ...]

    @property
    def rank(self) -> tuple[int, int]:
        """Smaller is better."""
        return self.worst_hops, len(self.leaves)


def score(forest: Forest, nodes: Collection[str]) -> Score:
    """Score a set of nodes. An empty set touches nothing."""
    placed = [node for node in dict.fromkeys(nodes) if node in forest.leaf_of]
    unplaced = tuple(sorted(set(nodes) - set(placed)))
    counts = forest.counts(placed)
    touched = [index for index, count in enumerate(counts) if count]
    leaves = tuple(forest.units[index].name for index in touched if forest.units[index].nodes)
    holder = _holder(counts, len(placed))
    if holder is None:
        return Score(
            len(set(nodes)), leaves, _spanned(forest, touched), worst_pair=_apart(forest, placed), unplaced=unplaced
        )
    height = forest.units[holder].height
    return Score(
        node_count=len(set(nodes)),
        leaves=leaves,
        spanned=_spanned(forest, touched)[: height + 1],
        holder=forest.units[holder].name,
        worst_hops=hops(height),
        worst_pair=_meeting_at(forest, counts, placed, holder),
        mean_hops=_mean_hops(forest, counts, touched, len(placed)),
        unplaced=unplaced,
    )


def _holder(counts: Sequence[int], total: int) -> int | None:
    """The lowest unit that holds all; units lie parents first, so it is the last one that does."""
    return max((index for index, count in enumerate(counts) if count == total), default=None) if total else None


def _spanned(forest: Forest, touched: Iterable[int]) -> tuple[int, ...]:
    spanned = [0] * forest.levels
    for index in touched:
        spanned[forest.units[index].height] += 1
    while spanned and spanned[-1] == 0:
        spanned.pop()
    return tuple(spanned)


def _meeting_at(forest: Forest, counts: Sequence[int], placed: Sequence[str], holder: int) -> tuple[str, str] | None:
    """Two of the nodes that meet only in the holder: a worst pair, the first in file order."""
    if len(placed) < 2:
        return None
    wanted = set(placed)
    sides = [child for child in forest.units[holder].children if counts[child]]
    if not sides:
        first, second = [node for node in forest.units[holder].nodes if node in wanted][:2]
        return first, second
    first, second = (next(node for node in forest.nodes_under(side) if node in wanted) for side in sides[:2])
    return first, second


def _apart(forest: Forest, placed: Sequence[str]) -> tuple[str, str] | None:
    """Two nodes with no way between them."""
    return next(((placed[0], node) for node in placed[1:] if forest.distance(placed[0], node) is None), None)


def _mean_hops(forest: Forest, counts: Sequence[int], touched: Iterable[int], total: int) -> float | None:
    """Each pair meets in exactly one unit: all pairs in it less the pairs in its children."""
    if total < 2:
        return None
    hop_sum = 0
    for index in touched:
        unit = forest.units[index]
        here = _pairs(counts[index]) - sum(_pairs(counts[child]) for child in unit.children)
        hop_sum += here * hops(unit.height)
    return hop_sum / _pairs(total)


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def best_place(forest: Forest, available: Collection[str], count: int, required: Collection[str] = ()) -> Place | None:
    """The best ``count`` of the available nodes, all ``required`` ones among them; None when no unit has such.

    Of equally good places the one that leaves the smallest remainder, then the first in file order: deterministic.
    """
    needed = frozenset(required)
    if count < max(1, len(needed)) or not needed.issubset(available):
        return None
    counts, musts = forest.counts(available), forest.counts(needed)
    large_enough = [index for index, have in enumerate(counts) if have >= count and musts[index] == len(needed)]
    if not large_enough:
        return None
    height = min(forest.units[index].height for index in large_enough)
    candidates = [index for index in large_enough if forest.units[index].height == height]
    if height == 0:
        holder = min(candidates, key=lambda index: (counts[index], index))
        return _place(forest, available, [holder], holder, count, needed)
    leaves, _, holder = min(
        ((*_fewest_leaves(forest, counts, musts, index, count), index) for index in candidates),
        key=lambda choice: (len(choice[0]), choice[1], choice[2]),
    )
    return _place(forest, available, leaves, holder, count, needed)


def _fewest_leaves(
    forest: Forest, counts: Sequence[int], musts: Sequence[int], index: int, count: int
) -> tuple[list[int], int]:
    """The fewest leaves of a unit that hold ``count``, and what stays free in the unit.

    Those with required nodes (``musts``: how many) first, then the fullest; the last one is the tightest that still
    does, so that a large leaf isn't broken into for a few nodes.
    """
    remainder = counts[index] - count
    leaves = forest.leaves_under(index)
    chosen = [leaf for leaf in leaves if musts[leaf]]
    missing = count - sum(counts[leaf] for leaf in chosen)
    others = sorted((leaf for leaf in leaves if not musts[leaf]), key=lambda leaf: -counts[leaf])
    for number, leaf in enumerate(others):
        if missing <= 0:
            break
        if counts[leaf] >= missing:
            tight = [other for other in others[number:] if counts[other] >= missing]
            return [*chosen, min(tight, key=lambda other: (counts[other], other))], remainder
        chosen.append(leaf)
        missing -= counts[leaf]
    return chosen, remainder


def _place(
    forest: Forest, available: Collection[str], leaves: Sequence[int], holder: int, count: int, needed: frozenset[str]
) -> Place:
    usable = available if isinstance(available, Set) else frozenset(available)
    rest = [node for leaf in leaves for node in forest.units[leaf].nodes if node in usable and node not in needed]
    names = tuple(forest.units[leaf].name for leaf in sorted(leaves))
    nodes = (*sorted(needed), *rest[: count - len(needed)])
    return Place(nodes, forest.units[holder].name, hops(forest.units[holder].height), names)
