"""Inventory in, checked file out."""

from __future__ import annotations

import pytest

from slurm_topology.core.check import check_text
from slurm_topology.core.model import Partition, Severity, TopologyKind
from slurm_topology.core.pipeline import compute
from slurm_topology.core.slurm_version import SlurmVersion

from .clusters import V24_11, V25_11, cpu, gb200, ids, inventory, p5, tree_cluster, ultra_cluster

TREE = inventory(tree_cluster("c/l1: a b", "c/l2: d e"), [p5()])
BLOCK = inventory(ultra_cluster(us1=18, us2=18), [gb200(ultraserver_instances=18)])
FLAT = inventory(tree_cluster(": a b"), [cpu()])


@pytest.mark.parametrize("version", ["25.05", "25.11.4", "26.05"])
@pytest.mark.parametrize("cluster", [TREE, BLOCK, FLAT])
def test_from_25_05_on_there_is_always_a_yaml_and_the_plugin_stays_flat(cluster: object, version: str) -> None:
    rendering = compute(cluster, SlurmVersion.parse(version))  # type: ignore[arg-type]
    assert (rendering.file_name, rendering.plugin) == ("topology.yaml", "topology/flat")
    assert rendering.text
    assert not rendering.refused


@pytest.mark.parametrize(
    ("cluster", "plugin"), [(TREE, "topology/tree"), (BLOCK, "topology/block"), (FLAT, "topology/default")]
)
def test_before_there_is_a_conf_and_its_plugin_or_nothing(cluster: object, plugin: str) -> None:
    rendering = compute(cluster, V24_11)  # type: ignore[arg-type]
    assert (rendering.file_name, rendering.plugin) == ("topology.conf", plugin)
    assert (rendering.text is None) == (plugin == "topology/default")
    assert not rendering.refused


def test_errors_forbid_to_write() -> None:
    rendering = compute(BLOCK, V25_11, block_sizes=(18, 19))
    assert rendering.refused
    assert rendering.text is None
    assert "TOPO203" in ids(rendering.findings)


def test_what_the_checker_refuses_is_never_returned() -> None:
    """A node name that Slurm would change can come in through the inventory; the file with it must not come out."""
    nodes = [node._replace(name=f"{node.name}{2**64}") for node in TREE.nodes]
    rendering = compute(inventory(nodes, [p5()]), V25_11)
    assert rendering.text is None
    assert [finding.id for finding in rendering.findings if finding.severity is Severity.ERROR]


def test_wishes_reach_the_plan() -> None:
    rendering = compute(BLOCK, V25_11, wanted=TopologyKind.TREE)
    assert rendering.plan.default.kind is TopologyKind.TREE
    assert compute(BLOCK, V25_11, block_sizes=(18, 36)).plan.block_sizes == (18, 36)


@pytest.mark.parametrize("version", [V24_11, V25_11])
def test_roots_that_are_zones_are_not_to_be_joined(version: SlurmVersion) -> None:
    """TOPO310 tells them; "put a switch above them" (TOPO047) is for roots of other people's files."""
    nodes = tree_cluster("c1/l1: a", "c1/l2: b", zone="z1") + tree_cluster("c2/l3: f", "c2/l4: g", zone="z2")
    rendering = compute(inventory(nodes, [p5()]), version)
    assert ids(rendering.findings) == ["TOPO310"]
    read = check_text(rendering.text or "", rendering.file_name, version)
    assert [(finding.id, "above those whose nodes are in one" in finding.remedy) for finding in read] == [
        ("TOPO047", True)
    ]


def test_wished_levels_that_refuse_large_jobs_are_warned_about() -> None:
    rendering = compute(inventory(ultra_cluster(us1=17, us2=17, us3=17), [gb200()]), V25_11, block_sizes=(17, 34))
    (told,) = (finding for finding in rendering.findings if finding.id == "TOPO058")
    assert "has 51 nodes, but slurmctld refuses jobs of 35 to 51 nodes" in told.message


def test_wished_levels_that_refuse_jobs_of_a_partition_are_warned_about() -> None:
    """The second and the third of four UltraServers make up no pair."""
    nodes = ultra_cluster(us1=17, us2=17, us3=17, us4=17)
    partition = Partition("middle", ("ultra",), tuple(node.name for node in nodes[17:51]))
    rendering = compute(inventory(nodes, [gb200()], [partition]), V25_11, block_sizes=(17, 34))
    (told,) = (finding for finding in rendering.findings if finding.id == "TOPO058")
    assert "partition middle has 34 nodes, but slurmctld refuses jobs of 18 to 34 nodes" in told.message


def test_a_partition_is_judged_by_its_own_topology() -> None:
    """Its line in slurm.conf names it already, so nothing is assigned: the default's size would refuse its jobs."""
    nodes = ultra_cluster(us1=18, us2=18) + ultra_cluster(us8=1, us9=1, group="debug")
    debug = Partition("debug", ("debug",), None, "block-1")
    groups = [gb200(ultraserver_instances=18), gb200("debug", ultraserver_instances=18)]
    rendering = compute(inventory(nodes, groups, [debug]), V25_11)
    assert rendering.topology.partitions == {}
    assert "TOPO058" not in ids(rendering.findings)


def test_an_empty_cluster_is_flat() -> None:
    empty = inventory([], [])
    assert "flat" in (compute(empty, V25_11).text or "")
    assert compute(empty, V24_11).text is None
