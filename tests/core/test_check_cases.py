"""The checker against tests/cases/topology, without Slurm; tests/slurmctld asks slurmctld about the same files."""

from __future__ import annotations

import pytest

from slurm_topology.core.check_rules import RULES
from slurm_topology.core.model import Severity
from topology_cases import CASES, Case

BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize(
    ("case", "version"),
    [pytest.param(case, version, id=f"{case.name}-{version}") for case in CASES for version in case.record["findings"]],
)
def test_the_findings_are_the_recorded_ones(case: Case, version: str) -> None:
    assert case.record["findings"][version] == sorted({finding.id for finding in case.findings(version)})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_slurmctld_does_not_take_is_named(case: Case) -> None:
    """And what it takes has no error, unless the case is marked as stricter on purpose."""
    for version, verdict in case.record["slurmctld"].items():
        severities = {RULES[name].severity for name in case.record["findings"][version]}
        if verdict in ("refuses", "crashes"):
            assert Severity.ERROR in severities, version
        elif verdict == "mangles":
            assert severities & {Severity.ERROR, Severity.WARNING}, version
        elif not case.record.get("stricter_on_purpose"):
            assert Severity.ERROR not in severities, version


def test_good_cases_are_good_and_bad_ones_bad() -> None:
    for case in CASES:
        faultless = set(case.record["slurmctld"].values()) == {"takes"} and not case.record.get("stricter_on_purpose")
        assert case.name.startswith("good/") == faultless, case.name


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("bad/tree-undefined-child", "24.11", "switch c (line 2): has the child 'x', which is not defined"),
        ("bad/conf-junk-line", "26.05", "topology.conf line 2: expected Key=Value, got 'hello world'"),
        (
            "bad/conf-continuation-joins-lines",
            "24.11",
            "topology.conf line 1: 'nodes' is given 2 times, the last one wins",
        ),
        ("bad/yaml-undefined-child", "25.11.4", "t: switch c (line 9): has the child 'x', which is not defined"),
        (
            "bad/yaml-default-word",
            "26.05",
            "topology t (line 5): cluster_default is 'junk', which slurmctld takes for true",
        ),
        (
            "bad/yaml-tab",
            "26.05",
            "topology.yaml line 3: is no YAML: found character '\\t' that cannot start any token",
        ),
        (
            "bad/blocks-short",
            "24.11",
            "block b2 (line 2): has 3 nodes that Slurm knows, expected 4 or more: slurmctld up",
        ),
    ],
)
def test_messages_tell_place_and_values(name: str, version: str, message: str) -> None:
    assert [
        text for text in (finding.message for finding in BY_NAME[name].findings(version)) if text.startswith(message)
    ]


def test_what_follows_from_unreadable_lines_is_not_told() -> None:
    """The host list is bad, so the leaf is empty and its nodes are unplaced: one finding is enough."""
    assert [finding.id for finding in BY_NAME["bad/hostlist-descending"].findings("24.11")] == ["TOPO008"]
