"""Findings at synth: errors stop it, all at once; warnings and facts are shown, and can be acknowledged by id."""

from __future__ import annotations

from collections.abc import Sequence

import jsii
from aws_cdk import Annotations
from constructs import Construct, IValidation

from slurm_topology.core.model import Finding, Plan, Severity

from ._rules import as_text

__all__ = ["annotation_id", "report"]


def report(construct: Construct, findings: Sequence[Finding], plan: Plan | None) -> None:
    """Attach the findings of the rules and of the plan to ``construct``."""
    everything = (*findings, *(plan.findings if plan else ()))
    errors = [as_text(finding) for finding in everything if finding.severity is Severity.ERROR]
    if errors:
        construct.node.add_validation(_Errors(errors))
    annotations = Annotations.of(construct)
    for finding in everything:
        if finding.severity is Severity.WARNING:
            annotations.add_warning_v2(annotation_id(finding), as_text(finding))
        elif finding.severity is Severity.INFO:
            annotations.add_info_v2(annotation_id(finding), as_text(finding))


def annotation_id(finding: Finding) -> str:
    """What `Annotations.of(cluster).acknowledge_warning` takes: ``hyperpod-slurm:HPS014``."""
    return f"hyperpod-slurm:{finding.id}"


@jsii.implements(IValidation)
class _Errors:
    def __init__(self, errors: list[str]) -> None:
        self._errors = errors

    def validate(self) -> list[str]:
        return self._errors
