"""What users of aws-cdk expect of any construct: imports, grants, metrics, events, aspects, tags, stages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import botocore.session
import jsii
import pytest
from aws_cdk import (
    App,
    Aspects,
    CfnOutput,
    CfnParameter,
    Environment,
    IAspect,
    PhysicalName,
    RemovalPolicy,
    Stack,
    Stage,
    Tags,
)
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Template
from constructs import IConstruct

import hyperpod_slurm
from cdk.apps import CLUSTER, PLAN, controller, new_cluster, new_stack, p5, properties_of, resources_of, template_of
from hyperpod_slurm import ClusterBase, SlurmCluster, TopologyAlarms, TopologyDashboard
from hyperpod_slurm._rules import is_name
from slurm_topology.core import metric_names

ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/a1b2c3d4e5f6"


def test_public_surface() -> None:
    """All that is exported is there, and each name is listed in order."""
    assert sorted(hyperpod_slurm.__all__) == hyperpod_slurm.__all__
    assert all(getattr(hyperpod_slurm, name).__doc__ for name in hyperpod_slurm.__all__ if name != "Mount")


def test_the_first_child_is_the_resource() -> None:
    assert new_cluster().node.default_child is not None


def actions_of(stack: Stack, role: str) -> set[str]:
    found: set[str] = set()
    for policy in resources_of(stack, "AWS::IAM::Policy").values():
        if role in str(policy["Properties"]["Roles"]):
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
                listed = statement["Action"]
                found |= {listed} if isinstance(listed, str) else set(listed)
    return found


@pytest.mark.parametrize(
    ("grant", "allowed", "not_allowed"),
    [
        ("grant_describe", "sagemaker:ListClusterNodes", "sagemaker:BatchAddClusterNodes"),
        ("grant_manage_nodes", "sagemaker:BatchReplaceClusterNodes", "sagemaker:UpdateClusterSoftware"),
        ("grant_update_software", "sagemaker:UpdateClusterSoftware", "sagemaker:BatchAddClusterNodes"),
    ],
)
def test_grants(grant: str, allowed: str, not_allowed: str) -> None:
    """Others are let in by name of what they want to do, on this cluster alone."""
    stack = new_stack()
    cluster = new_cluster(stack)
    role = iam.Role(stack, "Other", assumed_by=iam.AccountRootPrincipal())
    getattr(cluster, grant)(role)
    assert allowed in actions_of(stack, "Other")
    assert not_allowed not in actions_of(stack, "Other")
    (policy,) = (
        p for p in resources_of(stack, "AWS::IAM::Policy").values() if "Other" in str(p["Properties"]["Roles"])
    )
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Resource"] == stack.resolve(cluster.cluster_arn)


def test_nodes_can_manage_their_own_cluster() -> None:
    """The cluster waits for its roles' policies: one that names the cluster must not be among them."""
    stack = new_stack()
    cluster = new_cluster(stack)
    cluster.grant_manage_nodes(cluster.controller_role)
    cluster.grant_describe(cluster)
    cluster.grant_update_software(cluster)
    (resource,) = resources_of(stack, CLUSTER).values()
    assert not [name for name in resource["DependsOn"] if "OnSelf" in name]
    assert "sagemaker:BatchAddClusterNodes" in actions_of(stack, "ControllerRole")
    assert {"sagemaker:ListClusterEvents", "sagemaker:UpdateClusterSoftware"} <= actions_of(stack, "ExecutionRole")


def test_jobs_can_be_granted_something() -> None:
    """What the cluster is granted goes to the nodes that run jobs, not to the controller."""
    stack = new_stack()
    cluster = new_cluster(stack)
    s3.Bucket(stack, "Data").grant_read(cluster)
    assert "s3:GetObject*" in actions_of(stack, "ExecutionRole")
    assert "s3:GetObject*" not in actions_of(stack, "ControllerRole")


