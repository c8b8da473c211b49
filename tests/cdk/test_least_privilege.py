"""What the roles of instances may do is what instances do, by each action and each resource of each statement.

The calls are those of HyperPod with a node's role (SageMaker developer guide, "IAM role for SageMaker HyperPod"), of
the agent and of slurmdbd; resources of an action are those of the service authorization reference. The judge is the
policy evaluator of the loopback cloud. Calls that the agent and HyperPod make on a deployed stack: tests/deploy.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from ministack.core.iam_evaluator import EvalContext, evaluate, parse_policy_document

from cdk.apps import PLAN, controller, new_cluster, new_stack, p5, properties_of, resources_of
from hyperpod_slurm import ClusterNetwork, ExistingDatabase
from slurm_topology.core import metric_names

ACCOUNT, REGION = "123456789012", "us-west-2"
SECRET = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:accounting-AbCdEf"
BUCKET = "arn:aws:s3:::sagemaker-scripts"
KEYS = {name: f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{name}" for name in ("bucket", "volumes", "other")}
EC2 = f"arn:aws:ec2:{REGION}:{ACCOUNT}"
INTERFACE, SUBNET, GROUP = f"{EC2}:network-interface/eni-1", f"{EC2}:subnet/subnet-1", f"{EC2}:security-group/sg-1"
INSTANCE = f"arn:aws:ec2:{REGION}:999999999999:instance/i-1"  # of HyperPod's own account
CLUSTER = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:cluster/a1b2c3d4e5f6"
PREFIX = "<prefix>"  # the cluster's own, below the bucket

Policy = dict[str, Any]


class Call(NamedTuple):
    """A request as IAM sees it: all of its resources have to be allowed."""

    action: str
    resources: tuple[str, ...] = ("*",)
    context: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.action} {' '.join(self.resources)}"


AWS_RESOURCE = (("kms:grantisforawsresource", "true"),)
OF_NODES = (
    Call("ec2:DescribeDhcpOptions"),
    Call("ec2:DescribeNetworkInterfaces"),
    Call("ec2:DescribeSecurityGroups"),
    Call("ec2:DescribeSubnets"),
    Call("ec2:DescribeVpcs"),
    Call("ec2:CreateNetworkInterface", (INTERFACE, SUBNET, GROUP)),
    Call("ec2:CreateTags", (INTERFACE,), (("ec2:createaction", "CreateNetworkInterface"),)),
    Call("ec2:CreateNetworkInterfacePermission", (INTERFACE,)),
    Call("ec2:DeleteNetworkInterface", (INTERFACE,)),
    Call("ec2:DeleteNetworkInterfacePermission", (INTERFACE,)),
    Call("ec2:DetachNetworkInterface", (INTERFACE, INSTANCE)),
    Call("s3:ListBucket", (BUCKET,), (("s3:prefix", f"{PREFIX}/"),)),
    Call("s3:GetObject", (f"{BUCKET}/{PREFIX}/on_init_complete.sh",)),
    Call("kms:Decrypt", (KEYS["bucket"],)),
    Call("kms:Decrypt", (KEYS["volumes"],)),
    Call("kms:DescribeKey", (KEYS["volumes"],)),
    Call("kms:GenerateDataKeyWithoutPlaintext", (KEYS["volumes"],)),
    Call("kms:CreateGrant", (KEYS["volumes"],), AWS_RESOURCE),
)
OF_THE_CONTROLLER = (
    Call("sagemaker:DescribeClusterNode", (CLUSTER,)),
    Call("ec2:DescribeInstanceTopology"),
    Call("cloudwatch:PutMetricData", ("*",), (("cloudwatch:namespace", metric_names.NAMESPACE),)),
    Call("secretsmanager:DescribeSecret", (SECRET,)),
    Call("secretsmanager:GetSecretValue", (SECRET,)),
)
CALLS = {"ExecutionRole": OF_NODES, "ControllerRole": (*OF_NODES, *OF_THE_CONTROLLER)}

# What lies next to it, and is refused.
NEIGHBOURS = (
    Call("ec2:CreateNetworkInterface", (INTERFACE, f"{EC2}:subnet/subnet-2", GROUP)),
    Call("ec2:CreateNetworkInterface", (INTERFACE, SUBNET, f"{EC2}:security-group/sg-2")),
    Call("ec2:CreateTags", (INTERFACE,)),
    Call("ec2:CreateTags", (SUBNET,), (("ec2:createaction", "CreateNetworkInterface"),)),
    Call("ec2:TerminateInstances", (INSTANCE,)),
    Call("s3:ListBucket", (BUCKET,), (("s3:prefix", "hyperpod-slurm/00000000/"),)),
    Call("s3:GetObject", (f"{BUCKET}/hyperpod-slurm/00000000/on_init_complete.sh",)),
    Call("s3:PutObject", (f"{BUCKET}/{PREFIX}/on_init_complete.sh",)),
    Call("kms:Decrypt", (KEYS["other"],)),
    Call("kms:CreateGrant", (KEYS["volumes"],)),
    Call("kms:CreateGrant", (KEYS["bucket"],), AWS_RESOURCE),
    Call("cloudwatch:PutMetricData", ("*",), (("cloudwatch:namespace", "AWS/EC2"),)),
    Call("secretsmanager:GetSecretValue", (f"{SECRET[:-6]}2-AbCdEf",)),
    Call("sagemaker:BatchDeleteClusterNodes", (CLUSTER,)),
)


@pytest.fixture(scope="module")
def full() -> Stack:
    """A cluster whose instances need all that there is, of things whose ARNs are known."""
    stack = new_stack(region=REGION, flags=True)
    keys = {name: kms.Key.from_key_arn(stack, name, arn) for name, arn in KEYS.items()}
    bucket = s3.Bucket.from_bucket_attributes(stack, "Bucket", bucket_arn=BUCKET, encryption_key=keys["bucket"])
    subnet = ec2.Subnet.from_subnet_attributes(stack, "Subnet", subnet_id="subnet-1", availability_zone="us-west-2a")
    group = ec2.SecurityGroup.from_security_group_id(stack, "Group", "sg-1")
    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-west-2a"])
    secret = secretsmanager.Secret.from_secret_complete_arn(stack, "Secret", SECRET)
    new_cluster(
        stack,
        controller(),
        p5(),
        network=ClusterNetwork(stack, "Network", vpc=vpc, subnets=[subnet], security_groups=[group]),
        lifecycle_bucket=bucket,
        encryption_key=keys["volumes"],
        accounting=ExistingDatabase(endpoint="db.example.com", secret=secret),
    )
    return stack


def policy_of(stack: Stack, role: str) -> Policy:
    """The one policy of a role, with the partition filled in."""
    found = [
        policy["Properties"]["PolicyDocument"]
        for policy in resources_of(stack, "AWS::IAM::Policy").values()
        if role in str(policy["Properties"]["Roles"])
    ]
    (document,) = found
    return {
        "Statement": [
            {
                **one,
                "Action": listed(one["Action"]),
                "Resource": listed(one["Resource"]),
                "Condition": {
                    test: {key: listed(value) for key, value in keys.items()}
                    for test, keys in one.get("Condition", {}).items()
                },
            }
            for one in document["Statement"]
        ]
    }


def listed(value: Any) -> list[str]:
    return [plain(one) for one in (value if isinstance(value, list) else [value])]


def plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        delimiter, parts = value["Fn::Join"]
        return str(delimiter).join(map(plain, parts))
    return {"AWS::Partition": "aws", "AWS::AccountId": "123456789012", "AWS::Region": "us-west-2"}[value["Ref"]]


def refused(stack: Stack, role: str, policy: Policy, calls: tuple[Call, ...]) -> list[str]:
    """Those of the calls that the policy does not allow."""
    prefix = "/".join(plain(properties_of(stack, PLAN)["LifecyclePrefix"]).split("/")[:2])
    statements = [parse_policy_document(policy)]
    return [str(call) for call in calls if not all(allowed(statements, role, one) for one in requests(call, prefix))]


def requests(call: Call, prefix: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    context = {key: value.replace(PREFIX, prefix) for key, value in call.context}
    for resource in call.resources:
        yield call.action, resource.replace(PREFIX, prefix), context


def allowed(statements: list[Any], role: str, request: tuple[str, str, dict[str, str]]) -> bool:
    action, resource, context = request
    asked = EvalContext(
        principal_arn=f"arn:aws:iam::{ACCOUNT}:role/{role}",
        principal_type="AssumedRole",
        principal_account=ACCOUNT,
        action=action,
        resource_arn=resource,
        region=REGION,
        service_context=context,
    )
    return bool(evaluate(asked, statements).decision == "Allow")


@pytest.mark.parametrize("role", CALLS)
def test_all_that_instances_do_is_allowed(full: Stack, role: str) -> None:
    assert refused(full, role, policy_of(full, role), CALLS[role]) == []


@pytest.mark.parametrize("role", CALLS)
def test_what_lies_next_to_it_is_not(full: Stack, role: str) -> None:
    assert refused(full, role, policy_of(full, role), NEIGHBOURS) == [str(call) for call in NEIGHBOURS]


def test_every_user_of_a_cluster_may_what_compute_nodes_may(full: Stack) -> None:
    """So what only the agent and slurmdbd need is for the controller alone."""
    others = refused(full, "ExecutionRole", policy_of(full, "ExecutionRole"), OF_THE_CONTROLLER)
    assert others == [str(call) for call in OF_THE_CONTROLLER]


@pytest.mark.parametrize("part", ["Action", "Resource"])
@pytest.mark.parametrize("role", CALLS)
def test_no_single_part_can_be_taken_away(full: Stack, role: str, part: str) -> None:
    """Each action and each resource of each statement is needed by a call: the calls above are all there are."""
    policy = policy_of(full, role)
    tried = 0
    for index, statement in enumerate(policy["Statement"]):
        for value in statement[part]:
            assert refused(full, role, without(policy, index, part, value), CALLS[role]), (
                f"nothing needs {value} of {statement}"
            )
            tried += 1
    assert tried >= len(policy["Statement"])


def without(policy: Policy, index: int, part: str, value: str) -> Policy:
    """The policy without one action or resource; without the statement when that is left with none."""
    less = copy.deepcopy(policy)
    less["Statement"][index][part].remove(value)
    less["Statement"] = [one for one in less["Statement"] if one["Action"] and one["Resource"]]
    return less
