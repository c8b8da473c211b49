"""Joining the sources: which group is what, and which partitions there are."""

from __future__ import annotations

from typing import Any

import pytest

from slurm_topology.core import read_resource_config, read_ultraservers
from slurm_topology.core.instance_types import InstanceType
from slurm_topology.core.model import (
    Capability,
    Group,
    Inventory,
    NodeRole,
    Partition,
    Severity,
)
from slurm_topology.core.read_scontrol import SlurmNode

from .clusters import GB200, P5, p5
from .sources import build, config, instance

# ---- groups


def roles_of(**sources: Any) -> dict[str, NodeRole]:
    return {group.name: group.role for group in build(**sources)[0].groups}


def three_groups(first: str, second: str, third: str) -> read_resource_config.ResourceConfig:
    entries = [(first, "ml.m5.xlarge", 1), (second, "ml.m5.xlarge", 2), (third, P5, 3)]
    groups = [{"Name": name, "InstanceType": kind, "Instances": [instance(number)]} for name, kind, number in entries]
    return read_resource_config.read({"InstanceGroups": groups, "SlurmConfig": {"PrimaryControllerIp": "10.1.0.9"}})


@pytest.mark.parametrize(
    ("controller", "login", "compute"),
    [
        ("controller", "login", "train"),
        ("controller-machine", "my-login-group", "worker-group-1"),
        ("slurm-controller", "login-nodes", "headroom"),
        ("head-node", "cluster-login", "p5"),
        ("slurmctld", "LOGIN", "loginfinity"),
    ],
)
def test_roles_by_name(controller: str, login: str, compute: str) -> None:
    assert roles_of(resource_config=three_groups(controller, login, compute)) == {
        controller: NodeRole.CONTROLLER,
        login: NodeRole.LOGIN,
        compute: NodeRole.COMPUTE,
    }


def test_partitions_tell_the_roles() -> None:
    config_ = three_groups("alpha", "beta", "controller")
    roles = roles_of(resource_config=config_, partitions=[Partition("p", ("controller", "beta"))])
    assert roles == {"alpha": NodeRole.CONTROLLER, "beta": NodeRole.COMPUTE, "controller": NodeRole.COMPUTE}


def test_the_controllers_address_tells_the_role() -> None:
    groups = [
        {"Name": "alpha", "InstanceType": "ml.m5.xlarge", "Instances": [instance(9)]},
        {"Name": "b", "InstanceType": P5},
    ]
    document = {"InstanceGroups": groups, "SlurmConfig": {"PrimaryControllerIp": "10.1.0.9"}}
    assert roles_of(resource_config=read_resource_config.read(document))["alpha"] is NodeRole.CONTROLLER


def test_slurm_tells_the_roles() -> None:
    """A controller runs no slurmd; a group that has nodes in Slurm is none, whatever its name."""
    roles = roles_of(
        resource_config=three_groups("alpha", "login", "controller"),
        slurm_nodes=[SlurmNode("ip-10-1-0-2"), SlurmNode("ip-10-1-0-3")],
    )
    assert roles == {"alpha": NodeRole.CONTROLLER, "login": NodeRole.LOGIN, "controller": NodeRole.COMPUTE}


def test_a_group_with_nodes_is_no_controller_whatever_the_partitions_of_an_older_plan_say() -> None:
    """A group that was added after the plan was made: no partition of the plan names it."""
    roles = roles_of(
        resource_config=three_groups("controller", "cpu", "train"),
        slurm_nodes=[SlurmNode("ip-10-1-0-2"), SlurmNode("ip-10-1-0-3")],
        groups=[Group("controller", "ml.m5.xlarge", NodeRole.CONTROLLER), p5()],
        partitions=[Partition("dev", ("train",), nodes=("ip-10-1-0-2", "ip-10-1-0-3"))],
    )
    assert roles == {"controller": NodeRole.CONTROLLER, "cpu": NodeRole.COMPUTE, "train": NodeRole.COMPUTE}


def test_the_plans_groups_know_better() -> None:
    given = [Group("controller", P5, NodeRole.COMPUTE, Capability.TREE, count=5)]
    inventory, _ = build(resource_config=three_groups("controller", "login", "train"), groups=given)
    assert inventory.groups[0] == given[0]


