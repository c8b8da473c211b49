"""What slurmctld refuses or quietly mangles in blocks (src/plugins/topology/block/block_record.c)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from . import check_rules as rules
from .block_rule import refused_sizes, sizes_of_unset
from .block_size import feasible_base
from .check_names import check_unit_names
from .check_rules import Report, unit_subject
from .model import Block, Blocks
from .slurm_version import SlurmVersion

__all__ = ["LARGEST_BASE", "LEVELS", "check_blocks", "is_block_size"]

LARGEST_BASE = 65_535  # the base size is kept in 16 bits: 65,536 is a division by zero
LEVELS = 16  # MAX_BLOCK_LEVELS: sizes are base·2^0 … base·2^15
_NOBODY: Mapping[str, frozenset[str]] = MappingProxyType({})
_SHOWN = 10  # ranges of job sizes in a message


def check_blocks(
    report: Report,
    blocks: Blocks,
    topology: str,
    version: SlurmVersion,
    known_nodes: frozenset[str] | None,
    *,
    users: Mapping[str, frozenset[str]] = _NOBODY,
) -> None:
    """``topology``: its name, for subjects; ``known_nodes``: those Slurm has, None when that isn't known; ``users``:
    partition → its nodes, of those that use this topology."""
    check_unit_names(report, "block", [block.name for block in blocks.blocks], topology)
    subject = f"topology {topology}" if topology else "blocks"
    good = _check_sizes(report, blocks.block_sizes, subject)
    counts = [_present(block, known_nodes) for block in blocks.blocks]
    base = blocks.block_sizes[0] if blocks.block_sizes else next(filter(None, counts), 0)
    if not blocks.block_sizes:
        report.add(
            rules.NO_BLOCK_SIZES, subject, f"sizes are not set, the first block that has nodes makes the base {base}"
        )
        if not base:
            report.add(rules.NO_BLOCK_NODES, subject, "sizes are not set, and no block has a node that Slurm knows")
    if version.short_block_is_fatal:
        _check_short_blocks(report, blocks, counts, base, topology)
    elif base > 0:
        _check_base(report, counts, base, subject)
    if good and base > 0:
        groups = {name: [_present(block, nodes) for block in blocks.blocks] for name, nodes in users.items()}
        sizes = blocks.block_sizes or sizes_of_unset(base)
        _check_jobs(report, sizes, {"": counts, **groups}, subject, version)
    if (25, 11, 0) <= version < (25, 11, 3):
        report.add(rules.POWERED_DOWN, subject, "Slurm 25.11.0 to 25.11.2 takes powered-down nodes out of their blocks")


def is_block_size(size: int, base: int) -> bool:
    """Whether ``size`` is base·2^k with k below LEVELS."""
    return any(size == base << k for k in range(LEVELS))


def _check_sizes(report: Report, sizes: tuple[int, ...], subject: str) -> bool:
    """Whether they are sizes that every slurmctld takes."""
    if not sizes:
        return True
    base = sizes[0]
    if not 1 <= base <= LARGEST_BASE:
        report.add(rules.BAD_BLOCK_SIZES, subject, f"the base size is {base}, expected 1 to {LARGEST_BASE}")
        return False
    wrong = [size for size in sizes if not is_block_size(size, base)]
    if wrong:
        shown = ", ".join(map(str, wrong[:10]))
        report.add(rules.BAD_BLOCK_SIZES, subject, f"{shown}: expected {base} times 1, 2, 4, … up to 2^{LEVELS - 1}")
    return not wrong


def _present(block: Block, known_nodes: frozenset[str] | None) -> int:
    return len(set(block.nodes)) if known_nodes is None else len(known_nodes.intersection(block.nodes))


def _check_base(report: Report, counts: list[int], base: int, subject: str) -> None:
    """A base below what the blocks hold is right where a larger one would refuse jobs (block_size.py): no finding."""
    most = max(counts, default=0)
    better = feasible_base(most, _largest_first(counts))
    if better > base:
        message = (
            f"the base size is {base}, the largest block has {most} nodes: jobs above {base} are split where no block "
            f"has room for them instead of waiting for one; block sizes up to {better} would refuse no job"
        )
        report.add(rules.SMALL_BASE, subject, message)


def _check_jobs(
    report: Report, sizes: tuple[int, ...], groups: Mapping[str, list[int]], subject: str, version: SlurmVersion
) -> None:
    """``groups``: nodes in each block, of all nodes ("") and of each partition; those of equal ones are told once."""
    seen: set[tuple[int, ...]] = set()
    for partition, counts in groups.items():
        refused = [] if tuple(counts) in seen else refused_sizes(Blocks(sizes), counts)
        seen.add(tuple(counts))
        if not refused:
            continue
        present = _largest_first(counts)
        best = feasible_base(min(sizes[0], present[0]), present)
        if version.short_block_is_fatal:
            best = min(best, present[-1])
        of = f"partition {partition} has" if partition else "has"
        message = (
            f"{of} {sum(counts)} nodes, but slurmctld refuses jobs of {_shown(refused)} nodes, which the block sizes "
            f"{', '.join(map(str, sizes))} leave no place; {best} alone refuses none"
        )
        report.add(rules.JOBS_REFUSED, subject, message)


def _largest_first(counts: Iterable[int]) -> list[int]:
    """Without blocks that have no node: slurmctld gives no job such a one."""
    return sorted(filter(None, counts), reverse=True)


def _shown(ranges: list[range]) -> str:
    """``19 to 36, 40``."""
    told = [f"{each[0]} to {each[-1]}" if len(each) > 1 else f"{each[0]}" for each in ranges[:_SHOWN]]
    return ", ".join(told) + (", …" if len(ranges) > _SHOWN else "")


def _check_short_blocks(report: Report, blocks: Blocks, counts: list[int], base: int, topology: str) -> None:
    for block, count in zip(blocks.blocks, counts, strict=True):
        if not block.nodes:
            report.add(rules.EMPTY_BLOCK, unit_subject("block", block.name, topology), "has no nodes")
        elif count < base:
            message = f"has {count} nodes that Slurm knows, expected {base} or more: slurmctld up to 24.11 dies of it"
            report.add(rules.SHORT_BLOCK, unit_subject("block", block.name, topology), message)
