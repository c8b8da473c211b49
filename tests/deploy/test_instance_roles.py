"""What nodes may do: the calls that HyperPod and the agent make with a node's role; each grant taken away once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from botocore.exceptions import ClientError

from deploy.training import Training
from local_cloud import ACCOUNT
from slurm_topology import aws
from slurm_topology.core import metric_names
from slurm_topology.core.errors import AwsError

pytestmark = pytest.mark.deploy

Clients = Callable[[str], Any]
ONCE = aws.Patience()


def list_lifecycle_files(training: Training, client: Clients) -> None:
    """HyperPod does it, to copy the prefix."""
    prefix = training.output("LifecycleS3Uri").split("/", 3)[3]
    assert client("s3").list_objects_v2(Bucket=training.bucket, Prefix=prefix)["KeyCount"] > 4


def get_lifecycle_file(training: Training, client: Clients) -> None:
    key = training.output("TopologyPlanS3Uri").split("/", 3)[3]
    assert json.loads(aws.get_object(client("s3"), training.bucket, key, ONCE))["Mode"] == "own"


def ask_for_a_zone(training: Training, client: Clients) -> None:
    groups = training.cloud.resource_config(training.output("Arn"))["InstanceGroups"]
    node = next(one["InstanceId"] for group in groups for one in group["Instances"] or ())
    answers = aws.describe_cluster_nodes(client("sagemaker"), training.output("Arn"), [node], ONCE)
    assert answers[node]["NodeDetails"]["Placement"]["AvailabilityZoneId"]


def ask_for_a_place(training: Training, client: Clients) -> None:
    groups = training.cloud.resource_config(training.output("Arn"))["InstanceGroups"]
    node = next(one["InstanceId"] for group in groups for one in group["Instances"] or ())
    aws.describe_instance_topology(client("ec2"), [node], ONCE)  # HyperPod's instances may be in no account of ours


def report_metrics(training: Training, client: Clients) -> None:
    points = [{"MetricName": "Passes", "Value": 1.0}]
    aws.put_metric_data(client("cloudwatch"), metric_names.NAMESPACE, points, ONCE)


class Grant(NamedTuple):
    """A grant of a role, and the call that needs it."""

    role: str
    sid: str
    action: str
    call: Callable[[Training, Clients], None]

    def __str__(self) -> str:
        return f"{self.role}-{self.action}"


# Not among them: cloudwatch:PutMetricData, because the loopback cloud doesn't know its condition, cloudwatch:namespace.
GRANTS = [
    Grant("ControllerRole", "ListLifecycleFiles", "s3:ListBucket", list_lifecycle_files),
    Grant("ControllerRole", "LifecycleFiles", "s3:GetObject", get_lifecycle_file),
    Grant("ControllerRole", "AgentCluster", "sagemaker:DescribeClusterNode", ask_for_a_zone),
    Grant("ControllerRole", "AgentNetwork", "ec2:DescribeInstanceTopology", ask_for_a_place),
    Grant("ExecutionRole", "ListLifecycleFiles", "s3:ListBucket", list_lifecycle_files),
    Grant("ExecutionRole", "LifecycleFiles", "s3:GetObject", get_lifecycle_file),
]


def role_name(training: Training, role: str) -> str:
    roles = training.cloud.client("iam").list_roles()["Roles"]
    return next(str(one["RoleName"]) for one in roles if one["RoleName"].startswith(f"Training-Cluster{role}"))


def as_role(training: Training, role: str) -> Clients:
    """Makes clients that have the role's credentials, as a process on the node has them."""
    arn = f"arn:aws:iam::{ACCOUNT}:role/{role_name(training, role)}"
    found = training.cloud.client("sts").assume_role(RoleArn=arn, RoleSessionName="node")["Credentials"]
    credentials = {
        "aws_access_key_id": found["AccessKeyId"],
        "aws_secret_access_key": found["SecretAccessKey"],
        "aws_session_token": found["SessionToken"],
    }
    return lambda service: training.cloud.client(service, **credentials)


@contextmanager
def without(training: Training, grant: Grant) -> Iterator[None]:
    """The role without the grant, for a while."""
    iam, role = training.cloud.client("iam"), role_name(training, grant.role)
    name = iam.list_role_policies(RoleName=role)["PolicyNames"][0]
    document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
    rest = [one for one in document["Statement"] if one.get("Sid") != grant.sid]
    assert len(rest) == len(document["Statement"]) - 1
    iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps({**document, "Statement": rest}))
    try:
        yield
    finally:
        iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(document))


@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_a_node_needs_each_grant(training: Training, grant: Grant) -> None:
    client = as_role(training, grant.role)
    grant.call(training, client)
    with without(training, grant), pytest.raises((AwsError, ClientError), match=grant.action):
        grant.call(training, client)
    for other in GRANTS:
        if other.role == grant.role:
            other.call(training, client)


def test_compute_nodes_may_not_report_metrics_nor_read_other_prefixes(training: Training) -> None:
    """Whatever the compute nodes' role may do, every user of the cluster may."""
    client = as_role(training, "ExecutionRole")
    with pytest.raises(AwsError, match="Allow cloudwatch:PutMetricData to the role"):
        report_metrics(training, client)
    with pytest.raises(AwsError, match="Allow s3:GetObject to the role"):
        aws.get_object(client("s3"), training.bucket, "other/topology_plan.json", ONCE)
    with pytest.raises(ClientError, match="AccessDenied"):
        client("s3").list_objects_v2(Bucket=training.bucket)
