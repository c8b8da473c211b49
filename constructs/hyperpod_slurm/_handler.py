"""The Lambda function behind custom resources, and the custom resources that it answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aws_cdk import CustomResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from . import _assets, permissions

__all__ = ["Handler", "HandlerOptions", "fingerprint"]

# The plan takes seconds; the initial topology of 6,758 nodes takes about 70 pages and as many node descriptions as
# there are nodes, at SageMaker's rate limits.
_HANDLER_MINUTES = 15

# How long CloudFormation waits: longer than the function runs, so that its own answer, which says why, comes first.
_SERVICE_MINUTES = 20


@dataclass(frozen=True, kw_only=True)
class HandlerOptions:
    """Settings of a Lambda function that runs during deployments: the one that plans the topology, or a network's."""

    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    tracing: lambda_.Tracing = lambda_.Tracing.DISABLED
    vpc: ec2.IVpc | None = None
    """Default: outside of any VPC. Inside one, it needs a way to S3, EC2, SageMaker and CloudFormation."""

    vpc_subnets: ec2.SubnetSelection | None = None


class Handler:
    """One function, its role and its log group, made in ``scope``; ``purpose`` describes them to people."""

    def __init__(self, scope: Construct, options: HandlerOptions, purpose: str) -> None:
        self._code = _assets.build_handler()
        log_group = logs.LogGroup(
            scope,
            "HandlerLog",
            retention=options.log_retention,
            removal_policy=RemovalPolicy.DESTROY,
        )
        in_vpc, traced = options.vpc is not None, options.tracing is not lambda_.Tracing.DISABLED
        self.role: iam.Role = permissions.make_handler_role(scope, log_group, purpose, in_vpc=in_vpc, traced=traced)
        self._function = lambda_.Function(
            scope,
            "Handler",
            description=purpose,
            code=lambda_.Code.from_asset(str(self._code.path), asset_hash=self._code.content_hash),
            handler="slurm_topology.aws_lambda.handler.handle",
            runtime=lambda_.Runtime.PYTHON_3_14,
            memory_size=512,
            timeout=Duration.minutes(_HANDLER_MINUTES),
            role=self.role,
            log_group=log_group,
            tracing=options.tracing,
            vpc=options.vpc,
            vpc_subnets=options.vpc_subnets,
        )

    def custom_resource(self, scope: Construct, id: str, type: str, properties: Mapping[str, Any]) -> CustomResource:  # noqa: A002
        """CloudFormation runs a custom resource again only when a property changes: so new code changes one."""
        content = {"code": self._code.content_hash, **properties}
        return CustomResource(
            scope,
            id,
            service_token=self._function.function_arn,
            resource_type=type,
            service_timeout=Duration.minutes(_SERVICE_MINUTES),
            properties={**properties, "Fingerprint": fingerprint(scope, content)},
        )


def fingerprint(scope: Construct, content: Mapping[str, Any]) -> str:
    """SHA-256 of ``content``, tokens as the references that the template has."""
    return hashlib.sha256(json.dumps(Stack.of(scope).resolve(content), sort_keys=True).encode()).hexdigest()
