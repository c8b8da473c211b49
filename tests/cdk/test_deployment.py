"""The custom resources: what they are told, when they run again, what they may do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager

from cdk.apps import (
    CLUSTER,
    INITIAL,
    PLAN,
    S3_PREFIX_LIST,
    annotations_of,
    controller,
    new_cluster,
    new_stack,
    p5,
    properties_of,
    resources_of,
    template_of,
)
from hyperpod_slurm import (
    Capacity,
    ClusterNetwork,
    ComputeGroup,
    ExistingDatabase,
    HandlerOptions,
    Lifecycle,
    LoginGroup,
    SlurmCluster,
    Topology,
    TopologyMode,
)
from hyperpod_slurm._tokens import resolved_text
from slurm_topology.aws_lambda.properties import InitialTopologyProperties, TopologyPlanProperties

PLAN_ARN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/gb200"


def resolved(properties: dict[str, Any]) -> dict[str, Any]:
    """As the Lambda function gets them: every value a string, references resolved to something."""

    def value(item: Any) -> Any:
        if isinstance(item, dict):
            if len(item) == 1 and next(iter(item)) in ("Ref", "Fn::GetAtt", "Fn::Sub", "Fn::Join"):
                return "a-reference"
            return {key: value(inner) for key, inner in item.items()}
        return [value(inner) for inner in item] if isinstance(item, list) else str(item)

    result: dict[str, Any] = value(properties)
    return result


def test_the_handler_understands_what_the_constructs_write() -> None:
    """Properties of the template, read by the Lambda function's own reader."""
    stack = new_stack()
    gb200 = ComputeGroup(
        "gb200", "ml.p6e-gb200.36xlarge", 34, partition="nvl", capacity=Capacity.training_plan(PLAN_ARN)
    )
    topology = Topology.block([17, 34], mode=TopologyMode.REPAIR)
    new_cluster(stack, controller(), LoginGroup("login"), gb200, topology=topology, slurm_version="25.11")
    plan = TopologyPlanProperties.read(resolved(properties_of(stack, PLAN)))
    assert [(group.name, group.role.value, group.partitions, group.count) for group in plan.groups] == [
        ("controller", "Controller", (), 1),
        ("login", "Login", (), 1),
        ("gb200", "Compute", ("nvl",), 34),
    ]
    assert plan.groups[2].training_plan_arn == PLAN_ARN
    assert plan.wanted is not None
    assert (plan.wanted.value, plan.block_sizes, plan.mode) == ("block", (17, 34), "repair")
    assert str(plan.slurm_version) == "25.11.0"
    initial = InitialTopologyProperties.read(resolved(properties_of(stack, INITIAL)))
    assert initial.groups == plan.groups
    assert initial.lifecycle_prefix == plan.lifecycle_prefix


def test_the_plan_comes_before_the_cluster_and_the_initial_topology_after_it() -> None:
    stack = new_stack()
    new_cluster(stack)
    (plan_id,) = resources_of(stack, PLAN)
    (cluster_id,) = resources_of(stack, CLUSTER)
    assert plan_id in str(properties_of(stack, CLUSTER))
    assert properties_of(stack, INITIAL)["ClusterName"] == {"Fn::GetAtt": [cluster_id, "ClusterArn"]}
    assert cluster_id not in str(properties_of(stack, PLAN))


def test_an_unanswered_request_ends_with_the_handler() -> None:
    """CloudFormation would wait an hour; it waits a little longer than the function, which says why, can run."""
    stack = new_stack()
    new_cluster(stack)
    handlers = [
        found["Properties"]
        for found in resources_of(stack, "AWS::Lambda::Function").values()
        if found["Properties"]["Handler"] == "slurm_topology.aws_lambda.handler.handle"
    ]
    assert [function["Timeout"] for function in handlers] == [900]
    for kind in (PLAN, INITIAL, S3_PREFIX_LIST):
        assert properties_of(stack, kind)["ServiceTimeout"] == "1200"


