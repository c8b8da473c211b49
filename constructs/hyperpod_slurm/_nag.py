"""cdk-nag findings that the library cannot avoid, acknowledged where they arise, each with its reason."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct

from ._tokens import resolved_text

__all__ = ["acknowledge", "acknowledge_wildcards"]


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledge rules (id → reason) for ``construct`` and what is below it."""
    acknowledgments = [Acknowledgment(id=rule, reason=reason) for rule, reason in reasons.items()]
    # Early releases that have Validations (2.252 among them) refuse ids with "::" inside, which cdk-nag's ids have:
    # there such a finding can't be acknowledged by anybody.
    with contextlib.suppress(RuntimeError):
        Validations.of(construct).acknowledge(*acknowledgments)


def acknowledge_wildcards(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledge those resources (ARN → reason) of policies of ``construct`` that are patterns.

    The ids are cdk-nag's: the ARN with each reference written as ``<LogicalId>`` or ``<LogicalId.Attribute>``.
    """
    resolved = Stack.of(construct).resolve(list(reasons))
    flat = {resolved_text(resource): reason for resource, reason in zip(resolved, reasons.values(), strict=True)}
    acknowledge(construct, {f"AwsSolutions-IAM5[Resource::{arn}]": why for arn, why in flat.items() if "*" in arn})
