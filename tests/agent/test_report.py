"""Reporting never matters to the agent's work, and only the controller that acts reports."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.offline import make_world, record, write_members
from slurm_topology.agent.decision import Action, Reason
from slurm_topology.agent.report import report, send_to_cloudwatch
from slurm_topology.agent.state import AgentState
from slurm_topology.core.errors import AwsError


class Sent:
    """Takes the reports."""

    def __init__(self, fails_with: Exception | None = None) -> None:
        self.points: list[Mapping[str, Any]] = []
        self._fails_with = fails_with

    def __call__(self, region: str, namespace: str, points: Sequence[Mapping[str, Any]]) -> None:
        if self._fails_with is not None:
            raise self._fails_with
        self.points += points


def test_the_active_controller_reports(tmp_path: Path) -> None:
    world, _ = make_world(tmp_path)
    write_members(world, [])
    sent = Sent()
    report(world, record(unplaced=3), sent)
    assert {point["MetricName"]: point["Value"] for point in sent.points}["UnplacedNodes"] == 3
    assert world.settings.metrics_textfile is not None
    assert 'mode="own"' in world.settings.metrics_textfile.read_text()


def test_a_standby_controller_reports_nothing(tmp_path: Path) -> None:
    """Its zeros would stand beside the active one's numbers under the same dimension, and its passes hide that one's
    silence."""
    world, _ = make_world(tmp_path)
    write_members(world, [])
    sent = Sent()
    report(world, record(Reason.STANDBY), sent)
    assert sent.points == []


@pytest.mark.parametrize(
    "error",
    [AwsError("throttled", "cloudwatch:PutMetricData"), ImportError("no module"), SyntaxError("match"), ValueError()],
    ids=lambda error: type(error).__name__,
)
def test_whatever_goes_wrong_is_one_line_in_the_log(tmp_path: Path, error: Exception) -> None:
    """An SDK that doesn't suit the node's Python, say, must not end the service's loop."""
    world, log = make_world(tmp_path)
    write_members(world, [])
    report(world, record(Reason.CHANGED, Action.PUBLISH), Sent(error))
    assert log.getvalue().count("event=metrics-not-reported") == 1


def test_a_report_that_fails_is_not_tried_at_every_pass(tmp_path: Path) -> None:
    """Importing an SDK that can't be imported costs a second each time."""
    world, log = make_world(tmp_path)
    write_members(world, [])
    for _ in range(3):
        report(world, record(), Sent(ImportError("no module")))
    assert log.getvalue().count("event=metrics-not-reported") == 1


def test_an_sdk_that_cannot_be_imported_is_an_aws_error(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def broken(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "slurm_topology" and "aws" in (arguments[2] if len(arguments) > 2 else ()):
            raise SyntaxError("invalid syntax", ("botocore/session.py", 1, 1, "match x:"))
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(AwsError, match="no CloudWatch client: invalid syntax"):
        send_to_cloudwatch("us-west-2", "SlurmTopology", [])


def test_a_broken_plan_hides_no_metrics(tmp_path: Path) -> None:
    """AGENT014 says that it is broken."""
    world, log = make_world(tmp_path)
    write_members(world, [])
    world.settings.plan.parent.mkdir()
    world.settings.plan.write_text("{")
    sent = Sent()
    report(world, record(), sent)
    assert sent.points
    assert world.settings.metrics_textfile is not None
    assert world.settings.metrics_textfile.exists()
    assert log.getvalue() == ""


def test_a_text_file_that_cannot_be_written_does_not_silence_cloudwatch(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    world, log = make_world(tmp_path, metrics_textfile=tmp_path / "file" / "agent.prom")
    write_members(world, [])
    sent = Sent()
    report(world, record(), sent)
    assert sent.points
    assert log.getvalue().count("event=metrics-not-reported") == 1


def test_a_report_leaves_the_state_of_the_passes_alone(tmp_path: Path) -> None:
    """It runs after the lock is given back: another pass may be writing that state meanwhile."""
    world, _ = make_world(tmp_path)
    write_members(world, [])
    store = world.store()
    store.save_state(AgentState(counters={"passes": 5}))

    def slow(region: str, namespace: str, points: Sequence[Mapping[str, Any]]) -> None:
        store.save_state(AgentState(counters={"passes": 6}, written={"topology.yaml": "ours"}))

    report(world, record(), slow)
    assert store.load_state() == AgentState(counters={"passes": 6}, written={"topology.yaml": "ours"})
    sent = Sent()
    report(world, record(Reason.CHANGED, Action.PUBLISH), sent)
    assert {point["MetricName"]: point["Value"] for point in sent.points}["Passes"] == 1, "what came since"