def prefix_and_fingerprints(*groups: Any, **properties: Any) -> tuple[str, str, str]:
    stack = new_stack()
    new_cluster(stack, *groups, **properties)
    plan, initial = properties_of(stack, PLAN), properties_of(stack, INITIAL)
    return plan["LifecyclePrefix"], plan["Fingerprint"], initial["Fingerprint"]


@pytest.mark.parametrize(
    "change",
    [
        {"groups": (controller(), p5(partition="other"))},
        {"topology": Topology.tree()},
        {"topology": Topology.auto(mode=TopologyMode.OBSERVE)},
        {"slurm_version": "25.11"},
    ],
    ids=str,
)
def test_a_change_of_the_plan_goes_to_a_prefix_of_its_own(change: dict[str, Any]) -> None:
    """What the old plan wrote stays in force until the update has succeeded."""
    before = prefix_and_fingerprints()
    after = prefix_and_fingerprints(*change.pop("groups", ()), **change)
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert before[0].rpartition("/")[0] == after[0].rpartition("/")[0]


def test_a_scale_runs_both_resources_and_leaves_the_prefix() -> None:
    """SourceS3Uri is part of every group: another one would make SageMaker update groups that nobody has changed."""
    before = prefix_and_fingerprints()
    after = prefix_and_fingerprints(controller(), p5(count=9))
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, False]


def test_nothing_changed_nothing_runs() -> None:
    assert prefix_and_fingerprints() == prefix_and_fingerprints()


def test_a_change_of_your_scripts_is_a_change(tmp_path: Path) -> None:
    script = tmp_path / "setup.sh"
    script.write_text("true\n")
    before = prefix_and_fingerprints(lifecycle=Lifecycle.extend(tmp_path))
    script.write_text("false\n")
    after = prefix_and_fingerprints(lifecycle=Lifecycle.extend(tmp_path))
    assert before[0] != after[0]


def test_parameters_are_part_of_the_fingerprint_as_references() -> None:
    """A parameter's value is not known at synth; when it changes, the property itself does."""
    stack = new_stack()
    count = CfnParameter(stack, "Count", type="Number").value_as_number
    new_cluster(stack, controller(), p5(count=count))
    assert properties_of(stack, PLAN)["Groups"][1]["Count"] == {"Ref": "Count"}


def statements(stack: Stack, role: str) -> dict[str, dict[str, Any]]:
    """Sid → statement, of all policies of the role whose logical id contains ``role``."""
    return {
        statement.get("Sid", str(index)): statement
        for policy in resources_of(stack, "AWS::IAM::Policy").values()
        if any(role in str(name) for name in policy["Properties"]["Roles"])
        for index, statement in enumerate(policy["Properties"]["PolicyDocument"]["Statement"])
    }


def test_what_the_handler_may_do() -> None:
    stack = new_stack()
    new_cluster(stack)
    found = statements(stack, "ClusterHandlerRole")
    assert set(found) == {"0", "ReadBundle", "LifecycleFiles", "InstanceTypes", "PrefixLists", "ReadNodes"}
    (cluster_id,) = resources_of(stack, CLUSTER)
    assert found["ReadNodes"]["Resource"] == {"Fn::GetAtt": [cluster_id, "ClusterArn"]}
    assert "/hyperpod-slurm/" in str(found["LifecycleFiles"]["Resource"])
    assert "*" not in str(found["ReadBundle"]["Resource"])
    assert not any("Delete" in str(statement["Action"]) for statement in found.values())


def test_what_the_function_of_a_network_of_its_own_may_do() -> None:
    """Write its log and ask for prefix lists: EC2 has no resource for that. The cluster's function needs not."""
    stack = new_stack()
    new_cluster(stack, network=ClusterNetwork(stack, "Network"))
    assert "PrefixLists" not in statements(stack, "ClusterHandlerRole")
    found = statements(stack, "NetworkHandlerRole")
    assert set(found) == {"0", "PrefixLists"}
    assert (found["PrefixLists"]["Action"], found["PrefixLists"]["Resource"]) == (
        "ec2:DescribeManagedPrefixLists",
        "*",
    )


