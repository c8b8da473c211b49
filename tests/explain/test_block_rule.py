"""The block rule by example, and against the real scheduler: random free nodes, job sizes, levels and segments."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from slurm_lab import Lab, Level, make_nodes
from slurm_topology.core.block_rule import block_fit
from slurm_topology.core.hostlist import fold
from slurm_topology.core.model import Block, Blocks

BASE = 4
CASES_A_LAYOUT = 40


def layout(block_count: int, spans: Sequence[int]) -> Blocks:
    names = [node.name for node in make_nodes(block_count * BASE)]
    members = [tuple(names[start : start + BASE]) for start in range(0, len(names), BASE)]
    return Blocks(
        tuple(BASE * span for span in spans), tuple(Block(f"b{index}", nodes) for index, nodes in enumerate(members))
    )


@pytest.mark.parametrize(
    ("spans", "free", "count", "segment", "fits"),
    [
        ((1, 2, 4), [3, 3, 3, 3], 4, None, False),  # up to the base size: one block or wait
        ((1, 2, 4), [3, 1, 4, 1], 5, None, True),  # in the second pair of blocks
        ((1, 2, 4), [3, 1, 3, 1], 5, None, False),  # eight free, but five in no pair
        ((1, 4), [2, 2, 1, 1], 5, None, False),  # two blocks are enough for five, so no third is taken
        ((1, 2), [2, 2, 2, 2, 2, 2], 9, None, False),  # nine need two pairs, which have eight
        ((1, 2), [4, 4, 4], 12, None, False),  # above the top level, and the third block is in no whole pair
        ((1, 2, 4), [4, 4, 4], 12, None, True),  # the top level holds all: short is no matter
        ((1, 2), [4, 4, 4], 12, 4, True),  # segments lie anywhere
        ((1, 2, 4), [3, 1, 1, 1], 4, 2, False),
        ((1, 2, 4), [4, 4, 2, 2], 12, 6, False),
    ],
)
def test_the_rule_by_example(
    spans: Sequence[int], free: Sequence[int], count: int, segment: int | None, fits: bool
) -> None:
    assert block_fit(layout(len(free), spans), free, count, segment).fits is fits


@pytest.mark.slurm
@pytest.mark.parametrize("spans", [(1,), (1, 2, 4), (1, 4), (1, 2), (1, 2, 4, 8)], ids=str)
def test_the_real_scheduler_rules_alike(slurm_version: str, make_lab: Callable[..., Lab], spans: Sequence[int]) -> None:
    """``sbatch --test-only`` asks the scheduler itself where a job could start now."""
    dice = random.Random(f"{spans}")  # noqa: S311 (reproducible cases, not secrecy)
    block_count = dice.choice([5, 6, 7])
    blocks = layout(block_count, spans)
    conf = "".join(f"BlockName={block.name} Nodes={fold(block.nodes)}\n" for block in blocks.blocks)
    sizes = ",".join(map(str, blocks.block_sizes))
    everyone = [node for block in blocks.blocks for node in block.nodes]
    lab = make_lab(
        slurm_version,
        nodes=make_nodes(len(everyone)),
        level=Level.CLOUD,
        topology=topology_text(slurm_version, blocks, conf, sizes),
    )
    wrong = []
    for _ in range(CASES_A_LAYOUT):
        free = [dice.choice([0, 1, 2, 3, 4, 4]) for _ in blocks.blocks]
        count, segment = dice.randint(1, len(everyone)), None
        if dice.random() < 0.3:
            segment = dice.choice([1, 2, 4])
            count = max(1, count // segment) * segment
        drain(
            lab,
            everyone,
            [node for block, have in zip(blocks.blocks, free, strict=True) for node in block.nodes[have:]],
        )
        told = block_fit(blocks, free, count, segment).fits
        if starts_now(lab, count, segment) is not told:
            wrong.append((free, count, segment, told))
    assert wrong == []


def topology_text(version: str, blocks: Blocks, conf: str, sizes: str) -> str:
    if version < "25.05":
        return f"{conf}BlockSizes={sizes}\n"
    lines = "".join(f"      - block: {block.name}\n        nodes: {fold(block.nodes)}\n" for block in blocks.blocks)
    return f"- topology: default\n  cluster_default: true\n  block:\n    block_sizes: [{sizes}]\n    blocks:\n{lines}"


def drain(lab: Lab, everyone: Sequence[str], away: Sequence[str]) -> None:
    lab.scontrol("update", f"NodeName={fold(everyone)}", "State=RESUME", check=False)
    if away:
        lab.scontrol("update", f"NodeName={fold(away)}", "State=DRAIN", "Reason=test")


def starts_now(lab: Lab, count: int, segment: int | None) -> bool:
    options = [f"--segment={segment}"] if segment else []
    done = lab.run("sbatch", "--test-only", f"--nodes={count}", *options, "--wrap", "true")
    return " to start at " in done.stderr + done.stdout
