"""Inventory in, checked file out."""

from __future__ import annotations

import pytest

from slurm_topology.core.model import Severity, TopologyKind
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


def test_an_empty_cluster_is_flat() -> None:
    empty = inventory([], [])
    assert "flat" in (compute(empty, V25_11).text or "")
    assert compute(empty, V24_11).text is None
