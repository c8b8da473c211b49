"""When topology/block lets a job start: Slurm's rule, in terms of the free nodes of each block.

Found by trials, the same on 24.11.5 and 26.05.5 (tests/explain/test_block_rule.py and
tests/slurmctld/test_largest_job.py ask both for random cases):

* a job up to the base size sits in one block
* a larger one sits in one aggregate of the smallest level that could hold it (a short one at the end of the file
  counts), and in there in no more aggregates of the level below than a job of its size needs at least: 8 nodes with
  BlockSizes=4,16 take two blocks
* a job larger than the largest level takes as few aggregates of that level as could hold it, and only complete ones:
  with BlockSizes=4,8,16 and seven full blocks of 4, a job of 17 is refused as never runnable
* --segment=S asks for N/S groups of S nodes, each placed by these rules; they may lie anywhere. 24.11 refuses S above
  the base size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import NamedTuple

from .model import Blocks

__all__ = ["BlockFit", "block_fit", "largest_fit", "refused_sizes", "sizes_in_force", "sizes_of_unset"]

_LEVELS_UNSET = 5  # levels in force when the file has no BlockSizes


class BlockFit(NamedTuple):
    """Whether a job fits, and the words for why not."""

    fits: bool
    level_nodes: int  # nodes of one aggregate of the level that must hold it (or each of its segments)
    most: int  # the most nodes (or segments, with a segment size) that this rule finds; fits when most >= wanted
    wanted: int
    pieces: int  # how many aggregates of ``piece_nodes`` it may take at most
    piece_nodes: int


def block_fit(blocks: Blocks, free: Sequence[int], count: int, segment: int | None = None) -> BlockFit:
    """``free``: free nodes of each block, in file order; ``count``: nodes of the job (a multiple of ``segment``)."""
    sizes = sizes_in_force(blocks)
    base = sizes[0]
    spans = sorted({1, *(size // base for size in sizes if size >= base)})
    size = segment or count
    span = next((span for span in spans if span * base >= size), None)
    if span is None:
        return _above_the_top(free, count, spans[-1], base)
    piece = max((below for below in spans if below < span), default=1)
    limit = -(-size // (piece * base)) if span > 1 else 1
    rooms = [sum(sorted(_sums(group, piece), reverse=True)[:limit]) for group in _groups(free, span)]
    if segment:
        most, wanted = sum(room // segment for room in rooms), count // segment
    else:
        most, wanted = max(rooms, default=0), count
    return BlockFit(most >= wanted, span * base, most, wanted, limit, piece * base)


def largest_fit(blocks: Blocks, free: Sequence[int]) -> int:
    """The most nodes that one job can have; ``free`` as for ``block_fit``. Smaller jobs may be refused all the same.

    What the rule finds for a job of some size bounds what it finds for all smaller ones; only jobs above the top level
    can find less than the largest one below it, because the blocks that make up no whole aggregate are closed to them.
    """
    count = sum(free)
    while count:
        fit = block_fit(blocks, free, count)
        if fit.fits:
            return count
        count = max(fit.most, fit.level_nodes if count > fit.level_nodes else 0)
    return 0


def refused_sizes(blocks: Blocks, free: Sequence[int]) -> list[range]:
    """The sizes of jobs that have no place although there are so many nodes, ascending; ``free`` as for ``block_fit``.

    They aren't always the largest ones: with BlockSizes=17 and blocks of 17, 17, 15, 15 and 15 they are 50, 51 and 65
    to 68.
    """
    base, *_ = sizes = sizes_in_force(blocks)
    top = max(1, *(size // base for size in sizes))
    return _joined([*_refused_within(blocks, free, top * base), *_refused_above(free, top, base)])


def _refused_within(blocks: Blocks, free: Sequence[int], top_nodes: int) -> Iterable[range]:
    """Up to the highest level. All sizes that may take the same number of aggregates are judged at once, and within
    one level a larger job never finds fewer nodes: those up to ``most`` are well."""
    size, last = 1, min(sum(free), top_nodes)
    while size <= last:
        fit = block_fit(blocks, free, size)
        level_end = min(last, fit.level_nodes)
        most, run_end = min(fit.most, level_end), min(fit.pieces * fit.piece_nodes, level_end)
        yield range(max(size, most + 1), run_end + 1)
        size = max(run_end, most) + 1


def _refused_above(free: Sequence[int], top: int, base: int) -> Iterable[range]:
    """As ``_above_the_top`` judges them, with the sums of a growing number of aggregates made once: 10,000 blocks
    take milliseconds."""
    total, most = sum(free), 0
    complete = sorted((sum(group) for group in _groups(free, top) if len(group) == top), reverse=True)
    for number, largest in enumerate(chain(complete, repeat(0))):
        smaller = number * top * base
        if smaller >= total:
            return
        most += largest
        if number:
            yield range(max(smaller, most) + 1, min(smaller + top * base, total) + 1)


def _joined(ranges: Iterable[range]) -> list[range]:
    joined: list[range] = []
    for each in filter(None, ranges):
        if joined and joined[-1].stop == each.start:
            joined[-1] = range(joined[-1].start, each.stop)
        else:
            joined.append(each)
    return joined


def sizes_in_force(blocks: Blocks) -> tuple[int, ...]:
    """The block sizes, base first. Without any, slurmctld makes the nodes of the first block that has some the base,
    and four levels above it are in force (trials, both versions): base·2 to base·16."""
    if blocks.block_sizes:
        return (max(1, blocks.block_sizes[0]), *blocks.block_sizes[1:])
    base = next((len(block.nodes) for block in blocks.blocks if block.nodes), 1)
    return sizes_of_unset(base)


def sizes_of_unset(base: int) -> tuple[int, ...]:
    """The sizes in force when the file has none; ``base``: the nodes of the first block that has some."""
    return tuple(base << level for level in range(_LEVELS_UNSET))


def _above_the_top(free: Sequence[int], count: int, top: int, base: int) -> BlockFit:
    limit = -(-count // (top * base))
    complete = [sum(group) for group in _groups(free, top) if len(group) == top]
    most = sum(sorted(complete, reverse=True)[:limit])
    return BlockFit(most >= count, top * base, most, count, limit, top * base)


def _groups(free: Sequence[int], span: int) -> list[Sequence[int]]:
    return [free[start : start + span] for start in range(0, len(free), span)]


def _sums(group: Sequence[int], span: int) -> list[int]:
    return [sum(piece) for piece in _groups(group, span)]