def test_only_with_a_training_plan_the_handler_asks_about_it() -> None:
    stack = new_stack()
    new_cluster(stack, controller(), p5(capacity=Capacity.training_plan(PLAN_ARN)))
    found = statements(stack, "ClusterHandlerRole")
    assert found["TrainingPlans"]["Resource"] == PLAN_ARN
    assert str(found["UltraServers"]["Resource"]).endswith(":reserved-capacity/*']]}")


def test_users_of_the_cluster_get_nothing_that_only_the_agent_needs() -> None:
    """Jobs run with the nodes' role: no metrics of the agent, no view of other clusters."""
    stack = new_stack()
    new_cluster(stack)
    nodes, controllers = statements(stack, "ExecutionRole"), statements(stack, "ControllerRole")
    assert set(controllers) - set(nodes) == {"AgentCluster", "AgentMetrics", "AgentNetwork"}
    assert controllers["AgentCluster"]["Action"] == "sagemaker:DescribeClusterNode"
    assert set(nodes) == {
        "DescribeVpc",
        "NetworkInterfaces",
        "TagNetworkInterfaces",
        "LifecycleFiles",
        "ListLifecycleFiles",
    }
    condition = controllers["AgentMetrics"]["Condition"]
    assert condition == {"StringEquals": {"cloudwatch:namespace": "SlurmTopology"}}


def test_brought_roles_get_what_they_need() -> None:
    stack = new_stack()
    role = iam.Role(stack, "Mine", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    new_cluster(stack, execution_role=role)
    assert {"LifecycleFiles", "AgentMetrics"} <= set(statements(stack, "Mine"))
    roles = [group["ExecutionRole"] for group in properties_of(stack, CLUSTER)["InstanceGroups"]]
    assert roles == [stack.resolve(role.role_arn)] * 2


def new_role(stack: Stack) -> iam.Role:
    return iam.Role(stack, "Mine", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))


def roles_cluster(stack: Stack, role: iam.IRole) -> SlurmCluster:
    """A cluster that needs every kind of grant, the controller's included, of one role."""
    key = kms.Key(stack, "Key")
    secret = secretsmanager.Secret(stack, "Secret", encryption_key=key)
    accounting = ExistingDatabase(endpoint="db.example.com", secret=secret)
    return new_cluster(stack, execution_role=role, encryption_key=key, accounting=accounting)


def test_of_a_role_that_takes_no_policies_every_statement_is_named() -> None:
    """Held against what CDK puts into the policy of a role that takes them."""
    stack = new_stack()
    roles_cluster(stack, new_role(stack))
    expected = [normal(statement) for statement in statements(stack, "Mine").values()]
    stack = new_stack()
    cluster = roles_cluster(stack, new_role(stack).without_policy_updates())
    (text,) = [text for text in annotations_of(cluster) if text.startswith("HPS070 ")]
    start, end = text.index("{"), text.rindex("}") + 1
    named = [normal(statement) for statement in json.loads(f"[{text[start:end]}]")]
    assert len(expected) > 8
    assert sorted(named) == sorted(expected)
    assert not statements(stack, "Mine")


def normal(statement: dict[str, Any]) -> str:
    """A statement without its name, references in one form, one value and a list of one alike."""

    def plain(value: Any) -> list[str]:
        return sorted(resolved_text(one) for one in (value if isinstance(value, list) else [value]))

    content = [plain(statement["Action"]), plain(statement["Resource"]), statement.get("Condition")]
    return json.dumps(content, sort_keys=True)


@pytest.mark.parametrize("kind", ["role", "imported", "lazy", "group"])
def test_a_role_that_takes_policies_is_no_warning(kind: str) -> None:
    stack = new_stack()
    principal = iam.ServicePrincipal("sagemaker.amazonaws.com")
    role: iam.IRole = {
        "role": new_role,
        "imported": lambda stack: iam.Role.from_role_name(stack, "Imported", "mine"),
        "lazy": lambda stack: iam.LazyRole(stack, "Lazy", assumed_by=principal),
        "group": new_role,
    }[kind](stack)
    if kind == "group":
        cluster = new_cluster(stack, controller(), p5(execution_role=role))
    else:
        cluster = new_cluster(stack, execution_role=role)
    assert not [text for text in annotations_of(cluster) if text.startswith("HPS070 ")]


