"""Which block size every job can live with.

slurmctld (24.11.5 and 26.05.5, same verdicts in every trial) gives a job of N nodes at most ⌈N / base⌉ blocks. A job
whose nodes can't be found in that many blocks, even on an empty cluster, is refused at submit: "Requested node
configuration is not available"; one that is already pending is held for good. So with blocks of 17, 17, 5 and 5 nodes
and BlockSizes=17, -N40 to -N44 don't run, though there are 44 nodes.

Let S(m) be the nodes in the m largest blocks, T all nodes. Every job size has a place if and only if, for every m,
m·base ≤ S(m) or S(m) = T: in words, the base is at most the mean size of the blocks, the smallest one left out. A
lower base loses little: a job still goes into a single block that has room for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .blocks import levels
from .places import Places

__all__ = ["block_counts", "feasible_base", "lower"]


def block_counts(places: Places) -> list[int]:
    """Nodes in each block that build_blocks will make of these nodes, largest first."""
    counts: Counter[tuple[str | None, str | None]] = Counter()
    for (_, ultraserver, zone), names in places.items():
        counts[ultraserver, zone if ultraserver is None else None] += len(names)
    return sorted(counts.values(), reverse=True)


def feasible_base(wanted: int, counts: Sequence[int]) -> int:
    """The largest base up to ``wanted`` with which no job size is refused; ``counts`` is sorted, largest first."""
    if len(counts) < 2:
        return wanted
    return max(1, min(wanted, sum(counts[:-1]) // (len(counts) - 1)))


def lower(sizes: tuple[int, ...], base: int) -> tuple[int, ...]:
    """The same number of levels from a lower base; unchanged when it isn't lower."""
    return sizes if base >= sizes[0] else levels(base, len(sizes))
