"""Every expected file of tests/cases/hyperpod and tests/cases/clusters before a real slurmctld of its family."""

from __future__ import annotations

import pytest

from cluster_cases import CASES, Case
from slurm_lab import Judge, Partition
from slurm_topology.core.check import parse_file
from slurm_topology.core.model import ClusterTopology, Flat, Tree

from .shown import shown

pytestmark = pytest.mark.slurm


def units(topology: ClusterTopology) -> dict[str, set[str]]:
    """Topology → its nodes; flat ones have none."""
    nodes: dict[str, set[str]] = {}
    for entry in topology.topologies:
        body = entry.body
        if not isinstance(body, Flat):
            placed = body.switches if isinstance(body, Tree) else body.blocks
            nodes[entry.name] = {node for unit in placed for node in unit.nodes}
    return nodes


def assert_taken(judge: Judge, text: str, file_name: str) -> None:
    """slurmctld starts with it, also with a partition in each topology, and shows every node of the default."""
    topology = parse_file(text, file_name).topology
    nodes = units(topology)
    everybody = sorted(set().union(*nodes.values())) or ["node-1"]
    partitions = [Partition("all", default=True)]
    if file_name == "topology.yaml":
        partitions += [Partition(f"in-{entry.name}", topology=entry.name) for entry in topology.topologies]
    verdict = judge.judge(text, file_name, everybody, partitions, show=True)
    assert verdict.accepted, verdict.reasons
    default = next(entry for entry in topology.topologies if entry.cluster_default)
    if not isinstance(default.body, Flat):
        body = shown(verdict.topology_shown)
        assert {
            node for unit in (body.switches if isinstance(body, Tree) else body.blocks) for node in unit.nodes
        } == nodes[default.name]
        assert set(everybody) == nodes[default.name], "the default holds every node"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_slurmctld_24_11_takes_the_conf(judge_24_11: Judge, case: Case) -> None:
    for name, text in case.expected("24.11").items():
        assert_taken(judge_24_11, text, name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_slurmctld_26_05_takes_the_yaml(judge_26_05: Judge, case: Case) -> None:
    """26.05 stands for 25.11, which no package has."""
    (expected,) = case.expected("25.11").items()
    assert_taken(judge_26_05, expected[1], expected[0])
