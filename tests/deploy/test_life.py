"""The life of a deployment, told in order: made, scaled, a node replaced, failures rolled back, renamed, destroyed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deploy.training import INITIAL, PLAN, STACK, Training
from slurm_topology.core import parse_yaml, plan_document
from slurm_topology.core.model import Blocks

pytestmark = pytest.mark.deploy


SCALED = {"topology_plan.json", "initial_topology.json", "announced.json", "current.json"}  # what a scale writes anew


def source_uris(training: Training) -> set[str]:
    """Where the cluster's groups get their lifecycle files from."""
    return {group["LifeCycleConfig"]["SourceS3Uri"] for group in training.cluster()["InstanceGroups"]}


def touch_initial(template: dict[str, Any]) -> None:
    next(one for one in template["Resources"].values() if one["Type"] == INITIAL)["Properties"]["Fingerprint"] = "again"


def test_made(training: Training) -> None:
    """The cluster's groups point to a prefix that has the bundle and the plan; spares are the training plan's."""
    prefix = training.output("LifecycleS3Uri")
    assert source_uris(training) == {prefix}
    names = {key.rpartition("/")[2] for key in training.objects() if f"s3://{training.bucket}/{key}".startswith(prefix)}
    assert {"agent.zip", "manifest.json", "on_init_complete.sh", "topology_plan.json", "initial_topology.json"} <= names
    plan = plan_document.load(json.dumps(training.document("TopologyPlanS3Uri")))
    sizes = {group.name: (group.ultraserver_instances, group.spare_instances) for group in plan.groups}
    assert sizes == {"controller": (None, 0), "gpu": (None, 0), "nvl": (18, 1)}
    assert {choice.subject: choice.block_sizes for choice in plan.plan.partitions} == {"gpu": (), "nvl": (17,)}


def test_the_initial_topology_has_every_node(training: Training) -> None:
    document = training.document("InitialTopologyS3Uri")
    assert {node["Name"] for node in document["Nodes"]} == training.addresses()
    topologies = parse_yaml.parse(document["Text"]).topology.topologies
    blocks = [len(block.nodes) for one in topologies if isinstance(one.body, Blocks) for block in one.body.blocks]
    assert sorted(blocks) == [3, 17]
    assert {node["Zone"] is not None for node in document["Nodes"]} == {True}


def test_nodes_are_let_out_to_each_other_and_s3_alone(training: Training) -> None:
    """The rule names EC2's own prefix list of the region; nothing else, EC2's default rule included, is open."""
    ec2 = training.cloud.client("ec2")
    (group_id,) = training.cluster()["VpcConfig"]["SecurityGroupIds"]
    (group,) = ec2.describe_security_groups(GroupIds=[group_id])["SecurityGroups"]
    named = [{"Name": "prefix-list-name", "Values": [f"com.amazonaws.{training.cloud.region}.s3"]}]
    (s3,) = ec2.describe_managed_prefix_lists(Filters=named)["PrefixLists"]
    out = group["IpPermissionsEgress"]
    lists = [one["PrefixListId"] for rule in out for one in rule["PrefixListIds"]]
    ranges = [one for rule in out for one in (*rule["IpRanges"], *rule["Ipv6Ranges"])]
    assert lists == [s3["PrefixListId"]]
    assert [one["CidrIp"] for one in ranges] == ["127.0.0.1/32"]
    assert [pair["GroupId"] for rule in out for pair in rule["UserIdGroupPairs"]] == [group_id]


def test_scaled(training: Training) -> None:
    """New nodes come in; only they are asked about. No group's SourceS3Uri changes, only the two documents there do."""
    before, ids, uris = training.objects(), training.physical_ids(), source_uris(training)
    training.deploy(count=7)
    assert source_uris(training) == uris
    assert {node["Name"] for node in training.document("InitialTopologyS3Uri")["Nodes"]} == training.addresses()
    assert len(training.addresses()) == 27
    assert training.last_logged("nodes described")["learnt"] == 3
    after = training.objects()
    assert after.keys() == before.keys()
    assert {key.rpartition("/")[2] for key in after if after[key] != before[key]} == SCALED
    assert training.physical_ids() == ids


