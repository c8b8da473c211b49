"""cdk-nag findings that the library cannot avoid, acknowledged where they arise, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct

__all__ = ["acknowledge"]


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledge rules (id → reason) for ``construct`` and what is below it."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=rule, reason=reason) for rule, reason in reasons.items()))
