"""What the core renders, a real slurmctld takes without a warning and gives back."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings

from slurm_lab import Judge, Partition
from slurm_topology.core import render_conf, render_yaml
from slurm_topology.core.check import check_text
from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree
from slurm_topology.core.slurm_version import SlurmVersion
from topology_strategies import conf_topologies

from .shown import shown

pytestmark = pytest.mark.slurm

SLURM = settings(
    max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def numbered(stem: str, count: int, first: int = 1) -> tuple[str, ...]:
    return tuple(f"{stem}{number}" for number in range(first, first + count))


def three_levels(leaves: int, leaf: int, width: int) -> Tree:
    """``leaves`` leaf switches of ``leaf`` nodes, a spine for every ``width`` of them, one core."""
    below = [Switch(f"nn-{n:017x}x", (), numbered(f"ip-10-0-{n}-", leaf)) for n in range(leaves)]
    spines = [Switch(f"spine-{n}x", tuple(each.name for each in below[n : n + width])) for n in range(0, leaves, width)]
    return Tree((*below, *spines, Switch("core", tuple(spine.name for spine in spines))))


TREES = {
    "one leaf": Tree((Switch("leaf", (), numbered("n", 8)),)),
    "root first, one child": Tree((Switch("root", ("leaf",)), Switch("leaf", (), numbered("n0", 3)))),
    "names at the limits": Tree(
        (
            Switch("s" * 64, (), ("n1", "n01", "n001", "p-9-x", "é", "m18446744073709551614")),
            Switch("a.b/c-d_e@f=g", (), ("x1y", "x1y2", "007")),
            Switch("s18446744073709551614", ("s" * 64, "a.b/c-d_e@f=g")),
        )
    ),
    "two roots": Tree((Switch("a", (), numbered("a", 4)), Switch("b", (), numbered("b", 4)))),
    "three levels, 1,024 nodes": three_levels(64, 16, 8),
}
BLOCKS = {
    "two sizes": Blocks((4, 8), (Block("b2", numbered("n", 4)), Block("b1", numbered("n", 4, first=5)))),
    "larger than base, 16 levels": Blocks(tuple(2 << k for k in range(16)), (Block("b", numbered("n", 7)),)),
    "UltraServers with a spare": Blocks((17, 34), tuple(Block(f"us-{n}", numbered(f"u{n}-", 17)) for n in range(4))),
}
SHORT_BLOCKS = {
    "short and empty": Blocks((4,), (Block("b1", numbered("n", 4)), Block("b2", ("n9",)), Block("b3", ()))),
}
CONF = TREES | BLOCKS
YAML = TREES | BLOCKS | SHORT_BLOCKS


def as_conf(body: Tree | Blocks) -> ClusterTopology:
    return ClusterTopology((NamedTopology("", body, cluster_default=True),))


def as_yaml(body: Tree | Blocks) -> ClusterTopology:
    """Beside another topology that is not the default."""
    return ClusterTopology((NamedTopology("other", Flat()), NamedTopology("default", body, cluster_default=True)))


def nodes_of(topology: ClusterTopology) -> list[str]:
    nodes: set[str] = set()
    for entry in topology.topologies:
        if isinstance(entry.body, Tree):
            nodes.update(node for switch in entry.body.switches for node in switch.nodes)
        elif isinstance(entry.body, Blocks):
            nodes.update(node for block in entry.body.blocks for node in block.nodes)
    return sorted(nodes)


def normal(body: Tree | Blocks | Flat) -> Tree | Blocks | Flat:
    """As ``shown`` gives it: nodes in order, of the block sizes the base only."""
    if isinstance(body, Tree):
        return Tree(tuple(switch._replace(nodes=tuple(sorted(switch.nodes))) for switch in body.switches))
    if isinstance(body, Blocks):
        blocks = tuple(block._replace(nodes=tuple(sorted(block.nodes))) for block in body.blocks)
        return dataclasses.replace(body, block_sizes=body.block_sizes[:1], blocks=blocks)
    return body


def assert_taken(judge: Judge, text: str, file_name: str, topology: ClusterTopology) -> None:
    """Started, said nothing against it, and shows it as it was meant."""
    default = next(entry for entry in topology.topologies if entry.cluster_default)
    verdict = judge.judge(text, file_name, nodes_of(topology), show=True)
    assert verdict.accepted, verdict.reasons
    complaints = [note for note in verdict.notes if "opolog" in note or "switch" in note or "lock" in note]
    assert [note for note in complaints if "no switch can reach all nodes" not in note] == []
    assert shown(verdict.topology_shown) == normal(default.body)


@pytest.mark.parametrize("body", CONF.values(), ids=CONF)
def test_topology_conf_is_taken_and_given_back(judge: Judge, body: Tree | Blocks) -> None:
    """By 24.11, and by 26.05, which reads topology.conf too."""
    topology = as_conf(body)
    assert_taken(judge, render_conf.render(topology), "topology.conf", topology)


@pytest.mark.parametrize("body", YAML.values(), ids=YAML)
def test_topology_yaml_is_taken_and_given_back(judge_26_05: Judge, body: Tree | Blocks) -> None:
    topology = as_yaml(body)
    assert_taken(judge_26_05, render_yaml.render(topology), "topology.yaml", topology)


def test_every_partition_finds_its_topology(judge_26_05: Judge) -> None:
    """A tree, blocks and flat in one file, each used by a partition."""
    tree, blocks = TREES["one leaf"], BLOCKS["UltraServers with a spare"]
    everything = Tree((*tree.switches, Switch("us", (), tuple(nodes_of(as_conf(blocks)))), Switch("r", ("leaf", "us"))))
    topology = ClusterTopology(
        (NamedTopology("default", everything, True), NamedTopology("us", blocks), NamedTopology("cpu", Flat()))
    )
    partitions = [Partition(f"p-{name}", topology=name, default=name == "cpu") for name in ("default", "us", "cpu")]
    verdict = judge_26_05.judge(render_yaml.render(topology), "topology.yaml", nodes_of(topology), partitions)
    assert verdict.accepted, verdict.reasons


def test_flat_alone_is_taken(judge_26_05: Judge) -> None:
    topology = ClusterTopology((NamedTopology("default", Flat(), True),))
    assert judge_26_05.judge(render_yaml.render(topology), "topology.yaml", ["n1"]).accepted


@SLURM
@given(topology=conf_topologies())
def test_what_the_checker_finds_clean_slurmctld_takes(judge: Judge, topology: ClusterTopology) -> None:
    """Random trees and blocks, short blocks among them: the checker's answer is slurmctld's."""
    text = render_conf.render(topology)
    version = SlurmVersion.parse(judge.root.exact_version)
    errors = [
        each for each in check_text(text, "topology.conf", version, nodes_of(topology)) if each.severity == "error"
    ]
    assert judge.judge(text, "topology.conf", nodes_of(topology)).accepted == (not errors), errors
