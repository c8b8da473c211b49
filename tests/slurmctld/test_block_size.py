"""The rule of core/block_size.py before the real scheduler: which block size refuses which job sizes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from slurm_lab import Lab, Level, make_nodes
from slurm_topology.core import render_conf, render_yaml
from slurm_topology.core.block_rule import largest_fit
from slurm_topology.core.block_size import feasible_base
from slurm_topology.core.hostlist import expand, fold
from slurm_topology.core.model import Block, Blocks, ClusterTopology, NamedTopology

pytestmark = pytest.mark.slurm

COUNTS = (17, 17, 5, 5)


def rendered(version: str, names: list[str], counts: tuple[int, ...], sizes: tuple[int, ...]) -> str:
    """Consecutive nodes in blocks of these counts."""
    starts = [sum(counts[:number]) for number in range(len(counts))]
    blocks = tuple(
        Block(f"us-{number}", tuple(names[start : start + count]))
        for number, (start, count) in enumerate(zip(starts, counts, strict=True))
    )
    topology = ClusterTopology((NamedTopology("block", Blocks(sizes, blocks), cluster_default=True),))
    return render_conf.render(topology) if version == "24.11" else render_yaml.render(topology)


def refused(lab: Lab, jobs: range) -> list[int]:
    """Job sizes that slurmctld doesn't take at all."""
    submit = ("sbatch", "--test-only", "--exclusive", "--wrap", "true")
    return [job for job in jobs if lab.run(*submit, f"-N{job}").returncode]


def test_one_more_than_the_feasible_base_refuses_jobs(make_lab: Callable[..., Lab]) -> None:
    """26.05 takes blocks that are shorter than the block size; up to 24.11 it dies of them."""
    nodes = make_nodes(sum(COUNTS))
    names = [node.name for node in nodes]
    base = feasible_base(18, COUNTS)
    lab = make_lab("26.05", nodes=nodes, level=Level.CLOUD, topology=rendered("26.05", names, COUNTS, (base,)))
    assert base == 13
    assert refused(lab, range(1, 45)) == []
    lab.write_topology(rendered("26.05", names, COUNTS, (base + 1,)))
    assert lab.reconfigure().accepted
    assert refused(lab, range(1, 45)) == [40, 41, 42]
    lab.write_topology(rendered("26.05", names, COUNTS, (17,)))
    assert lab.reconfigure().accepted
    assert refused(lab, range(1, 45)) == [40, 41, 42, 43, 44]


NODE_LIST = re.compile(r" on nodes (\S+)")


def spanned(lab: Lab, job: int, counts: tuple[int, ...]) -> int:
    """How many blocks a job would take, one that can start now; 0 for one that can't."""
    told = lab.run("sbatch", "--test-only", "--exclusive", "--wrap", "true", f"-N{job}")
    match = NODE_LIST.search(told.stderr)
    if match is None:
        return 0
    block_of = [number for number, count in enumerate(counts) for _ in range(count)]
    names = [node.name for node in lab.nodes]
    return len({block_of[names.index(node)] for node in expand(match[1])})


def test_jobs_above_a_low_base_are_split_only_where_no_block_has_room(make_lab: Callable[..., Lab]) -> None:
    """What TOPO056 says of 26.05. First on the empty cluster, then with the last nodes of the large blocks away."""
    nodes = make_nodes(36)
    names = [node.name for node in nodes]
    lab = make_lab("26.05", nodes=nodes, level=Level.CLOUD, topology=rendered("26.05", names, (36,), (36,)))
    for base, counts in ((9, (17, 5, 5, 1)), (17, (18, 18)), (3, (5, 12, 7)), (4, (6, 6, 6, 6))):
        lab.write_topology(rendered("26.05", names, counts, (base,)))
        assert lab.reconfigure().accepted
        jobs = range(base + 1, max(counts) + 1)
        assert [spanned(lab, job, counts) for job in jobs] == [1] * len(jobs), (base, counts)
        ends = [sum(counts[: number + 1]) for number in range(len(counts))]
        away = [names[end - 1] for end, count in zip(ends, counts, strict=True) if count > base]
        away += names[sum(counts) :]
        lab.scontrol("update", f"NodeName={fold(away)}", "State=DRAIN", "Reason=test")
        assert spanned(lab, max(counts), counts) > 1, (base, counts)
        below = range(base + 1, max(counts))
        assert [spanned(lab, job, counts) for job in below] == [1] * len(below), (base, counts)
        lab.scontrol("update", f"NodeName={fold(away)}", "State=RESUME")


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_a_second_level_refuses_large_jobs(make_lab: Callable[..., Lab], version: str) -> None:
    """Why the core writes one level only: with five blocks of four, 4 takes all jobs, 4,8,16 none above 16 nodes."""
    nodes, counts = make_nodes(20), (4,) * 5
    names = [node.name for node in nodes]
    lab = make_lab(version, nodes=nodes, level=Level.CLOUD, topology=rendered(version, names, counts, (4,)))
    assert refused(lab, range(1, 21)) == []
    lab.write_topology(rendered(version, names, counts, (4, 8, 16)))
    assert lab.reconfigure().accepted
    assert (
        refused(lab, range(1, 21)) == list(range(largest_fit(Blocks((4, 8, 16)), counts) + 1, 21)) == [17, 18, 19, 20]
    )
