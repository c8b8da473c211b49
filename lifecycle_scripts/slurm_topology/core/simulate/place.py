"""Models of how Slurm's topology plugins choose nodes; tests/explain/test_real_scheduler.py asks the real ones.

Worst pairs are always as there; of leaves the tree model takes the fewest, where Slurm, which doesn't try everything,
takes one or two more in a few cases of a hundred.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from ..block_rule import block_fit, sizes_in_force
from ..explain.forest import Forest, forest_of
from ..explain.score import best_place
from ..model import Blocks, Flat, NamedTopology
from .model import Place

__all__ = ["placer"]


def placer(topology: NamedTopology, in_order: Sequence[str]) -> Place:
    """The placing function of a topology; ``in_order``: all nodes in the order of slurm.conf."""
    body = topology.body
    if isinstance(body, Flat):
        return lambda free, count: _in_a_row(in_order, free, count)
    forest = forest_of(topology)
    if isinstance(body, Blocks):
        return lambda free, count: _in_blocks(body, forest, free, count)
    return lambda free, count: _nearest(forest, free, count)


def _nearest(forest: Forest, free: Collection[str], count: int) -> tuple[str, ...] | None:
    """topology/tree: the lowest switch with enough free nodes, and in it the fewest leaves."""
    place = best_place(forest, free, count)
    return place.nodes if place else None


def _in_a_row(in_order: Sequence[str], free: Collection[str], count: int) -> tuple[str, ...] | None:
    """topology/flat: the tightest row of consecutive free nodes that is long enough; else the longest, and so on.

    A job of one node gets the first free one (so 26.05; 24.11 takes it from the tightest row too).
    """
    rows = _rows(in_order, free)
    if sum(map(len, rows)) < count:
        return None
    if count == 1:
        return (rows[0][0],)
    taken: list[str] = []
    while len(taken) < count:
        missing = count - len(taken)
        enough = [row for row in rows if len(row) >= missing]
        row = min(enough, key=len) if enough else max(rows, key=len)
        rows.remove(row)
        taken += row[:missing]
    return tuple(taken)


def _rows(in_order: Sequence[str], free: Collection[str]) -> list[list[str]]:
    wanted = frozenset(free)
    return [list(row) for is_free, row in groupby(in_order, key=lambda node: node in wanted) if is_free]


def _in_blocks(blocks: Blocks, forest: Forest, free: Collection[str], count: int) -> tuple[str, ...] | None:
    """topology/block: within Slurm's rule, the tightest place."""
    wanted = frozenset(free)
    free_in = [[node for node in block.nodes if node in wanted] for block in blocks.blocks]
    fit = block_fit(blocks, [len(nodes) for nodes in free_in], count)
    if not fit.fits:
        return None
    base = sizes_in_force(blocks)[0]
    rooms = list(_rooms(free_in, max(1, fit.level_nodes // base), max(1, fit.piece_nodes // base), fit.pieces))
    if count > fit.level_nodes:  # larger than the largest level: as few of its aggregates as hold it
        rooms = [[node for room in sorted(rooms, key=len, reverse=True)[: fit.pieces] for node in room]]
    chosen = min((room for room in rooms if len(room) >= count), key=len)
    place = best_place(forest, chosen, count)
    return place.nodes if place else None


def _rooms(free_in: Sequence[Sequence[str]], span: int, piece: int, pieces: int) -> Iterator[list[str]]:
    """For each aggregate of ``span`` blocks, the free nodes of its fullest ``pieces`` parts of ``piece`` blocks."""
    for start in range(0, len(free_in), span):
        group = free_in[start : start + span]
        parts = [[node for nodes in group[at : at + piece] for node in nodes] for at in range(0, len(group), piece)]
        limit = pieces if piece < span else 1
        yield [node for part in sorted(parts, key=len, reverse=True)[:limit] for node in part]
