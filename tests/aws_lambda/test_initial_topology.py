"""Custom::HyperPodSlurmInitialTopology: what the nodes begin with, and what it costs to find out."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from aws_lambda.cluster_fake import ClusterFake, FakeNode, nodes
from aws_lambda.lab import BUCKET, PREFIX, Lab, group, lab_with
from aws_lambda.service_fake import Refusal, patience
from slurm_topology.aws_lambda.log import Log
from slurm_topology.aws_lambda.node_details import learn
from slurm_topology.aws_lambda.work import Work
from slurm_topology.core import check, parse_yaml, read_cluster_nodes
from slurm_topology.core.model import Blocks, Flat, Tree
from slurm_topology.core.slurm_version import SlurmVersion

GB200 = "ml.p6e-gb200.36xlarge"
OTHER = "hyperpod-slurm/c8/4567"
POINTER = "hyperpod-slurm/c8/current.json"


def ultraservers(*sizes: int, **changes: Any) -> list[FakeNode]:
    """Nodes of UltraServers us-0, us-1, …, so many in each."""
    found: list[FakeNode] = []
    for number, size in enumerate(sizes):
        found += nodes(size, len(found), group="nvl", instance_type=GB200, ultraserver=f"us-{number}", **changes)
    return found


class Clock:
    """Time that passes with each DescribeClusterNode call alone."""

    def __init__(self, seconds_a_call: float, limit: float = 900.0) -> None:
        self.now, self._seconds_a_call, self._limit = 0.0, seconds_a_call, limit

    def remaining(self) -> float:
        return self._limit - self.now

    def client(self, cluster: ClusterFake) -> Any:
        def describe_cluster_node(**parameters: Any) -> Any:
            self.now += self._seconds_a_call
            return cluster.client.describe_cluster_node(**parameters)

        return SimpleNamespace(describe_cluster_node=describe_cluster_node)


def cluster_summaries(cluster: ClusterFake) -> dict[str, Any]:
    return {"ClusterNodeSummaries": [node.summary() for node in cluster.nodes]}


def names(found: list[FakeNode]) -> list[str]:
    return sorted(f"ip-{node.address.replace('.', '-')}" for node in found)


def topology(lab: Lab, prefix: str = PREFIX) -> Any:
    """The default topology of the stored document, after the checker has seen it."""
    document = lab.stored("initial_topology.json", prefix)
    known = [node["Name"] for node in document["Nodes"]]
    version = SlurmVersion.parse(document["SlurmVersion"])
    errors = [
        one
        for one in check.check_text(document["Text"], document["FileName"], version, known)
        if one.severity.value == "error"
    ]
    assert errors == []
    return next(one.body for one in parse_yaml.parse(document["Text"]).topology.topologies if one.cluster_default)


def test_a_tree_begins_flat_with_every_node() -> None:
    """The switches are known on the controller only: until then every node and every job size must work."""
    found = nodes(6)
    lab = lab_with(found)
    answer = lab.initial()
    assert answer["Status"] == "SUCCESS"
    assert answer["Data"] == {
        "TopologyS3Uri": f"s3://{BUCKET}/{PREFIX}/initial_topology.json",
        "NodeCount": "6",
        "BlockCount": "0",
        "UnplacedCount": "6",
        "Summary": "6 nodes, tree by default, 0 blocks; the network place of 6 nodes is known on the controller only, "
        "where the agent reads it",
    }
    assert isinstance(topology(lab), Flat)
    assert [node["Name"] for node in lab.stored("initial_topology.json")["Nodes"]] == names(found)


def test_ultraservers_among_others_begin_as_leaves() -> None:
    """Both kinds in one partition: a tree, in which the nodes of unknown place have a leaf of their own."""
    lab = lab_with([*ultraservers(9, 9), *nodes(3, 100)], [group("nvl", GB200, 18), group("gpu", "ml.p5.48xlarge", 3)])
    assert lab.initial()["Data"]["UnplacedCount"] == "3"
    body = topology(lab)
    assert isinstance(body, Tree)
    assert sorted(len(switch.nodes) for switch in body.switches if switch.nodes) == [3, 9, 9]


def test_the_zone_of_each_node_is_learnt() -> None:
    lab = lab_with([*nodes(3, zone=1), *nodes(2, 10, zone=2)])
    lab.initial()
    zones = [node["Zone"] for node in lab.stored("initial_topology.json")["Nodes"]]
    assert sorted(zones) == ["usw2-az1"] * 3 + ["usw2-az2"] * 2


def test_blocks_are_the_ultraservers() -> None:
    found = ultraservers(17, 5)
    lab = lab_with(
        found, [group("nvl", GB200, 22, TrainingPlanArn=ClusterFake().plan_arn)], ultraservers=[("us-0", 18, 1)]
    )
    answer = lab.initial()
    assert answer["Data"]["BlockCount"] == "2"
    assert answer["Data"]["UnplacedCount"] == "0"
    body = topology(lab)
    assert isinstance(body, Blocks)
    assert sorted(len(block.nodes) for block in body.blocks) == [5, 17]
    assert sorted(node for block in body.blocks for node in block.nodes) == names(found)


def test_one_node_of_an_ultraserver_tells_the_zone_of_all() -> None:
    lab = lab_with(ultraservers(17, 17, 4), [group("nvl", GB200, 38)])
    lab.initial()
    assert len(lab.cluster.described()) == 3
    assert {node["Zone"] for node in lab.stored("initial_topology.json")["Nodes"]} == {"usw2-az1"}


def test_only_compute_nodes_that_are_there_are_asked_about() -> None:
    found = nodes(3)
    lab = lab_with([*found, replace(nodes(1, 9)[0], status="ShuttingDown")])
    assert lab.initial()["Data"]["NodeCount"] == "3"
    assert lab.cluster.described() == [node.instance_id for node in found]


@pytest.mark.parametrize("status", ["Running", "Pending", "SystemUpdating", "DeepHealthCheckInProgress", "Failure"])
def test_nodes_of_every_state_are_placed(status: str) -> None:
    """Slurm knows a node that is being repaired, so it must be in the topology."""
    assert lab_with(nodes(2, status=status)).initial()["Data"]["NodeCount"] == "2"


def test_an_old_sdk_leaves_host_names_out_of_the_list() -> None:
    """botocore before 1.42.40: the address comes from DescribeClusterNode, for each node."""
    found = ultraservers(17, 4, listed_host_name=False)
    lab = lab_with(found, [group("nvl", GB200, 21)])
    assert lab.initial()["Data"]["NodeCount"] == "21"
    assert [node["Name"] for node in lab.stored("initial_topology.json")["Nodes"]] == names(found)


def test_replacing_one_node_of_many_costs_one_description() -> None:
    """And as many pages as the cluster has; nothing known is asked again."""
    found = nodes(450)
    lab = lab_with(found)
    lab.initial()
    lab.cluster.fake.calls.clear()
    lab.cluster.nodes[7] = replace(lab.cluster.nodes[7], instance_id="i-new")
    assert lab.initial("Update")["Data"]["NodeCount"] == "450"
    assert lab.cluster.described() == ["i-new"]
    assert lab.cluster.fake.count("ListClusterNodes") == 5
    assert lab.cluster.fake.count("DescribeTrainingPlan") == 0
    stored = lab.stored("initial_topology.json")
    assert "i-new" in {node["InstanceId"] for node in stored["Nodes"]}
    assert len(stored["NodeDetails"]) == 450


def test_what_is_known_follows_to_another_prefix() -> None:
    """Another plan has another prefix; the last deployment's properties say where its document is."""
    lab = lab_with(nodes(5))
    lab.initial()
    lab.plan(LifecyclePrefix="hyperpod-slurm/c8/4567", Mode="observe")
    lab.cluster.fake.calls.clear()
    answer = lab.initial("Update", old={"LifecyclePrefix": PREFIX}, LifecyclePrefix="hyperpod-slurm/c8/4567")
    assert answer["Data"]["TopologyS3Uri"] == f"s3://{BUCKET}/hyperpod-slurm/c8/4567/initial_topology.json"
    assert lab.cluster.described() == []


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"NodeDetails": {"a": 1}}', b'{"NodeDetails": [1, {"InstanceId": 2}]}', b"\xff"]
)
def test_a_broken_document_of_the_last_deployment_is_no_obstacle(content: bytes) -> None:
    lab = lab_with(nodes(3))
    lab.initial()
    lab.s3.objects[BUCKET, f"{PREFIX}/initial_topology.json"] = (content, {})
    lab.cluster.fake.calls.clear()
    assert lab.initial("Update")["Data"]["NodeCount"] == "3"
    assert len(lab.cluster.described()) == 3


