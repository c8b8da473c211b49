"""Joining the sources: who is which node, where it is, and what happens when sources disagree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from slurm_topology.core import inventory as core_inventory
from slurm_topology.core import read_cluster_nodes, read_instance_topology, read_resource_config, read_ultraservers
from slurm_topology.core.instance_types import InstanceType
from slurm_topology.core.model import (
    Capability,
    Finding,
    Group,
    Inventory,
    Node,
    NodeRole,
    Partition,
    Placement,
    Severity,
)
from slurm_topology.core.read_scontrol import SlurmNode

from .clusters import GB200, P5, gb200, ids, p5

PATH = ("nn-1", "nn-2", "nn-3")


def instance(number: int, path: Sequence[str] = PATH, ultraserver: str | None = None, **members: Any) -> dict[str, Any]:
    label: dict[str, Any] = {f"network-node-layer-{n}": node for n, node in enumerate(path, 1)}
    if ultraserver:
        label["ultraserver-id"] = ultraserver
    known = {"InstanceName": f"train-{number}", "CustomerIpAddress": f"10.1.0.{number}", "InstanceId": f"i-{number}"}
    return {**known, "InstanceLabel": label, **members}


def config(**groups: Any) -> read_resource_config.ResourceConfig:
    """Group name → (type, instances); a controller comes with it."""
    entries = [{"Name": "controller", "InstanceType": "ml.m5.xlarge", "Instances": [instance(250, ())]}]
    entries += [{"Name": name, "InstanceType": kind, "Instances": members} for name, (kind, members) in groups.items()]
    return read_resource_config.read({"InstanceGroups": entries})


def listed(*nodes: dict[str, Any]) -> read_cluster_nodes.ClusterNodes:
    return read_cluster_nodes.read({"ClusterNodeSummaries": list(nodes)})


def build(**sources: Any) -> tuple[Inventory, tuple[Finding, ...]]:
    return core_inventory.build(**sources)


def nodes_of(inventory: Inventory) -> dict[str, tuple[str | None, Placement]]:
    return {node.name: (node.instance_id, node.placement) for node in inventory.nodes}


# ---- nodes


def test_without_slurm_nodes_are_called_after_their_address() -> None:
    inventory, findings = build(resource_config=config(train=(P5, [instance(4), instance(5, ())])))
    assert inventory.nodes == (
        Node("ip-10-1-0-4", "i-4", P5, "train", Placement(PATH)),
        Node("ip-10-1-0-5", "i-5", P5, "train", Placement()),
    )
    assert findings == ()


@pytest.mark.parametrize(
    "slurm_node",
    [
        SlurmNode("anything", address="10.1.0.4"),
        SlurmNode("anything", address="127.0.0.1", host_name="ip-10-1-0-4.us-west-2.compute.internal"),
        SlurmNode("ip-10-1-0-4", address="ip-10-1-0-4", host_name="localhost"),
        SlurmNode("train-4", address="train-4", host_name="train-4"),
        SlurmNode("anything", host_name="train-4"),
        SlurmNode("anything", address="10.9.9.9", instance_id="i-4"),
    ],
)
def test_slurm_names_the_nodes_and_they_are_joined(slurm_node: SlurmNode) -> None:
    inventory, findings = build(resource_config=config(train=(P5, [instance(4)])), slurm_nodes=[slurm_node])
    assert nodes_of(inventory) == {slurm_node.name: ("i-4", Placement(PATH))}
    assert findings == ()


def test_slurm_decides_which_nodes_there_are() -> None:
    """A node without an instance is kept and placed later; an instance without a node is left out. Both are said."""
    inventory, findings = build(
        resource_config=config(train=(P5, [instance(4), instance(5)])),
        slurm_nodes=[SlurmNode("ip-10-1-0-4"), SlurmNode("dynamic-1", instance_id="i-99", instance_type="ml.c5.large")],
    )
    assert [(node.name, node.instance_id, node.group) for node in inventory.nodes] == [
        ("dynamic-1", "i-99", None),
        ("ip-10-1-0-4", "i-4", "train"),
    ]
    assert [(finding.id, finding.subject) for finding in findings] == [
        ("TOPO107", "10.1.0.5"),
        ("TOPO108", "dynamic-1"),
    ]


def test_in_a_lab_all_nodes_may_have_one_address() -> None:
    """NodeAddr 127.0.0.1 of every node is nobody's address."""
    slurm_nodes = [SlurmNode(f"ip-10-1-0-{n}", "127.0.0.1", "localhost") for n in (4, 5)]
    inventory, findings = build(resource_config=config(train=(P5, [instance(4), instance(5)])), slurm_nodes=slurm_nodes)
    assert [node.instance_id for node in inventory.nodes] == ["i-4", "i-5"]
    assert findings == ()


