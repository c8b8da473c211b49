"""Raw answers of SageMaker and EC2: pages, missing members, every status."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest

from slurm_topology.core import read_cluster_nodes, read_instance_topology, read_ultraservers
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import UltraServer


def summary(instance_id: str, **members: Any) -> dict[str, Any]:
    return {"InstanceGroupName": "ultra", "InstanceId": instance_id, "InstanceType": "ml.p6e-gb200.36xlarge", **members}


def page(*nodes: dict[str, Any], token: str | None = None) -> dict[str, Any]:
    return {"ClusterNodeSummaries": list(nodes), "NextToken": token}


def test_a_node_with_all_members() -> None:
    node = read_cluster_nodes.read(
        {
            "NodeDetails": summary(
                "i-1",
                InstanceStatus={"Status": "Running"},
                PrivatePrimaryIp="10.1.0.4",
                UltraServerInfo={"Id": "us-1", "Type": "ml.u-p6e-gb200x72"},
                Placement={"AvailabilityZone": "us-west-2a", "AvailabilityZoneId": "usw2-az1"},
            )
        }
    ).nodes[0]
    assert node == (
        "i-1",
        "ultra",
        "ml.p6e-gb200.36xlarge",
        "Running",
        "10.1.0.4",
        "us-1",
        "ml.u-p6e-gb200x72",
        "usw2-az1",
        "us-west-2a",
    )


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"InstanceStatus": None, "UltraServerInfo": None, "Placement": None, "PrivateDnsHostname": None},
        {"UltraServerInfo": {}, "Placement": {}, "PrivateDnsHostname": "i-1.us-west-2.compute.internal"},
    ],
)
def test_missing_members_are_unknown(members: dict[str, Any]) -> None:
    node = read_cluster_nodes.read(page(summary("i-1", **members))).nodes[0]
    assert node[3:] == (None,) * 6


@pytest.mark.parametrize("host", ["ip-10-1-0-4", "ip-10-1-0-4.us-west-2.compute.internal"])
def test_the_address_is_in_the_host_name(host: str) -> None:
    assert read_cluster_nodes.read(page(summary("i-1", PrivateDnsHostname=host))).nodes[0].address == "10.1.0.4"


def test_pages_and_descriptions_of_one_node_are_merged() -> None:
    listed = summary("i-1", UltraServerInfo={"Id": "us-1"})
    described = summary("i-1", Placement={"AvailabilityZoneId": "usw2-az1"})
    answers = [page(listed, token="t"), page(summary("i-2")), {"NodeDetails": described}]
    nodes = read_cluster_nodes.read(answers).nodes
    assert [node.instance_id for node in nodes] == ["i-1", "i-2"]
    assert (nodes[0].ultraserver_id, nodes[0].zone_id) == ("us-1", "usw2-az1")


def test_every_status_of_the_api_is_read() -> None:
    """All but two mean that the instance is there, whatever its health."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    statuses = list(model.shape_for("ClusterInstanceStatus").enum)
    nodes = read_cluster_nodes.read(
        page(*(summary(f"i-{each}", InstanceStatus={"Status": each}) for each in statuses))
    ).nodes
    assert [node.status for node in nodes] == statuses
    assert set(statuses) >= read_cluster_nodes.GONE_STATUSES


def test_a_node_that_has_no_instance_yet_is_reported() -> None:
    result = read_cluster_nodes.read(page({"InstanceGroupName": "ultra", "InstanceStatus": {"Status": "Pending"}}))
    assert result.nodes == ()
    assert [finding.id for finding in result.findings] == ["TOPO102"]


@pytest.mark.parametrize("document", [{}, [{"Instances": []}], "text", None, {"ClusterNodeSummaries": 5}])
def test_no_cluster_nodes(document: object) -> None:
    with pytest.raises(InputError, match="ClusterNode"):
        read_cluster_nodes.read(document)


def test_ultraservers() -> None:
    entry = {
        "UltraServerId": "us-2",
        "UltraServerType": "ml.u-p6e-gb200x72",
        "AvailabilityZone": "us-west-2a",
        "TotalInstanceCount": 18,
    }
    pages = [
        {"UltraServers": [{**entry, "ConfiguredSpareInstanceCount": 1}]},
        {"UltraServers": [{**entry, "UltraServerId": "us-1"}, {}]},
    ]
    result = read_ultraservers.read(pages)
    assert result.ultraservers == (
        UltraServer("us-1", "ml.u-p6e-gb200x72", 18, None),
        UltraServer("us-2", "ml.u-p6e-gb200x72", 18, 1),
    )
    assert dict(result.zone_names) == {"us-1": "us-west-2a", "us-2": "us-west-2a"}


def test_no_ultraservers() -> None:
    assert read_ultraservers.read({"UltraServers": None}).ultraservers == ()
    with pytest.raises(InputError, match="UltraServers"):
        read_ultraservers.read({"ClusterNodeSummaries": []})


def test_instance_topology() -> None:
    answers = [
        {
            "Instances": [
                {
                    "InstanceId": "i-1",
                    "InstanceType": "p5.48xlarge",
                    "NetworkNodes": ["a", "b", "c"],
                    "ZoneId": "usw2-az1",
                },
                {"InstanceId": "i-2", "NetworkNodes": None, "CapacityBlockId": None, "AvailabilityZone": "us-west-2a"},
            ],
            "NextToken": "t",
        },
        {
            "Instances": [{"InstanceId": "i-3", "NetworkNodes": ["a"], "CapacityBlockId": "cb-1"}, {}],
            "Nodes": {"i-3": "n3"},
        },
    ]
    result = read_instance_topology.read(answers)
    assert [each[:5] for each in result.instances] == [
        ("i-1", None, "ml.p5.48xlarge", ("a", "b", "c"), None),
        ("i-2", None, None, (), None),
        ("i-3", "n3", None, ("a",), "cb-1"),
    ]
    assert [(each.zone_id, each.zone_name) for each in result.instances[:2]] == [
        ("usw2-az1", None),
        (None, "us-west-2a"),
    ]
    assert [finding.id for finding in result.findings] == ["TOPO103"]


def test_two_instances_with_one_node_name_are_refused() -> None:
    with pytest.raises(InputError, match="'n' to i-1 and to i-2"):
        read_instance_topology.read(
            {"Instances": [{"InstanceId": "i-1"}, {"InstanceId": "i-2"}], "Nodes": {"i-1": "n", "i-2": "n"}}
        )
