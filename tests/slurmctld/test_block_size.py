"""The rule of core/block_size.py before the real scheduler: which block size refuses which job sizes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slurm_lab import Lab, Level, make_nodes
from slurm_topology.core import render_conf, render_yaml
from slurm_topology.core.block_rule import largest_fit
from slurm_topology.core.block_size import feasible_base
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