def test_an_unknown_type_is_a_finding_and_has_no_network() -> None:
    inventory, findings = build(resource_config=config(new=("ml.x99.48xlarge", [instance(4)])))
    assert inventory.groups[1].capability is Capability.NONE
    assert [(finding.id, finding.severity) for finding in findings] == [("TOPO104", Severity.WARNING)]
    assert "'ml.x99.48xlarge'" in findings[0].message


def test_ec2_facts_make_an_unknown_type_known() -> None:
    facts = {"ml.x99.48xlarge": InstanceType("ml.x99.48xlarge", Capability.TREE)}
    inventory, findings = build(resource_config=config(new=("ml.x99.48xlarge", [instance(4)])), ec2_types=facts)
    assert (inventory.groups[1].capability, findings) == (Capability.TREE, ())
    given = [Group("new", "ml.x99.48xlarge")]
    assert build(groups=given, ec2_types=facts)[0].groups[0].capability is Capability.TREE


def test_the_controllers_type_does_not_matter() -> None:
    document = {
        "InstanceGroups": [{"Name": "controller", "InstanceType": "ml.x99.large"}, {"Name": "t", "InstanceType": P5}]
    }
    assert build(resource_config=read_resource_config.read(document))[1] == ()


def test_ultraserver_size_and_spares_come_from_the_training_plan() -> None:
    entry = {"UltraServerType": "ml.u-p6e-gb200x72", "AvailabilityZone": "us-west-2a", "TotalInstanceCount": 18}
    facts = read_ultraservers.read(
        {
            "UltraServers": [
                {**entry, "UltraServerId": "us-1", "ConfiguredSpareInstanceCount": 1},
                {**entry, "UltraServerId": "us-2", "ConfiguredSpareInstanceCount": 2},
                {**entry, "UltraServerId": "us-3", "TotalInstanceCount": 9},
            ]
        }
    )
    groups = {
        "a": [instance(1, ultraserver="us-1")],
        "b": [instance(2, ultraserver="us-1"), instance(3, ultraserver="us-2")],
    }
    inventory, _ = build(
        resource_config=config(a=(GB200, groups["a"]), b=(GB200, groups["b"]), t=(P5, [instance(4)])),
        ultraservers=facts,
    )
    sizes = {group.name: (group.ultraserver_instances, group.spare_instances) for group in inventory.groups}
    assert sizes == {"a": (18, 1), "b": (18, 2), "controller": (None, 0), "t": (None, 0)}
    assert inventory.ultraservers == facts.ultraservers


# ---- partitions


def test_partitions_with_nodes_get_their_groups() -> None:
    inventory, _ = build(
        resource_config=config(a=(P5, [instance(1)]), b=(P5, [instance(2)])),
        slurm_nodes=[SlurmNode("ip-10-1-0-1"), SlurmNode("ip-10-1-0-2"), SlurmNode("x")],
        partitions=[
            Partition("two", nodes=("ip-10-1-0-2", "x")),
            Partition("dev", nodes=("ip-10-1-0-1", "ip-10-1-0-2", "x")),
        ],
    )
    assert [(each.name, each.groups) for each in inventory.partitions] == [("dev", ("a", "b")), ("two", ("b",))]
    assert {group.name: group.partitions for group in inventory.groups} == {
        "a": ("dev",),
        "b": ("dev", "two"),
        "controller": (),
    }


def test_a_partition_has_the_groups_that_it_names_and_those_of_its_nodes() -> None:
    """The plan names groups whose nodes aren't there yet; Slurm has nodes of groups that the plan doesn't know yet."""
    inventory, _ = build(
        resource_config=config(a=(P5, [instance(1)]), b=(P5, [instance(2)]), c=(P5, None)),
        slurm_nodes=[SlurmNode("ip-10-1-0-1"), SlurmNode("ip-10-1-0-2")],
        partitions=[Partition("dev", ("c", "a"), nodes=("ip-10-1-0-1", "ip-10-1-0-2"))],
    )
    assert inventory.partitions[0].groups == ("a", "b", "c")


def test_a_partition_of_a_group_that_does_not_exist_is_an_error() -> None:
    _, findings = build(groups=[p5()], partitions=[Partition("x", ("train", "trian"))])
    assert [(finding.id, finding.severity, finding.subject) for finding in findings] == [
        ("TOPO112", Severity.ERROR, "x")
    ]


def test_no_sources_no_nodes() -> None:
    assert build() == (Inventory(), ())