@pytest.mark.parametrize(
    ("method", "metric", "statistic"),
    [
        ("metric_passes", metric_names.PASSES, "Sum"),
        ("metric_changes", metric_names.CHANGES, "Sum"),
        ("metric_failures", metric_names.FAILURES, "Sum"),
        ("metric_yields", metric_names.YIELDS, "Sum"),
        ("metric_unplaced_nodes", metric_names.UNPLACED_NODES, "Maximum"),
        ("metric_seconds_since_match", metric_names.SECONDS_SINCE_MATCH, "Maximum"),
        ("metric_reconfigure_seconds", metric_names.RECONFIGURE_SECONDS, "Maximum"),
    ],
)
def test_metrics_are_those_that_the_agent_reports(method: str, metric: metric_names.Metric, statistic: str) -> None:
    cluster = new_cluster()
    found = getattr(cluster, method)()
    assert (found.namespace, found.metric_name) == (metric_names.NAMESPACE, metric.name)
    assert found.statistic == statistic
    assert found.dimensions == {metric_names.DIMENSION: cluster.cluster_arn}
    assert getattr(cluster, method)(statistic="Average").statistic == "Average"


def test_alarms_and_dashboard() -> None:
    """Each alarm reads a metric of this cluster and tells the topic; silence is an alarm, too."""
    stack = new_stack()
    cluster = new_cluster(stack)
    topic = sns.Topic(stack, "Topic")
    alarms = TopologyAlarms(stack, "Alarms", cluster=cluster, actions=[actions.SnsAction(topic)])
    TopologyDashboard(stack, "Dashboard", cluster=cluster, alarms=alarms)
    found = [alarm["Properties"] for alarm in resources_of(stack, "AWS::CloudWatch::Alarm").values()]
    assert all(alarm["AlarmActions"] == [stack.resolve(topic.topic_arn)] for alarm in found)
    (silence,) = [alarm for alarm in found if alarm["MetricName"] == "Passes"]
    assert (silence["TreatMissingData"], silence["ComparisonOperator"]) == ("breaching", "LessThanThreshold")
    assert all(
        metric.name in str(properties_of(stack, "AWS::CloudWatch::Dashboard")) for metric in metric_names.METRICS
    )


def alarm_in_words(alarm: dict[str, Any]) -> str:
    """As the table of docs/operations.md says it."""
    threshold, minutes = alarm["Threshold"], alarm["Period"] * alarm["EvaluationPeriods"] // 60
    if alarm["ComparisonOperator"] == "LessThanThreshold":
        assert (alarm["Statistic"], threshold) == ("Sum", 1)
        return f"none for {minutes} minutes"
    if alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold":
        assert (alarm["Statistic"], alarm["EvaluationPeriods"]) == ("Sum", 1)
        return "any" if threshold == 1 else f"{threshold} in {minutes} minutes"
    assert (alarm["Statistic"], alarm["ComparisonOperator"]) == ("Maximum", "GreaterThanThreshold")
    return f"above {threshold}" + (f" for {minutes} minutes" if alarm["EvaluationPeriods"] > 1 else "")


def test_alarms_are_those_of_the_operators_page() -> None:
    """docs/operations.md tells when each goes off and what to do then; this is the same."""
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    section = page.split("\n## Metrics and alarms\n", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "| `" in line]
    alarming = [row for row in rows if len(row[2]) > 1]  # else a dash
    told = {row[0].strip("`"): row[2] for row in alarming}
    assert all(len(row[3]) > 1 for row in alarming), "an alarm without a word about what to do"
    stack = new_stack()
    TopologyAlarms(stack, "Alarms", cluster=new_cluster(stack))
    alarms = [alarm["Properties"] for alarm in resources_of(stack, "AWS::CloudWatch::Alarm").values()]
    assert {alarm["MetricName"]: alarm_in_words(alarm) for alarm in alarms} == told


