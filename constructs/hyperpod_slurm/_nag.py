"""cdk-nag findings that the library cannot avoid, acknowledged where they arise, each with its reason."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from aws_cdk import Acknowledgment, Stack, Validations
from aws_cdk import aws_ec2 as ec2
from constructs import IConstruct

from ._tokens import resolved_text

__all__ = ["acknowledge", "acknowledge_look_up", "acknowledge_wildcards"]

# What Vpc.from_lookup gives before AWS was asked: its ids have a form that CDK's own validation refuses.
_MADE_UP_VPC = "vpc-12345"
_FORMS_OF_IDS = ("CloudFormation-Validate::E1151", "CloudFormation-Validate::E1154")


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledge rules (id → reason) for ``construct`` and what is below it."""
    acknowledgments = [Acknowledgment(id=rule, reason=reason) for rule, reason in reasons.items()]
    # Early releases that have Validations (2.252 among them) refuse ids with "::" inside, which cdk-nag's ids have:
    # there such a finding can't be acknowledged by anybody.
    with contextlib.suppress(RuntimeError):
        Validations.of(construct).acknowledge(*acknowledgments)


def acknowledge_look_up(construct: IConstruct, vpc: ec2.IVpc) -> None:
    """In the first pass of a look-up, let ``construct`` use the made-up ids of ``vpc``: the CLI asks AWS only when that
    pass ends well."""
    if vpc.vpc_id == _MADE_UP_VPC:
        acknowledge(construct, dict.fromkeys(_FORMS_OF_IDS, "made up by CDK until the CLI has asked AWS"))


def acknowledge_wildcards(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledge those resources (ARN → reason) of policies of ``construct`` that are patterns.

    The ids are cdk-nag's: the ARN with each reference written as ``<LogicalId>`` or ``<LogicalId.Attribute>``.
    """
    resolved = Stack.of(construct).resolve(list(reasons))
    flat = {resolved_text(resource): reason for resource, reason in zip(resolved, reasons.values(), strict=True)}
    acknowledge(construct, {f"AwsSolutions-IAM5[Resource::{arn}]": why for arn, why in flat.items() if "*" in arn})
