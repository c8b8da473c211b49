"""docs/findings.md against the checker's rules and the recorded cases."""

from __future__ import annotations

import re
from pathlib import Path

from slurm_topology.core.check_rules import RULES
from slurm_topology.core.model import Severity
from topology_cases import CASES

DOCUMENT = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
ROWS = {
    row[0]: row for row in re.findall(r"^\| (TOPO0\d\d) \| (\w+) \| (.+) \| (.+) \| (.+) \|$", DOCUMENT, re.MULTILINE)
}
# rules that no file of two packaged versions can show; test_check.py has them
WITHOUT_CASE = {"TOPO015", "TOPO016", "TOPO017", "TOPO048", "TOPO057"}


def test_every_rule_is_explained_once() -> None:
    assert sorted(ROWS) == sorted(RULES)
    assert len(ROWS) == len(re.findall(r"^\| TOPO0\d\d \|", DOCUMENT, re.MULTILINE))


def test_severities_are_those_of_the_code() -> None:
    assert {name: row[1] for name, row in ROWS.items()} == {name: rule.severity.value for name, rule in RULES.items()}


def test_rules_stricter_than_slurmctld_say_so() -> None:
    """Each error in a case that slurmctld takes in full is documented as stricter on purpose."""
    for case in CASES:
        if case.record.get("stricter_on_purpose"):
            for version, verdict in case.record["slurmctld"].items():
                errors = [name for name in case.record["findings"][version] if RULES[name].severity is Severity.ERROR]
                assert verdict != "takes" or all("tricter on purpose" in " ".join(ROWS[name]) for name in errors), (
                    case.name
                )


def test_every_rule_has_a_case() -> None:
    shown = {name for case in CASES for names in case.record["findings"].values() for name in names}
    assert set(RULES) - shown == WITHOUT_CASE