def test_the_same_nodes_give_the_same_bytes() -> None:
    """In any order: a repeated request writes nothing."""
    lab = lab_with(nodes(12))
    lab.initial()
    lab.s3.fake.calls.clear()
    lab.cluster.nodes.reverse()
    assert lab.initial()["Status"] == "SUCCESS"
    assert lab.s3.written == []


def test_a_node_without_a_name_is_asked_about_again() -> None:
    """Its address may have come since."""
    lab = lab_with(nodes(2, listed_host_name=False))
    addresses = [node.address for node in lab.cluster.nodes]
    lab.cluster.nodes[1] = replace(lab.cluster.nodes[1], address="")
    assert lab.initial()["Data"]["NodeCount"] == "1"
    lab.cluster.nodes[1] = replace(lab.cluster.nodes[1], address=addresses[1])
    lab.cluster.fake.calls.clear()
    assert lab.initial("Update")["Data"]["NodeCount"] == "2"
    assert lab.cluster.described() == [lab.cluster.nodes[1].instance_id]


def test_a_node_that_goes_while_it_is_asked_about_is_no_finding() -> None:
    lab = lab_with(nodes(3))
    lab.cluster.describe_failures = [Refusal("ResourceNotFound")]
    lab.initial()
    assert "TOPO121" not in [finding["id"] for finding in lab.stored("initial_topology.json")["Findings"]]


