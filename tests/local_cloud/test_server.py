"""The running server: HyperPod over HTTP, EC2's limits, IAM, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud import LocalCloud, LocalCloudError
from local_cloud.environment import ROOT
from local_cloud.fake_world import group

Json = dict[str, Any]
TRUST = {"Version": "2012-10-17", "Statement": []}
LONGEST_SECONDS = 20


def make_role(cloud: LocalCloud, name: str) -> str:
    iam = cloud.client("iam")
    return str(iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"])


def make_cluster(cloud: LocalCloud, name: str, *groups: Json) -> None:
    role = make_role(cloud, f"{name}-node")
    all_groups = [group("controller", "ml.m5.xlarge", 1, "Controller"), *groups]
    request = [{**wanted, "ExecutionRole": role} for wanted in all_groups]
    cloud.client("sagemaker").create_cluster(ClusterName=name, InstanceGroups=request)


@pytest.fixture(scope="module")
def with_cluster(cloud: LocalCloud) -> LocalCloud:
    make_cluster(cloud, "served", group("train", "ml.p5.48xlarge", 6, "Compute"))
    return cloud


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(ClientError) as caught:
        call()
    error = caught.value.response["Error"]
    return f"{error['Code']}: {error['Message']}"


# -- SageMaker ---------------------------------------------------------------------------------------------------------
def test_boto3_reads_a_cluster(with_cluster: LocalCloud) -> None:
    sagemaker = with_cluster.client("sagemaker")
    assert sagemaker.describe_cluster(ClusterName="served")["ClusterStatus"] == "InService"
    pages = sagemaker.get_paginator("list_cluster_nodes").paginate(
        ClusterName="served", PaginationConfig={"PageSize": 3}
    )
    nodes = [node for page in pages for node in page["ClusterNodeSummaries"]]
    assert len(nodes) == 7
    details = sagemaker.describe_cluster_node(ClusterName="served", NodeId=nodes[1]["InstanceId"])["NodeDetails"]
    assert details["Placement"]["AvailabilityZone"] == "us-west-2a"


def test_errors_have_the_service_s_codes(with_cluster: LocalCloud) -> None:
    sagemaker = with_cluster.client("sagemaker")
    assert refusal(lambda: sagemaker.describe_cluster(ClusterName="none")).startswith("ResourceNotFound: ")
    missing = {**group("a", "ml.m5.large", 1), "ExecutionRole": "arn:aws:iam::123456789012:role/none"}
    message = refusal(lambda: sagemaker.create_cluster(ClusterName="new", InstanceGroups=[missing]))
    assert message.endswith("Instance group 'a': The execution role arn:aws:iam::123456789012:role/none doesn't exist.")


def test_lifecycle_scripts_have_to_be_in_the_bucket(with_cluster: LocalCloud) -> None:
    s3, sagemaker = with_cluster.client("s3"), with_cluster.client("sagemaker")
    role = make_role(with_cluster, "scripted")
    scripts = {"SourceS3Uri": "s3://sagemaker-scripts/v1", "OnInitComplete": "on_init_complete.sh"}
    wanted = {**group("c", "ml.m5.large", 1, "Controller"), "ExecutionRole": role, "LifeCycleConfig": scripts}

    def create() -> None:
        sagemaker.create_cluster(ClusterName="scripted", InstanceGroups=[wanted])

    assert "bucket sagemaker-scripts doesn't exist" in refusal(create)
    s3.create_bucket(Bucket="sagemaker-scripts", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    assert "s3://sagemaker-scripts/v1/on_init_complete.sh doesn't exist" in refusal(create)
    s3.put_object(Bucket="sagemaker-scripts", Key="v1/on_init_complete.sh", Body=b"")
    s3.put_object(Bucket="sagemaker-scripts", Key="v1/provisioning_parameters.json", Body=b"{}")
    assert "provisioning_parameters.json cannot be used together with SlurmConfig" in refusal(create)
    s3.delete_object(Bucket="sagemaker-scripts", Key="v1/provisioning_parameters.json")
    create()
    assert sagemaker.describe_cluster(ClusterName="scripted")["ClusterStatus"] == "InService"
    sagemaker.delete_cluster(ClusterName="scripted")


# -- EC2 ---------------------------------------------------------------------------------------------------------------
def test_instance_topology_has_ec2_s_limits(with_cluster: LocalCloud) -> None:
    ec2 = with_cluster.client("ec2")
    described = ec2.describe_instance_topology()["Instances"]
    ids = [instance["InstanceId"] for instance in described]
    assert len(ids) == 7
    assert [len(instance["NetworkNodes"]) for instance in described] == [0, *[3] * 6]
    assert len(ec2.describe_instance_topology(InstanceIds=ids[:2])["Instances"]) == 2
    together = refusal(lambda: ec2.describe_instance_topology(InstanceIds=ids, MaxResults=5))
    assert together.startswith("InvalidParameterCombination")
    assert "at most 100" in refusal(lambda: ec2.describe_instance_topology(InstanceIds=ids * 20))
    unknown = refusal(lambda: ec2.describe_instance_topology(InstanceIds=[*ids, "i-00000000"]))
    assert unknown == "InvalidInstanceID.NotFound: The instance IDs 'i-00000000' do not exist"


def test_instance_topology_comes_in_pages(with_cluster: LocalCloud) -> None:
    ec2 = with_cluster.client("ec2")
    first = ec2.describe_instance_topology(MaxResults=4)
    second = ec2.describe_instance_topology(MaxResults=4, NextToken=first["NextToken"])
    assert (len(first["Instances"]), len(second["Instances"])) == (4, 3)
    assert "NextToken" not in second
    p5 = ec2.describe_instance_topology(Filters=[{"Name": "instance-type", "Values": ["p5.*"]}])
    assert len(p5["Instances"]) == 6


def test_instance_types_tell_their_network(with_cluster: LocalCloud) -> None:
    ec2 = with_cluster.client("ec2")
    types = ec2.describe_instance_types(InstanceTypes=["p5.48xlarge", "trn2.48xlarge", "m5.large"])["InstanceTypes"]
    found = {
        t["InstanceType"]: (t["NetworkInfo"]["MaximumNetworkCards"], t["NetworkInfo"]["EfaSupported"]) for t in types
    }
    assert found == {"p5.48xlarge": (32, True), "trn2.48xlarge": (16, True), "m5.large": (1, False)}
    assert types[0]["GpuInfo"]["Gpus"][0]["Count"] == 8
    assert types[1]["NeuronInfo"]["NeuronDevices"][0]["Count"] == 16
    assert "InvalidInstanceType" in refusal(lambda: ec2.describe_instance_types(InstanceTypes=["ml.p5.48xlarge"]))


# -- the control paths -------------------------------------------------------------------------------------------------
def test_what_no_aws_api_offers(with_cluster: LocalCloud) -> None:
    before = with_cluster.resource_config("served")["InstanceGroups"][1]["Instances"]
    name = "ip-" + before[0]["CustomerIpAddress"].replace(".", "-")
    moved = with_cluster.replace_node("served", name, leaf=3)
    after = with_cluster.resource_config("served")["InstanceGroups"][1]["Instances"][0]
    assert after["InstanceId"] == moved["instance_id"] != before[0]["InstanceId"]
    assert after["InstanceLabel"]["network-node-layer-3"] == moved["network_nodes"][2]
    with_cluster.inject_fault("ListClusters", "Rate exceeded", kind="reject")
    sagemaker = with_cluster.client("sagemaker")
    assert refusal(sagemaker.list_clusters) == "ValidationException: Rate exceeded"
    assert sagemaker.list_clusters()["ClusterSummaries"]


def test_control_mistakes_are_explained(with_cluster: LocalCloud) -> None:
    with pytest.raises(LocalCloudError, match="Cluster with name or ARN none not found"):
        with_cluster.resource_config("none")
    with pytest.raises(LocalCloudError, match="no control GET /_hyperpod/nonsense"):
        with_cluster.control("GET", "nonsense")


# -- IAM ---------------------------------------------------------------------------------------------------------------
def test_iam_is_enforced_for_hyperpod(guarded_cloud: LocalCloud) -> None:
    """A user who may describe one cluster may do just that."""
    make_cluster(guarded_cloud, "guarded")
    make_cluster(guarded_cloud, "other")
    arn = guarded_cloud.client("sagemaker").describe_cluster(ClusterName="guarded")["ClusterArn"]
    allowed = {"Effect": "Allow", "Action": "sagemaker:DescribeCluster", "Resource": arn}
    iam = guarded_cloud.client("iam")
    iam.create_user(UserName="reader")
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    iam.put_user_policy(UserName="reader", PolicyName="p", PolicyDocument=policy)
    key = iam.create_access_key(UserName="reader")["AccessKey"]
    reader = guarded_cloud.client("sagemaker", key=key["AccessKeyId"], secret=key["SecretAccessKey"])
    assert reader.describe_cluster(ClusterName="guarded")["ClusterName"] == "guarded"
    assert refusal(lambda: reader.describe_cluster(ClusterName="other")).startswith("AccessDenied")
    assert refusal(reader.list_clusters).startswith("AccessDenied")


def test_the_instance_role_has_to_read_its_scripts(guarded_cloud: LocalCloud) -> None:
    s3, iam = guarded_cloud.client("s3"), guarded_cloud.client("iam")
    s3.create_bucket(Bucket="sagemaker-guarded", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_object(Bucket="sagemaker-guarded", Key="v1/a.sh", Body=b"")
    role = make_role(guarded_cloud, "blind")
    scripts = {"SourceS3Uri": "s3://sagemaker-guarded/v1", "OnCreate": "a.sh"}
    wanted = {**group("c", "ml.m5.large", 1, "Controller"), "ExecutionRole": role, "LifeCycleConfig": scripts}

    def create() -> None:
        guarded_cloud.client("sagemaker").create_cluster(ClusterName="blind", InstanceGroups=[wanted])

    message = refusal(create)
    assert "is not allowed to s3:ListBucket on arn:aws:s3:::sagemaker-guarded" in message
    assert "is not allowed to s3:GetObject on arn:aws:s3:::sagemaker-guarded/v1/a.sh" in message
    grant = {
        "Effect": "Allow",
        "Action": ["s3:ListBucket", "s3:GetObject"],
        "Resource": "arn:aws:s3:::sagemaker-guarded*",
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [grant]})
    iam.put_role_policy(RoleName="blind", PolicyName="p", PolicyDocument=policy)
    create()
    assert guarded_cloud.client("sagemaker").describe_cluster(ClusterName="blind")["ClusterStatus"] == "InService"


# -- life --------------------------------------------------------------------------------------------------------------
OWNER = """
import sys
from local_cloud import LocalCloud
cloud = LocalCloud()
cloud.start()
print(cloud.pid, flush=True)
sys.stdin.read()
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def becomes_dead(pid: int) -> bool:
    deadline = time.monotonic() + LONGEST_SECONDS
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)


def test_the_cloud_dies_with_its_owner() -> None:
    """Even when the owner has no chance to say goodbye."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    argv = [sys.executable, "-c", OWNER]
    with subprocess.Popen(argv, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert alive(pid)
        owner.kill()
    assert becomes_dead(pid)


def test_it_listens_on_loopback_only(cloud: LocalCloud) -> None:
    lines = [
        line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    listening = [line[1] for line in lines if line[3] == "0A" and int(line[1].split(":")[1], 16) == cloud.port]
    assert listening == [f"0100007F:{cloud.port:04X}"]
