"""docs/operations.md and docs/design/agent.md are held against the code."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from slurm_topology.agent import metrics
from slurm_topology.agent.decision import Action, Reason
from slurm_topology.agent.record import PassRecord
from slurm_topology.agent.settings import Mode, Settings
from slurm_topology.agent.state import AgentState
from slurm_topology.core.metric_names import METRICS

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "lifecycle_scripts" / "slurm_topology"
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
DESIGN = (ROOT / "docs" / "design" / "agent.md").read_text()
SOURCES = [path.read_text() for folder in ("agent", "cli") for path in sorted((LIBRARY / folder).glob("*.py"))]


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, code marks removed."""
    section = OPERATIONS.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_every_reason_is_explained_and_no_other() -> None:
    assert {row[1] for row in rows("Reasons")} == {reason.value for reason in Reason}
    assert {row[0] for row in rows("Reasons")} == {action.value for action in Action}


def test_every_finding_of_the_agent_is_explained_and_no_other() -> None:
    made = {found for text in SOURCES for found in re.findall(r'"(AGENT\d{3})"', text)}
    assert {row[0] for row in rows("Findings")} == made


def test_every_event_of_the_log_is_listed_and_no_other() -> None:
    logged = {found for text in SOURCES for found in re.findall(r'\.event\(\s*"([a-z-]+)"', text)}
    assert {event for row in rows("Log") for event in row[0].split(", ")} == logged


def test_every_setting_is_listed_and_no_other() -> None:
    assert {name for row in rows("Settings") for name in row[0].split(", ")} == {each.name for each in fields(Settings)}


def test_every_mode_is_explained() -> None:
    assert {row[0].split(" ")[0] for row in rows("Modes")} == {mode.value for mode in Mode}


def test_every_metric_is_listed_and_no_other() -> None:
    record = PassRecord(1.0, 1.0, Action.NOTHING, Reason.IN_FORCE)
    text = metrics.prometheus_text(AgentState(), record, mode="own", paused=False)
    table = rows("Metrics and alarms")
    assert {row[0] for row in table if len(row[0]) > 1} == {metric.name for metric in METRICS}
    listed = {name for row in table for name in row[1].split(", ")}
    assert listed == set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(test_\w+\.py)", DESIGN))))
def test_every_promise_names_tests_that_exist(path: str) -> None:
    """`…::name` is in the file named before it in the same row."""
    tree = ast.parse((ROOT / "tests" / "agent" / path).read_text())
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for row in DESIGN.splitlines():
        file = ""
        for named, function in re.findall(r"`(test_\w+\.py|…)(?:::(\w+))?`", row):
            file = named if named != "…" else file
            if file == path and function:
                assert function in functions, row
