"""cdk-nag findings that the library cannot avoid, acknowledged where they arise, each with its reason."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct

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
    flat = {_flat(resource): reason for resource, reason in zip(resolved, reasons.values(), strict=True)}
    acknowledge(construct, {f"AwsSolutions-IAM5[Resource::{arn}]": why for arn, why in flat.items() if "*" in arn})


def _flat(value: Any) -> str:
    """A resolved value as cdk-nag writes it."""
    if isinstance(value, str):
        return value
    (function, argument), *_ = value.items()
    if function == "Fn::Join":
        delimiter, parts = argument
        return str(delimiter).join(_flat(part) for part in parts)
    if function == "Fn::GetAtt":
        return f"<{'.'.join(_flat(part) for part in argument)}>"
    if function == "Fn::Sub" and isinstance(argument, str):
        return re.sub(r"\$\{([^}]*)\}", r"<\1>", argument)
    return f"<{_flat(argument)}>" if function == "Ref" else _flat(argument)
