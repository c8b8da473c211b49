"""Findings and choices as text and as JSON, the same for every command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from slurm_topology.core.model import Choice, Finding, Plan, Severity

__all__ = ["choice_lines", "exit_code", "finding_lines", "findings_json", "has_errors", "plan_json"]

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)


def exit_code(findings: Iterable[Finding], *, strict: bool = False) -> int:
    """1 when there are error findings, or with ``strict`` warnings, else 0."""
    refused = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return 1 if any(finding.severity in refused for finding in findings) else 0


def finding_lines(findings: Sequence[Finding]) -> Iterable[str]:
    """Errors first: id, severity, message, and what to do on a line of its own."""
    for severity in _ORDER:
        for finding in sorted(each for each in findings if each.severity is severity):
            yield f"{finding.id} {severity.value}: {finding.message}"
            if finding.remedy:
                yield f"    → {finding.remedy}"


def findings_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [{**asdict(finding), "severity": finding.severity.value} for finding in sorted(findings)]


def choice_lines(plan: Plan) -> Iterable[str]:
    """One line per choice, the cluster's default first."""
    for choice in (plan.default, *plan.partitions):
        subject = f"partition {choice.subject}" if choice.subject else "cluster default"
        sizes = f", block size {', '.join(map(str, choice.block_sizes))}" if choice.block_sizes else ""
        yield f"{subject}: {choice.kind.value}{sizes}: {choice.reason}"


def plan_json(plan: Plan) -> dict[str, Any]:
    return {
        "default": _choice_json(plan.default),
        "partitions": {choice.subject: _choice_json(choice) for choice in plan.partitions},
    }


def _choice_json(choice: Choice) -> dict[str, Any]:
    return {
        "kind": choice.kind.value,
        "topology": choice.topology,
        "reason": choice.reason,
        "block_sizes": list(choice.block_sizes),
    }