def test_zones_are_not_waited_for_longer_than_a_minute() -> None:
    """SageMaker throttles, and a zone isn't worth a longer deployment; a name is."""
    clock = Clock(seconds_a_call=5.0)
    cluster = ClusterFake(nodes=[*nodes(30), *nodes(4, 100, listed_host_name=False)])
    work = Work(Log(stream=io.StringIO()), patience(remaining_seconds=clock.remaining), lambda _: clock.client(cluster))
    details, left_out = learn("c1", read_cluster_nodes.read(cluster_summaries(cluster)).nodes, {}, work)
    assert {node.instance_id for node in cluster.nodes[30:]} <= details.keys()
    assert left_out == 30
    assert 60 <= clock.now <= 120


def test_a_replaced_cluster_has_another_name_and_the_same_resource() -> None:
    lab = lab_with(nodes(3))
    first = lab.initial(ClusterName="c1")
    second = lab.initial("Update", old={"ClusterName": "c0"}, ClusterName="c1")
    assert second["PhysicalResourceId"] == first["PhysicalResourceId"]
    assert second["Status"] == "SUCCESS"


def test_no_time_for_zones_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that works must not be rolled back because SageMaker throttles."""
    lab = lab_with(nodes(5))
    lab.cluster.describe_failures = [Refusal("ThrottlingException", "Rate exceeded")] * 10_000
    lab.context.milliseconds = 400
    answer = lab.initial()
    assert answer["Data"]["NodeCount"] == "5"
    findings = lab.stored("initial_topology.json")["Findings"]
    assert [finding["message"] for finding in findings if finding["id"] == "TOPO121"] == [
        "there was no time to ask SageMaker about the zone of 5 nodes"
    ]


def test_nodes_that_cannot_be_understood_do_not_fail_the_deployment() -> None:
    """Two instances at one address: the agent will see which is which."""
    found = nodes(3)
    lab = lab_with([*found, replace(found[0], instance_id="i-twin")])
    answer = lab.initial()
    assert answer["Status"] == "SUCCESS"
    assert "; 1 errors, the first: " in answer["Data"]["Summary"]
    assert lab.stored("initial_topology.json")["Text"] is None


def test_instances_without_a_name_are_a_finding() -> None:
    lab = lab_with(nodes(3))
    lab.cluster.nodes[1:] = [replace(node, address="", listed_host_name=False) for node in lab.cluster.nodes[1:]]
    assert lab.initial()["Data"]["NodeCount"] == "0"
    ids = [finding["id"] for finding in lab.stored("initial_topology.json")["Findings"]]
    assert "TOPO120" in ids


def test_no_compute_node_at_all() -> None:
    lab = lab_with([], [group("gpu", "ml.p5.48xlarge", 0)])
    assert lab.initial()["Data"]["NodeCount"] == "0"


@pytest.mark.parametrize(
    ("denied", "said"),
    [
        ("ListClusterNodes", "While listing the nodes of cluster c1: sagemaker:ListClusterNodes was denied"),
        (
            "DescribeClusterNode",
            "While asking SageMaker where the nodes of cluster c1 are: sagemaker:DescribeClusterNode was denied",
        ),
    ],
)
def test_a_missing_grant_is_named(denied: str, said: str) -> None:
    lab = lab_with(nodes(3))
    lab.cluster.denied.add(denied)
    answer = lab.initial("Update")
    assert answer["Status"] == "FAILED"
    assert said in answer["Reason"]
    assert f"Allow sagemaker:{denied} to the role" in answer["Reason"]


@pytest.mark.parametrize(
    ("operation", "step"), [("GetObject", "reading the topology plan"), ("PutObject", "writing the initial topology")]
)
def test_a_missing_grant_of_s3_is_named(operation: str, step: str) -> None:
    lab = lab_with(nodes(3))
    lab.s3.denied.add(operation)
    answer = lab.initial()
    assert answer["Reason"].startswith(f"While {step}: s3:{operation} on s3://{BUCKET}/{PREFIX}/")


def test_a_cluster_that_is_gone() -> None:
    lab = lab_with(nodes(1))
    assert "cluster c9 doesn't exist: was it deleted by hand?" in lab.initial(ClusterName="c9")["Reason"]
