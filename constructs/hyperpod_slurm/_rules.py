"""What the rule modules share: how a finding is made, and the shapes that SageMaker's API gives to names."""

from __future__ import annotations

import re

from slurm_topology.core.model import Finding, Severity

__all__ = ["NAME", "as_text", "error", "is_name", "plural", "warning"]

# Patterns of ClusterName, ClusterInstanceGroupName and ClusterPartitionName (SageMaker API, CreateCluster).
NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*")
_MOST_NAME = 63


def error(id: str, subject: str, message: str, remedy: str) -> Finding:  # noqa: A002 - the finding's own word
    """Something that HyperPod rejects."""
    return Finding(id, Severity.ERROR, subject, message, remedy)


def warning(id: str, subject: str, message: str, remedy: str) -> Finding:  # noqa: A002 - the finding's own word
    """Something that works, but less well than it could."""
    return Finding(id, Severity.WARNING, subject, message, remedy)


def as_text(finding: Finding) -> str:
    """One line for people: id, subject (which messages of the core begin with by themselves), what is wrong, what to
    do."""
    named = not finding.subject or finding.message.startswith(f"{finding.subject}: ")
    subject = "" if named else f"{finding.subject}: "
    remedy = f". {finding.remedy}" if finding.remedy else ""
    return f"{finding.id} {subject}{finding.message}{remedy}"


def is_name(text: str, most: int = _MOST_NAME) -> bool:
    """Letters, digits and inner hyphens, 1 to ``most`` characters."""
    return len(text) <= most and NAME.fullmatch(text) is not None


def plural(number: int, word: str) -> str:
    """``1 subnet``, ``2 subnets``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
