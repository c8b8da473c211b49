"""All IAM of the library: who may do what, and why. Nothing else in it says what is allowed.

Three roles. *Nodes* (compute and login) run jobs: whatever their role may do, every user of the cluster may. So what
only the agent and slurmdbd need is granted to the *controller's* role alone. A *handler* is the Lambda function
behind custom resources: a cluster's, or that of a network of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from slurm_topology.core import metric_names

from ._nag import acknowledge
from ._statements import Holder, Statement, allow, arn_of, use_key, with_key

__all__ = [
    "CLUSTER_EVENTS",
    "DESCRIBE_CLUSTER",
    "MANAGE_NODES",
    "InstanceScope",
    "allow_accounting",
    "allow_agent",
    "allow_describing",
    "allow_handler",
    "allow_instance",
    "allow_prefix_lists",
    "allow_volumes",
    "grant",
    "make_flow_log_role",
    "make_handler_role",
    "make_instance_role",
]

DESCRIBE_CLUSTER = ("sagemaker:DescribeCluster", "sagemaker:DescribeClusterNode", "sagemaker:ListClusterNodes")
CLUSTER_EVENTS = ("sagemaker:DescribeClusterEvent", "sagemaker:ListClusterEvents")
MANAGE_NODES = (
    "sagemaker:BatchAddClusterNodes",
    "sagemaker:BatchDeleteClusterNodes",
    "sagemaker:BatchRebootClusterNodes",
    "sagemaker:BatchReplaceClusterNodes",
)

# What HyperPod does in the customer's VPC with the execution role (SageMaker developer guide, "IAM role for SageMaker
# HyperPod", additional permissions for a VPC).
_VPC_READ = (
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
)
_VPC_WRITE = (
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
    "ec2:DetachNetworkInterface",
)
# What a Lambda function in a VPC needs (Lambda developer guide, "Required IAM permissions" of VPC access).
_LAMBDA_VPC = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
_MANAGED_POLICY = "AmazonSageMakerClusterInstanceRolePolicy"

_DESCRIBES_ALL = "EC2 offers no resource for its Describe actions"
_OWN_FILES = "the names below this cluster's own prefix are made at deploy time"


@dataclass(frozen=True)
class InstanceScope:
    """What instances of a cluster may touch: lifecycle files, and where their network interfaces are."""

    bucket: s3.IBucket
    prefix: str
    subnet_ids: Sequence[str]
    security_group_ids: Sequence[str]
    subnet_owner: str | None = None  # the account of a shared VPC; None: the cluster's


def make_instance_role(scope: Construct, id: str) -> iam.Role:  # noqa: A002 - CDK's name for it
    """The execution role of instance groups, with what every HyperPod instance needs: its log, metrics, sessions."""
    policy = iam.ManagedPolicy.from_aws_managed_policy_name(_MANAGED_POLICY)
    role = iam.Role(
        scope,
        id,
        description="Execution role of instances of a HyperPod Slurm cluster",
        assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"),
        managed_policies=[policy],
    )
    reason = "HyperPod asks for this policy by name, and AWS adds to it what a new release of HyperPod needs"
    acknowledge(role, {f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{_MANAGED_POLICY}]": reason})
    return role


def allow_instance(role: Holder, scope: InstanceScope) -> list[Statement]:
    """What instances need of their cluster. This and its like give back what they allowed."""
    stack = Stack.of(role)
    own = arn_of(stack, "ec2", "network-interface/*")
    interfaces = [
        own,
        *(arn_of(stack, "ec2", f"subnet/{name}", scope.subnet_owner) for name in scope.subnet_ids),
        *(arn_of(stack, "ec2", f"security-group/{name}") for name in scope.security_group_ids),
        arn_of(stack, "ec2", "instance/*", account="*"),
    ]
    when_created = {"StringEquals": {"ec2:CreateAction": "CreateNetworkInterface"}}
    why = "interfaces get their ids from EC2; instances of HyperPod belong to an account of AWS"
    allowed = allow(
        role,
        Statement("DescribeVpc", _VPC_READ, ["*"], why=_DESCRIBES_ALL),
        Statement("NetworkInterfaces", _VPC_WRITE, interfaces, why=why),
        Statement("TagNetworkInterfaces", ("ec2:CreateTags",), [own], when_created, why=why),
        *_file_statements(scope.bucket, scope.prefix, ("s3:GetObject",)),
    )
    if scope.bucket.encryption_key is not None:
        allowed += use_key(role, scope.bucket.encryption_key, "LifecycleFilesKey", "kms:Decrypt")
    return allowed


def allow_agent(role: Holder) -> list[Statement]:
    """What the topology agent on the controller asks (an instance's zone, and its place) and reports.

    It also reads the plan in force, below the lifecycle prefix, as every instance may.
    """
    clusters = arn_of(Stack.of(role), "sagemaker", "cluster/*")
    namespace = {"StringEquals": {"cloudwatch:namespace": metric_names.NAMESPACE}}
    not_yet = "SageMaker makes the cluster's id while the agent already runs"
    no_resource = "CloudWatch metrics are no resources; the condition names the one namespace"
    return allow(
        role,
        Statement("AgentCluster", ("sagemaker:DescribeClusterNode",), [clusters], why=not_yet),
        # the last source: for instances that neither HyperPod's labels nor SageMaker place
        Statement("AgentNetwork", ("ec2:DescribeInstanceTopology",), ["*"], why=_DESCRIBES_ALL),
        Statement("AgentMetrics", ("cloudwatch:PutMetricData",), ["*"], namespace, why=no_resource),
    )


def allow_accounting(role: Holder, principal: iam.IRole, secret: secretsmanager.ISecret) -> list[Statement]:
    """slurmdbd on the controller reads the database's password. A key of the secret's own allows it in its policy.

    ``principal`` is the role itself, for the key's policy.
    """
    actions = ("secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue")
    needed = Statement("Accounting", actions, [secret.secret_arn])
    if not isinstance(role, iam.Policy):
        secret.grant_read(role)
        return [needed]
    if secret.encryption_key is not None:  # as grant_read does it
        service = f"secretsmanager.{Stack.of(role).region}.amazonaws.com"
        secret.encryption_key.grant_decrypt(kms.ViaServicePrincipal(service, principal.grant_principal))
    return allow(role, needed)


def allow_volumes(role: Holder, key: kms.IKey) -> list[Statement]:
    """Encrypted volumes of instances: EC2 makes a grant for each."""
    actions = ("kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext")
    for_aws = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    grants = with_key(role, key, Statement("VolumeGrants", ("kms:CreateGrant",), [], for_aws))
    return use_key(role, key, "VolumeKey", *actions) + allow(role, grants)


def make_flow_log_role(scope: Construct, log_group: logs.ILogGroup) -> iam.Role:
    """VPC flow logs write to their log group."""
    role = iam.Role(scope, "FlowLogRole", assumed_by=iam.ServicePrincipal("vpc-flow-logs.amazonaws.com"))
    log_group.grant_write(role)
    log_group.grant(role, "logs:DescribeLogStreams")
    return role


def make_handler_role(
    scope: Construct, log_group: logs.ILogGroup, purpose: str, *, in_vpc: bool, traced: bool
) -> iam.Role:
    """A Lambda function's role; it may write its log, and nothing else yet."""
    role = iam.Role(
        scope,
        "HandlerRole",
        description=purpose,
        assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
    )
    log_group.grant_write(role)
    if in_vpc:
        why = "Lambda makes its network interfaces itself, and their ids are not known before"
        allow(role, Statement("NetworkInterfaces", _LAMBDA_VPC, ["*"], why=why))
    if traced:
        actions = ("xray:PutTelemetryRecords", "xray:PutTraceSegments")
        allow(role, Statement("Tracing", actions, ["*"], why="X-Ray has no resources for these actions"))
    return role


def allow_handler(
    role: iam.IRole, asset: tuple[str, str], bucket: s3.IBucket, prefix: str, training_plans: Sequence[str]
) -> None:
    """What the plan needs: the bundle at ``asset`` (bucket, key), the lifecycle ``prefix``, facts of types."""
    stack = Stack.of(role)
    bundle = f"arn:{stack.partition}:s3:::{asset[0]}/{asset[1]}"
    statements = [
        Statement("ReadBundle", ("s3:GetObject",), [bundle]),
        Statement(
            "LifecycleFiles", ("s3:GetObject", "s3:PutObject"), [bucket.arn_for_objects(f"{prefix}/*")], why=_OWN_FILES
        ),
        Statement("InstanceTypes", ("ec2:DescribeInstanceTypes",), ["*"], why=_DESCRIBES_ALL),
    ]
    if training_plans:
        reserved = arn_of(stack, "sagemaker", "reserved-capacity/*")
        why = "a training plan names its reserved capacities only when it is asked"
        statements += [
            Statement("TrainingPlans", ("sagemaker:DescribeTrainingPlan",), training_plans),
            Statement("UltraServers", ("sagemaker:ListUltraServersByReservedCapacity",), [reserved], why=why),
        ]
    allow(role, *statements)
    if bucket.encryption_key is not None:
        use_key(role, bucket.encryption_key, "LifecycleFilesKey", "kms:Decrypt", "kms:GenerateDataKey")


def allow_prefix_lists(role: iam.IRole) -> None:
    """What a function needs that a new network asks for the id of S3's prefix list."""
    actions = ("ec2:DescribeManagedPrefixLists",)
    allow(role, Statement("PrefixLists", actions, ["*"], why=_DESCRIBES_ALL))


def allow_describing(scope: Construct, role: iam.IRole, cluster_arn: str) -> iam.Policy:
    """Reading this one cluster. A policy of its own, because its resource exists only after the cluster does."""
    actions = ["sagemaker:DescribeClusterNode", "sagemaker:ListClusterNodes"]
    statement = iam.PolicyStatement(sid="ReadNodes", actions=actions, resources=[cluster_arn])
    policy = iam.Policy(scope, "DescribePolicy", statements=[statement])
    policy.attach_to_role(role)
    return policy


def grant(grantee: iam.IGrantable, cluster_arn: str, actions: Sequence[str]) -> iam.Grant:
    """What others may do with one cluster."""
    return iam.Grant.add_to_principal(grantee=grantee, actions=list(actions), resource_arns=[cluster_arn])


def _file_statements(bucket: s3.IBucket, prefix: str, actions: Sequence[str]) -> list[Statement]:
    own_prefix = {"StringLike": {"s3:prefix": [f"{prefix}/*"]}}
    return [
        Statement("LifecycleFiles", actions, [bucket.arn_for_objects(f"{prefix}/*")], why=_OWN_FILES),
        Statement("ListLifecycleFiles", ("s3:ListBucket",), [bucket.bucket_arn], own_prefix),
    ]