@pytest.mark.parametrize("home", ["us-west-2", None], ids=["made", "imported"])
def test_metrics_are_those_of_the_clusters_region(home: str | None) -> None:
    """A dashboard elsewhere says where they are; an alarm elsewhere could only be silent, or go off for ever."""
    app = App()
    if home:
        cluster: ClusterBase = new_cluster(Stack(app, "Home", env=Environment(account="123456789012", region=home)))
    there = Stack(
        app, "There", env=Environment(account="123456789012", region="us-east-1"), cross_region_references=True
    )
    if not home:
        cluster = SlurmCluster.from_cluster_attributes(there, "Cluster", cluster_arn=ARN)
    metric = cluster.metric_failures()
    assert (metric.region, metric.account) == ("us-west-2", "123456789012")
    assert cluster.metric_failures(region="eu-west-1").region == "eu-west-1"
    TopologyDashboard(there, "Dashboard", cluster=cluster)
    with pytest.raises(RuntimeError, match=r"Cannot create an Alarm in region 'us-east-1'.*in 'us-west-2'"):
        TopologyAlarms(there, "Alarms", cluster=cluster)
    body = str(properties_of(there, "AWS::CloudWatch::Dashboard")["DashboardBody"])
    assert body.count('"region":"us-west-2"') > 5


def test_a_stack_without_a_region_has_metrics_of_its_own() -> None:
    """As those of aws-cdk's own constructs: whoever shows them fills in the place."""
    metric = new_cluster().metric_passes()
    assert (metric.region, metric.account) == (None, None)


def test_names() -> None:
    """The name that was given, or the ARN, which SageMaker takes for a name; CDK may choose one when one is needed."""
    assert new_cluster(None, cluster_name="train").cluster_name == "train"
    stack = new_stack(region="us-west-2")
    cluster = new_cluster(stack, cluster_name=PhysicalName.GENERATE_IF_NEEDED)
    assert stack.resolve(cluster.cluster_name) == stack.resolve(cluster.cluster_arn)
    assert "ClusterName" not in properties_of(stack, CLUSTER)
    stack = new_stack(region="us-west-2")
    cluster = new_cluster(stack, cluster_name=PhysicalName.GENERATE_IF_NEEDED)
    other = Stack(stack.node.scope, "Other", env=Environment(account="123456789012", region="us-east-1"))  # type: ignore[arg-type]
    CfnOutput(other, "Name", value=cluster.cluster_name)
    name = template_of(other)["Outputs"]["Name"]["Value"]
    assert name == properties_of(stack, CLUSTER)["ClusterName"]
    assert is_name(name)


@pytest.mark.parametrize(
    "arn",
    [
        "train",
        "arn:aws:sagemaker:us-west-2:123456789012:endpoint/a1b2c3d4e5f6",
        "arn:aws:eks:us-west-2:123456789012:cluster/a1b2c3d4e5f6",
        "arn:aws:sagemaker:us-west-2:123456789012:cluster/my-cluster",
        "arn:aws:sagemaker:us-west-2::cluster/a1b2c3d4e5f6",
    ],
)
def test_the_arn_of_something_else_is_refused(arn: str) -> None:
    """Against the pattern of SageMaker's own model, too."""
    with pytest.raises(ValueError, match=re.escape(f"got {arn!r}")):
        SlurmCluster.from_cluster_attributes(new_stack(), "Cluster", cluster_arn=arn)
    model = botocore.session.get_session().get_service_model("sagemaker")
    pattern = model.shape_for("ClusterArn").metadata["pattern"]
    assert re.fullmatch(pattern, ARN)
    assert not re.fullmatch(pattern, arn)


def test_an_arn_may_be_known_at_deployment_only() -> None:
    stack = new_stack()
    arn = CfnParameter(stack, "Arn").value_as_string
    cluster = SlurmCluster.from_cluster_attributes(stack, "Cluster", cluster_arn=arn)
    assert cluster.cluster_name == cluster.cluster_arn == arn


