"""All IAM of the library: who may do what, and why. Nothing else in it makes a policy statement.

Three roles. *Nodes* (compute and login) run jobs: whatever their role may do, every user of the cluster may. So what
only the agent and slurmdbd need is granted to the *controller's* role alone. The *handler* is the Lambda function
behind the custom resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from slurm_topology.core import metric_names

__all__ = [
    "CLUSTER_EVENTS",
    "DESCRIBE_CLUSTER",
    "MANAGE_NODES",
    "allow_accounting",
    "allow_agent",
    "allow_describing",
    "allow_handler",
    "allow_instance",
    "grant",
    "make_flow_log_role",
    "make_handler_role",
    "make_instance_role",
]

# What HyperPod does in the customer's VPC with the execution role ("Additional permissions for using SageMaker
# HyperPod in a VPC", SageMaker developer guide). EC2 offers no resource-level control for the Describe actions.
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
DESCRIBE_CLUSTER = ("sagemaker:DescribeCluster", "sagemaker:DescribeClusterNode", "sagemaker:ListClusterNodes")
CLUSTER_EVENTS = ("sagemaker:DescribeClusterEvent", "sagemaker:ListClusterEvents")
MANAGE_NODES = (
    "sagemaker:BatchAddClusterNodes",
    "sagemaker:BatchDeleteClusterNodes",
    "sagemaker:BatchRebootClusterNodes",
    "sagemaker:BatchReplaceClusterNodes",
)


def make_instance_role(scope: Construct, id: str) -> iam.Role:  # noqa: A002 - CDK's name for it
    """The execution role of instance groups, with what every HyperPod instance needs: its log, metrics, sessions."""
    return iam.Role(
        scope,
        id,
        description="Execution role of instances of a HyperPod Slurm cluster",
        assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"),
        managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name("AmazonSageMakerClusterInstanceRolePolicy")],
    )


def allow_instance(
    role: iam.IRole, bucket: s3.IBucket, prefix: str, subnets: Sequence[str], groups: Sequence[str]
) -> None:
    """What instances need of this cluster: its lifecycle files, and network interfaces in its subnets.

    ``subnets`` and ``groups`` are ids. A shared subnet belongs to another account, so the ARNs leave that open.
    """
    stack = Stack.of(role)
    anywhere = [*(f"subnet/{name}" for name in subnets), *(f"security-group/{name}" for name in groups), "instance/*"]
    interfaces = [_arn(stack, "ec2", "network-interface/*"), *(_arn(stack, "ec2", name, "*") for name in anywhere)]
    role.add_to_principal_policy(_statement("DescribeVpc", _VPC_READ, ["*"]))
    role.add_to_principal_policy(_statement("NetworkInterfaces", _VPC_WRITE, interfaces))
    role.add_to_principal_policy(
        iam.PolicyStatement(
            sid="TagNetworkInterfaces",
            actions=["ec2:CreateTags"],
            resources=interfaces[:1],
            conditions={"StringEquals": {"ec2:CreateAction": "CreateNetworkInterface"}},
        )
    )
    role.add_to_principal_policy(
        _statement("ReadLifecycleFiles", ("s3:GetObject",), [bucket.arn_for_objects(f"{prefix}/*")])
    )
    role.add_to_principal_policy(_listing(bucket, prefix))
    if bucket.encryption_key is not None:
        bucket.encryption_key.grant_decrypt(role)


def allow_agent(role: iam.IRole) -> None:
    """What the topology agent on the controller asks and reports."""
    stack = Stack.of(role)
    for statement in (
        # Its own cluster's id is made by SageMaker while the agent already runs: the ARN cannot be known before.
        _statement("AgentCluster", DESCRIBE_CLUSTER, [_arn(stack, "sagemaker", "cluster/*")]),
        _statement("AgentTopology", ("ec2:DescribeInstanceTopology", "ec2:DescribeInstanceTypes"), ["*"]),
        iam.PolicyStatement(
            sid="AgentMetrics",
            actions=["cloudwatch:PutMetricData"],
            resources=["*"],
            conditions={"StringEquals": {"cloudwatch:namespace": metric_names.NAMESPACE}},
        ),
    ):
        role.add_to_principal_policy(statement)


def make_flow_log_role(scope: Construct, log_group: logs.ILogGroup) -> iam.Role:
    """VPC flow logs write to their log group."""
    role = iam.Role(scope, "FlowLogRole", assumed_by=iam.ServicePrincipal("vpc-flow-logs.amazonaws.com"))
    log_group.grant_write(role)
    log_group.grant(role, "logs:DescribeLogStreams")
    return role


def make_handler_role(scope: Construct, log_group: logs.ILogGroup) -> iam.Role:
    """The Lambda function's role; it may write its log, and nothing else yet."""
    role = iam.Role(
        scope,
        "HandlerRole",
        description="Plans and describes the topology of a HyperPod Slurm cluster during deployments",
        assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
    )
    log_group.grant_write(role)
    return role


