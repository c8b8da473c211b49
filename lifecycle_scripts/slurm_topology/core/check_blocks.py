"""What slurmctld refuses or quietly mangles in blocks (src/plugins/topology/block/block_record.c)."""

from __future__ import annotations

from . import check_rules as rules
from .check_names import check_unit_names
from .check_rules import Report, unit_subject
from .model import Block, Blocks
from .slurm_version import SlurmVersion

__all__ = ["LARGEST_BASE", "LEVELS", "check_blocks", "is_block_size"]

LARGEST_BASE = 65_535  # the base size is kept in 16 bits: 65,536 is a division by zero
LEVELS = 16  # MAX_BLOCK_LEVELS: sizes are base·2^0 … base·2^15


def check_blocks(
    report: Report, blocks: Blocks, topology: str, version: SlurmVersion, known_nodes: frozenset[str] | None
) -> None:
    """``topology``: its name, for subjects; ``known_nodes``: those Slurm has, None when that isn't known."""
    check_unit_names(report, "block", [block.name for block in blocks.blocks], topology)
    subject = f"topology {topology}" if topology else "blocks"
    _check_sizes(report, blocks.block_sizes, subject)
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
    elif base > 0 and max(counts, default=0) > base:
        message = f"the base size is {base}, the largest block has {max(counts)} nodes: jobs in between span blocks"
        report.add(rules.SMALL_BASE, subject, message)
    if (25, 11, 0) <= version < (25, 11, 3):
        report.add(rules.POWERED_DOWN, subject, "Slurm 25.11.0 to 25.11.2 takes powered-down nodes out of their blocks")


def is_block_size(size: int, base: int) -> bool:
    """Whether ``size`` is base·2^k with k below LEVELS."""
    return any(size == base << k for k in range(LEVELS))


def _check_sizes(report: Report, sizes: tuple[int, ...], subject: str) -> None:
    if not sizes:
        return
    base = sizes[0]
    if not 1 <= base <= LARGEST_BASE:
        report.add(rules.BAD_BLOCK_SIZES, subject, f"the base size is {base}, expected 1 to {LARGEST_BASE}")
        return
    wrong = [size for size in sizes if not is_block_size(size, base)]
    if wrong:
        shown = ", ".join(map(str, wrong[:10]))
        report.add(rules.BAD_BLOCK_SIZES, subject, f"{shown}: expected {base} times 1, 2, 4, … up to 2^{LEVELS - 1}")


def _present(block: Block, known_nodes: frozenset[str] | None) -> int:
    return len(set(block.nodes)) if known_nodes is None else len(known_nodes.intersection(block.nodes))


def _check_short_blocks(report: Report, blocks: Blocks, counts: list[int], base: int, topology: str) -> None:
    for block, count in zip(blocks.blocks, counts, strict=True):
        if not block.nodes:
            report.add(rules.EMPTY_BLOCK, unit_subject("block", block.name, topology), "has no nodes")
        elif count < base:
            message = f"has {count} nodes that Slurm knows, expected {base} or more: slurmctld up to 24.11 dies of it"
            report.add(rules.SHORT_BLOCK, unit_subject("block", block.name, topology), message)
