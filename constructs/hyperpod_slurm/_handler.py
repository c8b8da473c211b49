"""The Lambda function behind the custom resources."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from . import permissions
from ._assets import BuiltAsset

__all__ = ["HandlerOptions", "make_handler", "service_timeout"]

# The plan takes seconds; the initial topology of 6,758 nodes takes about 70 pages and as many node descriptions as
# there are nodes, at SageMaker's rate limits.
_HANDLER_MINUTES = 15

# How long CloudFormation waits: longer than the function runs, so that its own answer, which says why, comes first.
_SERVICE_MINUTES = 20


def service_timeout() -> Duration:
    """How long CloudFormation waits for an answer."""
    return Duration.minutes(_SERVICE_MINUTES)


@dataclass(frozen=True, kw_only=True)
class HandlerOptions:
    """Settings of the Lambda function that plans and describes the topology during deployments."""

    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    tracing: lambda_.Tracing = lambda_.Tracing.DISABLED
    vpc: ec2.IVpc | None = None
    """Default: outside of any VPC. Inside one, it needs a way to S3, EC2, SageMaker and CloudFormation."""

    vpc_subnets: ec2.SubnetSelection | None = None


def make_handler(scope: Construct, code: BuiltAsset, options: HandlerOptions) -> lambda_.Function:
    """One function, its role and its log group."""
    log_group = logs.LogGroup(
        scope,
        "HandlerLog",
        retention=options.log_retention,
        removal_policy=RemovalPolicy.DESTROY,
    )
    return lambda_.Function(
        scope,
        "Handler",
        description="Plans and describes the topology of a HyperPod Slurm cluster during deployments",
        code=lambda_.Code.from_asset(str(code.path), asset_hash=code.content_hash),
        handler="slurm_topology.aws_lambda.handler.handle",
        runtime=lambda_.Runtime.PYTHON_3_14,
        memory_size=512,
        timeout=Duration.minutes(_HANDLER_MINUTES),
        role=permissions.make_handler_role(
            scope, log_group, in_vpc=options.vpc is not None, traced=options.tracing is not lambda_.Tracing.DISABLED
        ),
        log_group=log_group,
        tracing=options.tracing,
        vpc=options.vpc,
        vpc_subnets=options.vpc_subnets,
    )
