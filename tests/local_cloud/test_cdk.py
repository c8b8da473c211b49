"""The real CDK CLI against the loopback cloud: one life of a stack, told in order."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud import CdkError, CdkResult, LocalCloud

pytestmark = pytest.mark.deploy
APP = f"{sys.executable} tests/local_cloud/fixture_app/app.py"


class Stack:
    """The fixture app on a cloud of its own."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud = cloud
        self.arn = ""

    def deploy(self, **context: object) -> CdkResult:
        settings = [word for name, value in context.items() for word in ("-c", f"{name}={value}")]
        result = self.cloud.cdk("deploy", "--all", *settings, app=APP)
        self.arn = result.outputs["Fixture"]["ClusterArn"]
        return result

    def refused(self, **context: object) -> str:
        """The message of a deployment that fails, its line breaks taken out."""
        with pytest.raises(CdkError) as caught:
            self.deploy(**context)
        return re.sub(r"\s+", " ", str(caught.value))

    def nodes(self) -> dict[str, str]:
        """Address and instance of each P5 node."""
        instances = self.cloud.resource_config(self.arn)["InstanceGroups"][1]["Instances"]
        return {instance["CustomerIpAddress"]: instance["InstanceId"] for instance in instances}

    def status(self) -> str:
        answer = self.cloud.client("cloudformation").describe_stacks(StackName="Fixture")
        return str(answer["Stacks"][0]["StackStatus"])


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with LocalCloud(logs=tmp_path_factory.mktemp("logs")) as cloud:
        cloud.cdk("bootstrap")
        yield Stack(cloud)


def test_deploy(stack: Stack) -> None:
    outputs = stack.deploy().outputs["Fixture"]
    assert outputs["ClusterStatus"] == "InService"
    assert len(stack.nodes()) == 4


def test_scale_and_replace(stack: Stack) -> None:
    before = stack.nodes()
    stack.deploy(count=6)
    after = stack.nodes()
    assert len(after) == 6
    assert before.items() <= after.items(), "the first four are the same instances"
    victim = next(iter(after.values()))
    stack.cloud.client("sagemaker").batch_replace_cluster_nodes(ClusterName=stack.arn, NodeIds=[victim])
    assert stack.nodes().keys() == after.keys()
    assert victim not in stack.nodes().values()


def test_what_hyperpod_refuses_is_rolled_back(stack: Stack) -> None:
    nodes = stack.nodes()
    assert "cannot be changed from Compute to Controller" in stack.refused(count=6, role="Controller")
    assert stack.status() == "UPDATE_ROLLBACK_COMPLETE"
    assert stack.nodes() == nodes


def test_what_fails_later_is_rolled_back(stack: Stack) -> None:
    nodes = stack.nodes()
    stack.cloud.inject_fault("UpdateCluster", "Insufficient capacity for ml.p5.48xlarge")
    assert "Insufficient capacity for ml.p5.48xlarge" in stack.refused(count=8)
    assert stack.status() == "UPDATE_ROLLBACK_COMPLETE"
    assert stack.nodes() == nodes


def test_another_name_is_another_cluster(stack: Stack) -> None:
    old = stack.arn
    stack.deploy(count=2, name="renamed")
    assert stack.arn != old
    clusters = stack.cloud.client("sagemaker").list_clusters()["ClusterSummaries"]
    assert [cluster["ClusterName"] for cluster in clusters] == ["renamed"]


def test_destroy_leaves_nothing(stack: Stack) -> None:
    stack.cloud.cdk("destroy", "--all")
    assert stack.cloud.client("sagemaker").list_clusters()["ClusterSummaries"] == []
    ec2 = stack.cloud.client("ec2")
    assert [vpc for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]] == []
    assert ec2.describe_addresses()["Addresses"] == []
    assert [n for n in ec2.describe_nat_gateways()["NatGateways"] if n["State"] != "deleted"] == []


def test_logs_are_kept(stack: Stack) -> None:
    names = sorted(path.name for path in Path(stack.cloud.logs).glob("*.log"))
    assert names[:2] == ["01-cdk-bootstrap.log", "02-cdk-deploy.log"]