def test_events() -> None:
    stack = new_stack()
    cluster = new_cluster(stack)
    topic = sns.Topic(stack, "Topic")
    cluster.on_state_change("State", target=targets.SnsTopic(topic))
    cluster.on_node_health("Health")
    cluster.on_event("Event")
    patterns = [rule["Properties"]["EventPattern"] for rule in resources_of(stack, "AWS::Events::Rule").values()]
    arn = [stack.resolve(cluster.cluster_arn)]
    by_type = {pattern["detail-type"][0]: pattern["detail"] for pattern in patterns}
    assert by_type == {
        "SageMaker HyperPod Cluster State Change": {"ClusterArn": arn},
        "SageMaker HyperPod Cluster Node Health Event": {"ClusterArn": arn},
        "SageMaker HyperPod Cluster Event": {"EventDetails": {"ClusterArn": arn}},
    }
    assert all(pattern["source"] == ["aws.sagemaker"] for pattern in patterns)


def test_a_cluster_by_its_attributes() -> None:
    """Metrics, events and grants work; nothing is made."""
    stack = new_stack(region="us-west-2")
    role = iam.Role.from_role_arn(stack, "Role", "arn:aws:iam::123456789012:role/nodes")
    group = ec2.SecurityGroup.from_security_group_id(stack, "Group", "sg-12345678")
    cluster = SlurmCluster.from_cluster_attributes(
        stack, "Cluster", cluster_arn=ARN, security_groups=[group], execution_role=role
    )
    assert cluster.cluster_id == "a1b2c3d4e5f6"
    cluster.on_state_change("State")
    other = iam.Role(stack, "Other", assumed_by=iam.AccountRootPrincipal())
    cluster.grant_describe(other)
    cluster.connections.allow_from(ec2.Peer.ipv4("10.0.0.0/8"), ec2.Port.tcp(22))
    s3.Bucket(stack, "Data").grant_read(cluster)
    policies = str(resources_of(stack, "AWS::IAM::Policy"))
    assert ARN in policies
    assert "'Roles': ['nodes']" in policies
    assert properties_of(stack, "AWS::EC2::SecurityGroupIngress")["GroupId"] == "sg-12345678"
    assert not resources_of(stack, CLUSTER)


def test_a_grant_to_a_cluster_of_unknown_role_says_so() -> None:
    stack = new_stack()
    cluster = SlurmCluster.from_cluster_attributes(stack, "Cluster", cluster_arn=ARN)
    with pytest.raises(RuntimeError, match="imported without a role"):
        s3.Bucket(stack, "Data").grant_read(cluster)


def test_tags_and_boundaries_reach_everything() -> None:
    """Tags reach the cluster, aspects every role."""

    @jsii.implements(IAspect)
    class Boundary:
        def visit(self, node: IConstruct) -> None:
            if isinstance(node, iam.CfnRole):
                node.permissions_boundary = "arn:aws:iam::123456789012:policy/boundary"

    stack = new_stack()
    new_cluster(stack)
    Tags.of(stack).add("team", "ml")
    Aspects.of(stack).add(Boundary())
    assert {"Key": "team", "Value": "ml"} in properties_of(stack, CLUSTER)["Tags"]
    roles = resources_of(stack, "AWS::IAM::Role")
    assert len(roles) == 4
    assert all("PermissionsBoundary" in role["Properties"] for role in roles.values())


def test_two_clusters_in_one_stack_and_two_stages_in_one_app() -> None:
    app = App()
    for name in ("Beta", "Prod"):
        stack = Stack(Stage(app, name), "Train")
        for cluster in ("One", "Two"):
            SlurmCluster(stack, cluster, instance_groups=[controller(), p5()])
        template = Template.from_stack(stack)
        template.resource_count_is(CLUSTER, 2)
        template.resource_count_is(PLAN, 2)
        prefixes = {found["Properties"]["LifecyclePrefix"] for found in resources_of(stack, PLAN).values()}
        assert len(prefixes) == 2


