"""The plan on the controller can be older than the cluster: what the cluster shows counts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent.agent_lab import GB200, P5, Member
from agent.looks import wanted
from slurm_topology.core.model import Capability, Group, NodeRole, TopologyKind

CONTROLLER = Group("controller", "ml.m5.xlarge", NodeRole.CONTROLLER)
TRAIN = Group("train", P5, NodeRole.COMPUTE, Capability.TREE, ("dev",))
CPU = Group("cpu", "ml.c5.xlarge", NodeRole.COMPUTE, Capability.NONE, ("dev",))
NVL = Group("nvl", GB200, NodeRole.COMPUTE, Capability.BLOCK, ("dev",))


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