def test_a_replaced_node(training: Training) -> None:
    """Same name, another instance: one question."""
    name = sorted(training.addresses())[-1]
    instance = training.cloud.replace_node(training.output("Arn"), name)["instance_id"]
    assert training.update(touch_initial).status == "UPDATE_COMPLETE"
    nodes = {node["Name"]: node["InstanceId"] for node in training.document("InitialTopologyS3Uri")["Nodes"]}
    assert nodes[name] == instance
    assert nodes.keys() == training.addresses()
    assert training.last_logged("nodes described")["learnt"] == 1


def test_a_cluster_update_that_fails(training: Training) -> None:
    """The failed update's plan lies beside the one in force, which comes back with all that points to it."""
    before, uris = training.objects(), source_uris(training)
    training.cloud.inject_fault("UpdateCluster", "Insufficient capacity for ml.p5.48xlarge")
    assert "Insufficient capacity for ml.p5.48xlarge" in training.refused(count=9)
    assert training.status() == "UPDATE_ROLLBACK_COMPLETE"
    assert source_uris(training) == uris
    assert training.objects().items() >= before.items()
    assert len(training.addresses()) == 27


def test_a_plan_that_fails(training: Training) -> None:
    """Nothing is written and the cluster is never touched."""
    before, ids = training.objects(), training.physical_ids()

    def change(template: dict[str, Any]) -> None:
        plan = next(one for one in template["Resources"].values() if one["Type"] == PLAN)["Properties"]
        plan["Topology"] = {"Kind": "block", "BlockSizes": ["17", "40"]}
        plan["LifecyclePrefix"] = plan["LifecyclePrefix"] + "-other"

    update = training.update(change)
    assert update.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "no topology can be planned: TOPO203 block sizes: block sizes 17, 40" in update.failures[0][1]
    assert {key for key in training.objects() if key.endswith("topology_plan.json")} == {
        key for key in before if key.endswith("topology_plan.json")
    }
    assert training.physical_ids() == ids


def test_a_first_deployment_that_fails(training: Training) -> None:
    """CloudFormation deletes what it has made, custom resources that were never there included; nothing gets stuck."""

    def change(template: dict[str, Any]) -> None:
        plan = next(one for one in template["Resources"].values() if one["Type"] == PLAN)["Properties"]
        plan["Topology"] = {"Kind": "block", "BlockSizes": ["17", "40"]}

    creation = training.create("Second", change)
    assert creation.status == "ROLLBACK_COMPLETE"
    assert "TOPO203" in creation.failures[0][1]
    assert len(creation.failures) == 1
    assert len(training.cloud.client("sagemaker").list_clusters()["ClusterSummaries"]) == 1


def test_another_name_is_another_cluster(training: Training) -> None:
    """A replacement: the new cluster is there before the old one goes, and the custom resources keep their ids."""
    old, ids = training.output("Arn"), training.physical_ids()
    training.deploy(count=3, name="renamed")
    assert training.output("Arn") != old
    clusters = training.cloud.client("sagemaker").list_clusters()["ClusterSummaries"]
    assert [cluster["ClusterName"] for cluster in clusters] == ["renamed"]
    document = training.document("InitialTopologyS3Uri")
    assert document["Cluster"] == training.output("Arn")
    assert {node["Name"] for node in document["Nodes"]} == training.addresses()
    assert training.physical_ids() == ids


def test_destroyed(training: Training) -> None:
    """Custom resources never hold a stack up; what nodes read stays in its bucket, as its removal policy says."""
    stored, bucket = training.objects().keys(), training.bucket
    training.cloud.cdk("destroy", "--all")
    stacks = training.cloudformation.list_stacks(
        StackStatusFilter=["CREATE_COMPLETE", "UPDATE_COMPLETE", "DELETE_FAILED"]
    )
    assert STACK not in {one["StackName"] for one in stacks["StackSummaries"]}
    assert training.cloud.client("sagemaker").list_clusters()["ClusterSummaries"] == []
    pages = training.cloud.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket)
    assert {one["Key"] for page in pages for one in page["Contents"]} == set(stored)
