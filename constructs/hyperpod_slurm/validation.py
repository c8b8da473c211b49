"""Rules that are checked at synth: what HyperPod would reject after twenty minutes, or what would work less well.

A rule is a function from what was asked for to findings; rules know nothing of each other and all of them run, so that
one synth says everything. Values that are tokens hide only what depends on them. Each id has one meaning, and a section
in docs/validations.md with the cause, the remedy and AWS's own statement of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slurm_topology.core.model import Finding, Severity

from . import _rules_cluster, _rules_groups, _rules_network, _rules_software, _rules_storage
from ._rules import as_text
from ._spec import ClusterSpec

__all__ = ["RULES", "as_text", "validate"]

Rule = Callable[[ClusterSpec], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    *_rules_cluster.RULES,
    *_rules_groups.RULES,
    *_rules_software.RULES,
    *_rules_storage.RULES,
    *_rules_network.RULES,
)

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def validate(spec: ClusterSpec) -> tuple[Finding, ...]:
    """All findings, errors first, each once."""
    found = {finding for rule in RULES for finding in rule(spec)}
    return tuple(
        sorted(found, key=lambda finding: (_ORDER[finding.severity], finding.id, finding.subject, finding.message))
    )