def test_a_cluster_in_another_stack_than_its_network() -> None:
    app = App()
    network = hyperpod_slurm.ClusterNetwork(Stack(app, "Network"), "Network")
    stack = Stack(app, "Train")
    SlurmCluster(stack, "Cluster", network=network, instance_groups=[controller(), p5()])
    config = properties_of(stack, CLUSTER)["VpcConfig"]
    assert "Fn::ImportValue" in str(config) or "Fn::GetStackOutput" in str(config)


@pytest.mark.parametrize("region", ["us-gov-west-1", "cn-north-1"])
def test_no_partition_is_written_down(region: str) -> None:
    """ARNs and endpoints are right in GovCloud and China: nothing says arn:aws: there."""
    stack = new_stack(region=region)
    new_cluster(stack)
    assert "arn:aws:" not in str(template_of(stack))
    stack = new_stack()
    new_cluster(stack)
    assert "arn:aws:" not in str(template_of(stack))


def test_the_lifecycle_bucket() -> None:
    """Named as HyperPod asks for, private, encrypted, TLS only, kept."""
    stack = new_stack()
    new_cluster(stack)
    ((_, bucket),) = resources_of(stack, "AWS::S3::Bucket").items()
    assert str(bucket["Properties"]["BucketName"]).startswith("{'Fn::Join': ['', ['sagemaker-")
    assert bucket["DeletionPolicy"] == "Retain"
    assert bucket["Properties"]["PublicAccessBlockConfiguration"]["RestrictPublicBuckets"] is True
    assert "AES256" in str(bucket["Properties"]["BucketEncryption"])
    policy = str(properties_of(stack, "AWS::S3::BucketPolicy"))
    assert "aws:SecureTransport" in policy
    assert "s3:TlsVersion" in policy


def test_a_bucket_that_goes_with_the_stack_is_emptied() -> None:
    stack = new_stack()
    new_cluster(stack, removal_policy=RemovalPolicy.DESTROY)
    assert resources_of(stack, "Custom::S3AutoDeleteObjects")
    ((_, bucket),) = resources_of(stack, "AWS::S3::Bucket").items()
    assert bucket["DeletionPolicy"] == "Delete"


def test_a_key_of_your_own_and_access_logs() -> None:
    """Nodes may decrypt, the Lambda function may encrypt; access logs go where they are sent."""
    stack = new_stack()
    key = kms.Key(stack, "Key")
    logs_bucket = s3.Bucket(stack, "Logs")
    new_cluster(stack, encryption_key=key, access_logs_bucket=logs_bucket)
    (bucket,) = (b for name, b in resources_of(stack, "AWS::S3::Bucket").items() if "Lifecycle" in name)
    assert "aws:kms" in str(bucket["Properties"]["BucketEncryption"])
    assert bucket["Properties"]["LoggingConfiguration"]["LogFilePrefix"] == "lifecycle-bucket/"
    assert "kms:GenerateDataKey" in actions_of(stack, "HandlerRole")
    assert {"kms:Decrypt", "kms:CreateGrant"} <= actions_of(stack, "ExecutionRole")


def test_a_bucket_that_exists() -> None:
    stack = new_stack()
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "sagemaker-scripts")
    new_cluster(stack, lifecycle_bucket=bucket)
    assert properties_of(stack, PLAN)["LifecycleBucket"] == "sagemaker-scripts"
    assert not resources_of(stack, "AWS::S3::Bucket")


def test_the_plan_can_be_read_at_synth() -> None:
    """Which topology each partition gets, by the same function as at deploy time."""
    cluster = new_cluster(None, controller(), p5("a"), p5("b", partition="c"))
    assert cluster.topology_plan is not None
    assert cluster.topology_plan.default.kind.value == "tree"
    assert [(choice.subject, choice.kind.value) for choice in cluster.topology_plan.partitions] == [
        ("a", "tree"),
        ("c", "tree"),
    ]