def test_options_of_the_handler() -> None:
    stack = new_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=1)
    options = HandlerOptions(log_retention=logs.RetentionDays.ONE_WEEK, tracing=lambda_.Tracing.ACTIVE, vpc=vpc)
    new_cluster(stack, handler=options)
    (function,) = resources_of(stack, "AWS::Lambda::Function").values()
    assert function["Properties"]["TracingConfig"] == {"Mode": "Active"}
    assert function["Properties"]["VpcConfig"]["SubnetIds"]
    retention = [
        group["Properties"]["RetentionInDays"] for group in resources_of(stack, "AWS::Logs::LogGroup").values()
    ]
    assert sorted(retention) == [7, 30]
    found = statements(stack, "ClusterHandlerRole")
    assert "ec2:CreateNetworkInterface" in found["NetworkInterfaces"]["Action"]
    assert "xray:PutTraceSegments" in found["Tracing"]["Action"]


def test_tracing_is_off_by_default() -> None:
    stack = new_stack()
    new_cluster(stack)
    (function,) = resources_of(stack, "AWS::Lambda::Function").values()
    assert "TracingConfig" not in function["Properties"]


def test_options_of_a_networks_function() -> None:
    stack = new_stack()
    options = HandlerOptions(log_retention=logs.RetentionDays.ONE_WEEK, tracing=lambda_.Tracing.ACTIVE)
    ClusterNetwork(stack, "Network", handler=options)
    (function,) = resources_of(stack, "AWS::Lambda::Function").values()
    assert function["Properties"]["TracingConfig"] == {"Mode": "Active"}
    logs_of = resources_of(stack, "AWS::Logs::LogGroup").values()
    assert sorted(group["Properties"]["RetentionInDays"] for group in logs_of) == [7, 30]


def test_outputs_say_where_everything_is() -> None:
    stack = new_stack()
    new_cluster(stack)
    names = {name[len("Cluster") : -8] for name in template_of(stack)["Outputs"]}
    assert names == {
        "Arn",
        "LifecycleS3Uri",
        "TopologyPlanS3Uri",
        "DefaultTopology",
        "PartitionTopologies",
        "InitialTopologyS3Uri",
        "InitialTopologySummary",
    }


def prefix(stack: Stack) -> str:
    """As text, with its references."""
    return json.dumps(properties_of(stack, PLAN)["LifecyclePrefix"])


def test_copies_of_an_app_do_not_write_over_each_other_in_a_brought_bucket() -> None:
    """Their constructs have the same path, so only stack, account and region tell them apart."""
    found = []
    for name in ("Alice", "Bob"):
        stack = Stack(App(), "Test", stack_name=name)
        new_cluster(stack, lifecycle_bucket=s3.Bucket.from_bucket_name(stack, "Shared", "sagemaker-shared"))
        found.append(prefix(stack))
    assert "-Alice-" in found[0] and "AWS::AccountId" in found[0] and "AWS::Region" in found[0]  # noqa: PT018
    assert found[1] == found[0].replace("Alice", "Bob")


def test_another_key_means_another_prefix() -> None:
    """Nodes may use the new key only, and S3 leaves what is there under the old one."""
    found = []
    for name in ("A", "B", "A"):
        stack = new_stack()
        new_cluster(stack, encryption_key=kms.Key(stack, name))
        found.append(prefix(stack))
    assert found[0] == found[2] != found[1]


def test_the_cluster_waits_for_the_routes_of_a_vpc_that_the_app_makes() -> None:
    """An instance that starts before its way out exists fails its lifecycle script."""
    stack = new_stack()
    new_cluster(stack, vpc=ec2.Vpc(stack, "Vpc"))
    resources = template_of(stack)["Resources"]
    cluster = next(each for each in resources.values() if each["Type"] == "AWS::SageMaker::Cluster")
    waited = {resources[name]["Type"] for name in cluster["DependsOn"]}
    assert {"AWS::EC2::Route", "AWS::EC2::SubnetRouteTableAssociation"} <= waited