def test_two_nodes_with_one_address_are_an_error() -> None:
    _, findings = build(
        resource_config=config(train=(P5, [instance(4)])),
        slurm_nodes=[SlurmNode("a", address="10.1.0.4"), SlurmNode("b", address="10.1.0.4")],
    )
    assert [(finding.id, finding.severity) for finding in findings] == [("TOPO105", Severity.ERROR)]
    assert "a and b are both at address 10.1.0.4" in findings[0].message


def test_an_instance_id_that_slurm_was_told_long_ago_takes_nobodys_instance() -> None:
    """Slurm's InstanceId is the weakest word: an address says otherwise."""
    told = [SlurmNode("a", "10.9.9.9", instance_id="i-4"), SlurmNode("b", "10.1.0.4", instance_id="i-0")]
    inventory, findings = build(resource_config=config(train=(P5, [instance(4)])), slurm_nodes=told)
    assert {node.name: node.group for node in inventory.nodes} == {"a": None, "b": "train"}
    assert ids(findings) == ["TOPO108"]


def test_two_instances_with_one_address_are_an_error() -> None:
    _, findings = build(resource_config=config(train=(P5, [instance(4), instance(5, CustomerIpAddress="10.1.0.4")])))
    assert {(finding.id, finding.severity) for finding in findings} == {("TOPO105", Severity.ERROR)}
    assert "train-4, train-5" in findings[0].message


def test_a_node_name_that_no_file_can_hold_is_an_error() -> None:
    topology = read_instance_topology.read({"Instances": [{"InstanceId": "i-1"}], "Nodes": {"i-1": "a b"}})
    _, findings = build(instance_topology=topology)
    assert [(finding.id, finding.severity) for finding in findings] == [("TOPO106", Severity.ERROR)]


# ---- sources and their precedence


def test_ultraserver_and_zone_come_from_sagemaker() -> None:
    inventory, findings = build(
        resource_config=config(ultra=(GB200, [instance(4)])),
        cluster_nodes=listed(
            {
                "InstanceId": "i-4",
                "InstanceGroupName": "ultra",
                "UltraServerInfo": {"Id": "us-1", "Type": "ml.u-p6e-gb200x36"},
                "Placement": {"AvailabilityZone": "us-west-2a", "AvailabilityZoneId": "usw2-az1"},
            }
        ),
    )
    assert nodes_of(inventory) == {"ip-10-1-0-4": ("i-4", Placement(PATH, "us-1", "usw2-az1"))}
    assert inventory.groups[1] == gb200(count=1, ultraserver_instances=9)
    assert findings == ()


def test_sagemaker_wins_about_the_ultraserver_and_the_disagreement_is_said() -> None:
    inventory, findings = build(
        resource_config=config(ultra=(GB200, [instance(4, ultraserver="us-old")])),
        cluster_nodes=listed({"InstanceId": "i-4", "UltraServerInfo": {"Id": "us-new"}}),
    )
    assert inventory.nodes[0].placement.ultraserver_id == "us-new"
    assert [(finding.id, finding.subject) for finding in findings] == [("TOPO109", "i-4")]
    assert "us-old" in findings[0].message


def test_labels_win_about_the_path_and_the_disagreement_is_said() -> None:
    topology = read_instance_topology.read({"Instances": [{"InstanceId": "i-4", "NetworkNodes": ["x", "y", "z"]}]})
    inventory, findings = build(resource_config=config(train=(P5, [instance(4)])), instance_topology=topology)
    assert inventory.nodes[0].placement.network_nodes == PATH
    assert ids(findings) == ["TOPO109"]


@pytest.mark.parametrize("path", [(), ("nn-1", "nn-2"), ("nn-2", "nn-3")])
def test_a_path_that_only_completes_the_labels_is_taken(path: tuple[str, ...]) -> None:
    """HyperPod's labels stop at layer 3; a four-layer type lacks its leaf there."""
    topology = read_instance_topology.read({"Instances": [{"InstanceId": "i-4", "NetworkNodes": [*PATH, "nn-4"]}]})
    inventory, findings = build(resource_config=config(train=(P5, [instance(4, path)])), instance_topology=topology)
    assert inventory.nodes[0].placement.network_nodes == (*PATH, "nn-4")
    assert findings == ()


def test_a_shorter_answer_is_no_disagreement() -> None:
    topology = read_instance_topology.read({"Instances": [{"InstanceId": "i-4", "NetworkNodes": PATH[:2]}]})
    inventory, findings = build(resource_config=config(train=(P5, [instance(4)])), instance_topology=topology)
    assert inventory.nodes[0].placement.network_nodes == PATH
    assert findings == ()


