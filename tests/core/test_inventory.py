"""Joining the sources: who is which node, where it is, and what happens when sources disagree."""

from __future__ import annotations

import pytest

from slurm_topology.core import read_instance_topology, read_ultraservers
from slurm_topology.core.model import (
    Capability,
    Node,
    Placement,
    Severity,
)
from slurm_topology.core.read_scontrol import SlurmNode

from .clusters import GB200, P5, gb200, ids
from .sources import PATH, build, config, instance, listed, nodes_of

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