def allow_handler(
    role: iam.Role, asset: tuple[str, str], bucket: s3.IBucket, prefix: str, training_plans: Sequence[str]
) -> None:
    """What the plan needs: the bundle at ``asset`` (bucket, key), the lifecycle ``prefix``, facts of types."""
    stack = Stack.of(role)
    bundle = stack.format_arn(
        service="s3",
        region="",
        account="",
        resource=asset[0],
        resource_name=asset[1],
        arn_format=ArnFormat.SLASH_RESOURCE_NAME,
    )
    role.add_to_policy(_statement("ReadBundle", ("s3:GetObject",), [bundle]))
    role.add_to_policy(
        _statement("WriteLifecycleFiles", ("s3:GetObject", "s3:PutObject"), [bucket.arn_for_objects(f"{prefix}/*")])
    )
    role.add_to_policy(_listing(bucket, prefix))
    role.add_to_policy(_statement("InstanceTypes", ("ec2:DescribeInstanceTypes",), ["*"]))
    if training_plans:
        role.add_to_policy(_statement("TrainingPlans", ("sagemaker:DescribeTrainingPlan",), training_plans))
        role.add_to_policy(
            _statement(
                "UltraServers",
                ("sagemaker:ListUltraServersByReservedCapacity",),
                [_arn(stack, "sagemaker", "reserved-capacity/*")],  # a plan names them at deploy time only
            )
        )
    if bucket.encryption_key is not None:
        bucket.encryption_key.grant_encrypt_decrypt(role)


def allow_accounting(role: iam.IRole, secret: secretsmanager.ISecret) -> None:
    """slurmdbd on the controller reads the database's password."""
    secret.grant_read(role)


def grant(grantee: iam.IGrantable, cluster_arn: str, actions: Sequence[str]) -> iam.Grant:
    """What others may do with one cluster."""
    return iam.Grant.add_to_principal(grantee=grantee, actions=list(actions), resource_arns=[cluster_arn])


def allow_describing(scope: Construct, role: iam.IRole, cluster_arn: str) -> iam.Policy:
    """Reading this one cluster. A policy of its own, because its resource exists only after the cluster does."""
    policy = iam.Policy(
        scope, "DescribePolicy", statements=[_statement("DescribeCluster", DESCRIBE_CLUSTER, [cluster_arn])]
    )
    policy.attach_to_role(role)
    return policy


def _listing(bucket: s3.IBucket, prefix: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid="ListLifecycleFiles",
        actions=["s3:ListBucket"],
        resources=[bucket.bucket_arn],
        conditions={"StringLike": {"s3:prefix": [f"{prefix}/*"]}},
    )


def _statement(sid: str, actions: Iterable[str], resources: Iterable[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=list(actions), resources=list(resources))


def _arn(stack: Stack, service: str, resource: str, account: str | None = None) -> str:
    return stack.format_arn(service=service, resource=resource, account=account, arn_format=ArnFormat.NO_RESOURCE_NAME)