def test_one_zone_has_one_name() -> None:
    """One source gives the zone's id, another its name: the same zone all the same."""
    ultraservers = read_ultraservers.read(
        {"UltraServers": [{"UltraServerId": "us-1", "AvailabilityZone": "us-west-2a", "TotalInstanceCount": 18}]}
    )
    zone = {"AvailabilityZone": "us-west-2a", "AvailabilityZoneId": "usw2-az1"}
    inventory, _ = build(
        resource_config=config(ultra=(GB200, [instance(4, ultraserver="us-1"), instance(5)])),
        cluster_nodes=listed({"InstanceId": "i-5", "Placement": zone}),
        ultraservers=ultraservers,
    )
    assert {node.placement.zone for node in inventory.nodes} == {"usw2-az1"}


def test_a_stale_copy_is_noticed() -> None:
    """The file on the controller still has the replaced instance; SageMaker has the new one at the same address."""
    inventory, findings = build(
        resource_config=config(train=(P5, [instance(4)])),
        cluster_nodes=listed(
            {"InstanceId": "i-4", "InstanceStatus": {"Status": "ShuttingDown"}, "PrivateDnsHostname": "ip-10-1-0-4"},
            {"InstanceId": "i-9", "InstanceStatus": {"Status": "Running"}, "PrivateDnsHostname": "ip-10-1-0-4"},
        ),
    )
    assert nodes_of(inventory) == {"ip-10-1-0-4": ("i-9", Placement(PATH))}
    assert [(finding.id, finding.subject) for finding in findings] == [("TOPO110", "10.1.0.4")]


@pytest.mark.parametrize("status", ["Running", "Failure", "Pending", "SystemUpdating", "DeepHealthCheckInProgress"])
def test_a_node_is_a_node_whatever_its_health(status: str) -> None:
    node = {"InstanceId": "i-7", "InstanceGroupName": "train", "InstanceType": P5, "PrivatePrimaryIp": "10.1.0.7"}
    inventory, _ = build(cluster_nodes=listed({**node, "InstanceStatus": {"Status": status}}))
    assert nodes_of(inventory) == {"ip-10-1-0-7": ("i-7", Placement())}


@pytest.mark.parametrize("status", ["ShuttingDown", "NotFound"])
def test_an_instance_that_goes_is_no_node(status: str) -> None:
    node = {"InstanceId": "i-7", "InstanceGroupName": "train", "InstanceType": P5, "PrivatePrimaryIp": "10.1.0.7"}
    assert build(cluster_nodes=listed({**node, "InstanceStatus": {"Status": status}}))[0].nodes == ()


def test_self_managed_nodes_come_from_ec2_alone() -> None:
    answer = {
        "Instances": [
            {
                "InstanceId": "i-1",
                "NetworkNodes": ["a", "b"],
                "CapacityBlockId": "cb-1",
                "InstanceType": "p6e-gb200.36xlarge",
            },
            {"InstanceId": "i-2", "NetworkNodes": ["a", "c"]},
            {"InstanceId": "i-3", "NetworkNodes": ["a", "c"]},
        ],
        "Nodes": {"i-1": "n1", "i-2": "n2"},
    }
    inventory, findings = build(instance_topology=read_instance_topology.read(answer))
    assert nodes_of(inventory) == {"n1": ("i-1", Placement(("a", "b"), "cb-1")), "n2": ("i-2", Placement(("a", "c")))}
    assert [(group.name, group.capability) for group in inventory.groups] == [
        ("instances", Capability.TREE),
        (GB200, Capability.BLOCK),
    ]
    assert [(finding.id, finding.subject) for finding in findings] == [("TOPO120", "i-3")]


NO_IPV4 = ["fd00::1", "not an ip", "10.1.2", "10.1.2.256", "10.1.2.3.4", "10.1.02.3", "1\u0660.1.2.3", "null"]


@pytest.mark.parametrize("address", NO_IPV4)
def test_no_instance_is_lost_without_a_word(address: str) -> None:
    """Whatever the address is: there is a node, or a finding names the instance."""
    odd = {**instance(3), "CustomerIpAddress": address}
    answer = config(train=(P5, [instance(1), instance(2), odd]))
    inventory, findings = build(resource_config=answer)
    assert len(inventory.nodes) == 2
    assert [(each.id, each.subject) for each in findings if each.severity is Severity.WARNING] == [
        ("TOPO101" if address == "null" else "TOPO111", odd["InstanceName"])
    ]


def test_an_odd_address_is_as_good_as_any_where_slurm_has_it() -> None:
    odd = {**instance(3), "CustomerIpAddress": "fd00::1"}
    inventory, findings = build(
        resource_config=config(train=(P5, [odd])), slurm_nodes=[SlurmNode("n3", "fd00::1", "n3")]
    )
    assert nodes_of(inventory)["n3"][0] == odd["InstanceId"]
    assert findings == ()


def test_nodes_that_sagemaker_lists_without_an_address_are_told() -> None:
    inventory, findings = build(cluster_nodes=listed(*({"InstanceId": f"i-{n}"} for n in (2, 1))))
    assert inventory.nodes == ()
    assert [(each.id, each.subject) for each in findings] == [("TOPO120", "i-1")]


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
