"""The plan on the controller can be older than the cluster: what the cluster shows counts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent.agent_lab import GB200, P5, Member, resource_config
from slurm_topology.agent.compute import Wanted, compute
from slurm_topology.agent.disk import DiskState
from slurm_topology.agent.observation import Observation, Role, SlurmView
from slurm_topology.agent.slurm_conf import SlurmConf
from slurm_topology.core import plan_document, read_resource_config
from slurm_topology.core.choose import make_plan
from slurm_topology.core.model import Capability, ClusterTopology, Group, NodeRole, Partition, TopologyKind
from slurm_topology.core.read_cluster_nodes import ClusterNodes
from slurm_topology.core.read_scontrol import SlurmNode
from slurm_topology.core.slurm_version import SlurmVersion

VERSION = SlurmVersion(25, 11)
CONTROLLER = Group("controller", "ml.m5.xlarge", NodeRole.CONTROLLER)
TRAIN = Group("train", P5, NodeRole.COMPUTE, Capability.TREE, ("dev",))
CPU = Group("cpu", "ml.c5.xlarge", NodeRole.COMPUTE, Capability.NONE, ("dev",))
NVL = Group("nvl", GB200, NodeRole.COMPUTE, Capability.BLOCK, ("dev",))


def name_of(member: Member) -> str:
    return "ip-" + member.address.replace(".", "-")


def observe(
    members: Sequence[Member],
    types: dict[str, str],
    planned: Sequence[Group] = (),
    cluster_nodes: ClusterNodes | None = None,
) -> Observation:
    """A look at a cluster whose one partition has all nodes, with a plan for the groups ``planned``."""
    nodes = tuple(SlurmNode(name_of(member)) for member in members)
    partitions = (Partition("dev", nodes=tuple(node.name for node in nodes)),)
    named = Partition("dev", tuple(group.name for group in planned if group.partitions))
    text = plan_document.dump(make_plan(planned, [named], VERSION), planned, [named]) if planned else None
    return Observation(
        now=0.0,
        role=Role.ACTIVE,
        active_host="controller-1",
        daemon=None,
        conf=SlurmConf("/opt/slurm/etc/slurm.conf", partitions=partitions),
        disk=DiskState(),
        version=VERSION,
        next_version=VERSION,
        slurmctld="slurmctld",
        slurm=SlurmView(VERSION, "topology/flat", "slurm", None, nodes, partitions, ClusterTopology(), "", ()),
        resource_config=read_resource_config.read(resource_config(members, types)),
        plan=plan_document.load(text) if text else None,
        manager_active=False,
        cluster_nodes=cluster_nodes,
    )


def wanted(
    members: Sequence[Member],
    types: dict[str, str],
    planned: Sequence[Group] = (),
    cluster_nodes: ClusterNodes | None = None,
) -> Wanted:
    found = compute(observe(members, types, planned, cluster_nodes), {}, opt_out=False)
    assert found is not None
    return found


def train(count: int, core: str = "nn-core") -> list[Member]:
    return [Member(f"10.1.0.{n}", f"i-t{n}", (core, "nn-spine", f"nn-leaf{n // 2}")) for n in range(count)]


def cpu(count: int) -> list[Member]:
    return [Member(f"10.2.0.{n}", f"i-c{n}", group="cpu") for n in range(count)]


@pytest.mark.parametrize("planned", [(), (CONTROLLER, TRAIN, CPU), (CONTROLLER, TRAIN)], ids=["none", "new", "old"])
def test_a_group_that_the_plan_lacks_counts_like_any_other(planned: Sequence[Group]) -> None:
    """A CPU group in the partition makes it flat, whether the plan knows the group or not."""
    found = wanted([*train(8), *cpu(2)], {"train": P5, "cpu": "ml.c5.xlarge"}, planned)
    assert found.rendering.plan.default.kind is TopologyKind.FLAT
    assert {choice.kind for choice in found.rendering.plan.partitions} == {TopologyKind.FLAT}


def test_p5_beside_ultraservers_that_the_plan_alone_knows_is_a_tree() -> None:
    nvl = [Member(f"10.3.0.{n}", f"i-n{n}", ("nn-core", "nn-spine", "nn-x"), "us-1", "nvl") for n in range(18)]
    found = wanted([*train(8), *nvl], {"train": P5, "nvl": GB200}, (CONTROLLER, NVL))
    assert found.rendering.plan.default.kind is TopologyKind.TREE


def test_a_group_that_is_gone_does_not_count_any_more() -> None:
    """HyperPod's file lists every group, empty ones too: one that isn't there was deleted."""
    found = wanted(train(8), {"train": P5}, (CONTROLLER, TRAIN, CPU))
    assert found.rendering.plan.default.kind is TopologyKind.TREE
    assert found.missing == 0


def test_a_group_without_instances_still_counts() -> None:
    """Scaled to nothing, it may come back at any time."""
    found = wanted(train(8), {"train": P5, "cpu": "ml.c5.xlarge"}, (CONTROLLER, TRAIN, CPU))
    assert found.rendering.plan.default.kind is TopologyKind.FLAT
