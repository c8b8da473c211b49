"""The model's placements against the real scheduler's: random free nodes on a tree, in blocks, without topology.

``sbatch --test-only`` says where a job would go now; drained nodes stand for busy ones.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

import pytest

from slurm_lab import Lab, Level, make_nodes
from slurm_topology.core import render_conf, render_yaml
from slurm_topology.core.explain import forest_of, score
from slurm_topology.core.hostlist import expand, fold
from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree
from slurm_topology.core.simulate import placer

CASES = 60
NAMES = [node.name for node in make_nodes(24)]


def tree() -> NamedTopology:
    """Leaves of 2 to 6 nodes, spines of 1 to 3 leaves, one root."""
    sizes = [4, 2, 6, 4, 3, 5]
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    leaves = [
        Switch(f"leaf{index}", (), tuple(NAMES[start : start + size]))
        for index, (start, size) in enumerate(zip(starts, sizes, strict=True))
    ]
    spines = [Switch("s0", ("leaf0", "leaf1", "leaf2")), Switch("s1", ("leaf3", "leaf4"))]
    return NamedTopology("default", Tree((*leaves, *spines, Switch("root", ("s0", "s1", "leaf5")))), True)


def block() -> NamedTopology:
    members = [tuple(NAMES[start : start + 4]) for start in range(0, 24, 4)]
    blocks = tuple(Block(f"b{index}", nodes) for index, nodes in enumerate(members))
    return NamedTopology("default", Blocks((4, 8, 16, 32), blocks), True)


def started(make_lab: Callable[..., Lab], version: str, topology: NamedTopology) -> Lab:
    if isinstance(topology.body, Flat):
        return make_lab(version, nodes=make_nodes(24), level=Level.CLOUD)
    render = render_conf.render if version < "25.05" else render_yaml.render
    return make_lab(version, nodes=make_nodes(24), level=Level.CLOUD, topology=render(ClusterTopology((topology,))))


def asked(lab: Lab, free: Sequence[str], count: int) -> tuple[str, ...] | None:
    """The nodes that the real scheduler would take, or None."""
    lab.scontrol("update", f"NodeName={fold(NAMES)}", "State=RESUME", check=False)
    away = [name for name in NAMES if name not in free]
    if away:
        lab.scontrol("update", f"NodeName={fold(away)}", "State=DRAIN", "Reason=busy")
    done = lab.run("sbatch", "--test-only", f"--nodes={count}", "--wrap", "true")
    found = re.search(r" on nodes (\S+) in partition", done.stderr + done.stdout)
    return tuple(expand(found[1])) if found else None


@pytest.mark.slurm
@pytest.mark.parametrize("topology", [tree(), block()], ids=["tree", "block"])
def test_the_model_finds_as_near_a_place_as_slurm(
    slurm_version: str, make_lab: Callable[..., Lab], topology: NamedTopology
) -> None:
    """The worst pair is always as near; Slurm doesn't try everything, so now and then it takes more leaves."""
    dice = random.Random(topology.name)  # noqa: S311 (reproducible cases, not secrecy)
    lab = started(make_lab, slurm_version, topology)
    forest, place = forest_of(topology), placer(topology, NAMES)
    more_leaves = 0
    for _ in range(CASES):
        free = sorted(dice.sample(NAMES, dice.randint(1, 24)))
        count = dice.randint(1, min(12, len(free)))
        mine, slurms = place(free, count), asked(lab, free, count)
        assert (mine is None) is (slurms is None), (free, count)
        if mine and slurms:
            own, real = score(forest, mine), score(forest, slurms)
            assert own.worst_hops == real.worst_hops, (free, count)
            assert len(own.leaves) <= len(real.leaves), (free, count)
            more_leaves += len(own.leaves) < len(real.leaves)
    assert more_leaves <= CASES // 10


@pytest.mark.slurm
def test_without_topology_the_model_takes_the_rows_that_slurm_takes(
    slurm_version: str, make_lab: Callable[..., Lab]
) -> None:
    topology = NamedTopology("default", Flat(), True)
    dice = random.Random(7)  # noqa: S311
    lab = started(make_lab, slurm_version, topology)
    place = placer(topology, NAMES)
    wrong = []
    for _ in range(CASES):
        free = sorted(dice.sample(NAMES, dice.randint(1, 24)), key=NAMES.index)
        count = dice.randint(1, len(free))
        if count == 1 and slurm_version == "24.11":
            continue  # it takes one node from the tightest row, newer ones the first free one
        mine, slurms = place(free, count), asked(lab, free, count)
        if set(mine or ()) != set(slurms or ()):
            wrong.append((free, count, mine, slurms))
    assert wrong == []
