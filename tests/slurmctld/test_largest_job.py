"""core/block_rule.py, and what the checker says by it, before the real scheduler: which sizes of jobs it takes at
all on blocks that are not all full.

Blocks of any number of nodes, whole aggregates and others, with and without BlockSizes, all of the cluster or a
partition of it. 24.11 dies of blocks below the base size, so there they are larger or as large.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from itertools import accumulate

import pytest

from slurm_lab import Lab, Level, Partition, make_nodes
from slurm_topology.core import render_conf, render_yaml
from slurm_topology.core.block_rule import block_fit
from slurm_topology.core.check import check_topology
from slurm_topology.core.compare import largest_job
from slurm_topology.core.model import Block, Blocks, ClusterTopology, NamedTopology
from slurm_topology.core.slurm_version import SlurmVersion

pytestmark = pytest.mark.slurm

NODES = make_nodes(30)
NAMES = tuple(node.name for node in NODES)
LAYOUTS = 30
JOBS = re.compile(r"block: (?:partition (\w+) )?has \d+ nodes, but slurmctld refuses jobs of ([0-9, to]+) nodes")
SIZES_OF_UNSET = [(1, 12), (1, 7, 7), (1, 1, 1, 1, 5, 5, 5, 7), (1,) * 20, (2, 2, 2, 5, 4, 2)]


def blocks_of(sizes: tuple[int, ...], counts: Sequence[int]) -> Blocks:
    """Consecutive nodes in blocks of these counts."""
    ends = list(accumulate(counts))
    members = (NAMES[end - count : end] for end, count in zip(ends, counts, strict=True))
    return Blocks(sizes, tuple(Block(f"us-{number}", nodes) for number, nodes in enumerate(members)))


def random_blocks(dice: random.Random, version: str) -> Blocks:
    base = dice.choice([2, 3, 4])
    sizes = dice.choice([(base,), (base,), (base, 2 * base), (base, 2 * base, 4 * base), (base, 4 * base)])
    least, most = (base, base + 2) if version == "24.11" else (1, base + dice.choice([-1, 0, 2]))
    counts = [dice.randint(least, most) for _ in range(dice.randint(2, 8))]
    while sum(counts) > len(NAMES):
        counts.pop()
    return blocks_of(sizes, counts)


def text_of(version: str, blocks: Blocks) -> str:
    topology = ClusterTopology((NamedTopology("block", blocks, cluster_default=True),))
    return render_conf.render(topology) if version == "24.11" else render_yaml.render(topology)


def taken(lab: Lab, partition: str, most: int) -> list[int]:
    """Job sizes up to ``most`` that slurmctld takes on the empty cluster."""
    submit = f"sbatch --test-only --exclusive -p {partition} --wrap true"
    script = f'for n in $(seq {most}); do {submit} -N "$n" >/dev/null 2>&1 && echo "$n"; done; true'
    return [int(size) for size in lab.run("sh", "-c", script, check=True).stdout.split()]


def assert_ruled_alike(lab: Lab, version: str, blocks: Blocks, members: frozenset[str], partition: str) -> None:
    lab.write_topology(text_of(version, blocks))
    assert lab.reconfigure().accepted
    counts = [len(members.intersection(block.nodes)) for block in blocks.blocks]
    by_rule = [size for size in range(1, sum(counts) + 1) if block_fit(blocks, counts, size).fits]
    accepted = taken(lab, partition, sum(counts) + 1)
    assert (blocks.block_sizes, counts, by_rule) == (blocks.block_sizes, counts, accepted)
    assert largest_job(blocks, members) == max(accepted, default=0)
    refused = [size for size in range(1, sum(counts) + 1) if size not in accepted]
    assert told_by_the_checker(version, blocks, members, partition) == refused


def told_by_the_checker(version: str, blocks: Blocks, members: frozenset[str], partition: str) -> list[int]:
    """The sizes of jobs of that partition that slurmctld refuses, as TOPO058 says."""
    topology = ClusterTopology((NamedTopology("block", blocks, cluster_default=True),))
    whole = all(node in members for block in blocks.blocks for node in block.nodes)
    users = {} if whole else {"": NAMES, partition: members}
    findings = check_topology(topology, SlurmVersion.parse(version), NAMES, partition_nodes=users)
    told = [JOBS.search(finding.message) for finding in findings if finding.id == "TOPO058"]
    words = [match[2] for match in told if match and match[1] == (None if whole else partition)]
    ends = [[int(end) for end in run.split(" to ")] for run in words[0].split(", ")] if words else []
    return [size for first, *last in ends for size in range(first, (last or [first])[0] + 1)]


def make(make_lab: Callable[..., Lab], version: str, partitions: Sequence[Partition]) -> Lab:
    first = text_of(version, blocks_of((15,), (15, 15)))
    return make_lab(version, nodes=NODES, level=Level.CLOUD, topology=first, partitions=partitions)


def test_what_the_rule_says_of_random_blocks(slurm_version: str, make_lab: Callable[..., Lab]) -> None:
    dice = random.Random(5)  # noqa: S311 (reproducible cases, not secrecy)
    some = frozenset(NAMES[::2] + NAMES[:9])
    lab = make(make_lab, slurm_version, [Partition("all", NAMES, default=True), Partition("some", tuple(sorted(some)))])
    for number in range(LAYOUTS):
        members, partition = (some, "some") if number % 3 == 2 else (frozenset(NAMES), "all")
        assert_ruled_alike(lab, slurm_version, random_blocks(dice, slurm_version), members, partition)


def test_without_block_sizes_there_are_five_levels(slurm_version: str, make_lab: Callable[..., Lab]) -> None:
    """The first block is the base, so that a short one at the front refuses large jobs."""
    lab = make(make_lab, slurm_version, [Partition("all", NAMES, default=True)])
    for counts in SIZES_OF_UNSET:
        assert_ruled_alike(lab, slurm_version, blocks_of((), counts), frozenset(NAMES), "all")


def test_a_publication_with_levels_is_told_to_be_smaller(slurm_version: str, make_lab: Callable[..., Lab]) -> None:
    """Higher block sizes take nodes away from large jobs, though every node stays in its block."""
    before, after = blocks_of((4,), (4,) * 5), blocks_of((4, 8, 16), (4,) * 5)
    lab = make(make_lab, slurm_version, [Partition("all", NAMES, default=True)])
    for blocks, largest in ((before, 20), (after, 16)):
        assert largest_job(blocks) == largest
        assert_ruled_alike(lab, slurm_version, blocks, frozenset(NAMES), "all")
