"""What slurmctld prints about jobs and nodes, recorded from 24.11.5 and 26.05.5 with names that look like fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurm_topology.core.errors import InputError
from slurm_topology.core.explain import JobPhase, NodeReason, NodeState, node_state, read_jobs, read_reasons

RECORDED = Path(__file__).parent / "recorded"
VERSIONS = ("24.11", "26.05")


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


@pytest.mark.parametrize("version", VERSIONS)
def test_jobs_of_every_kind(version: str) -> None:
    jobs = {job.id: job for job in read_jobs(recorded(f"jobs-{version}.txt"))}
    assert list(jobs) == ["1", "2", "3", "4_1", "5", "6", "7", "4_2-3%1"]
    plain = jobs["1"]
    assert (plain.name, plain.user, plain.partitions, plain.phase) == ("plain", "root", ("all",), JobPhase.RUNNING)
    assert plain.nodes == tuple(f"ip-10-1-0-{number}" for number in range(109, 113))
    assert plain.node_count == 4
    assert plain.started is not None
    assert plain.ended is None
    assert jobs["3"].phase is JobPhase.ENDED
    assert jobs["3"].ended is not None
    assert (jobs["4_1"].number, jobs["4_1"].phase) == ("8", JobPhase.RUNNING)
    assert jobs["4_2-3%1"].reason == "JobArrayTaskLimit"
    assert jobs["5"].exclusive_topology is True
    assert jobs["6"].exclusive_topology is False
    assert (jobs["6"].switches, jobs["6"].switches_wait) == (1, "00:05:00")
    assert (jobs["6"].excluded_nodes, jobs["6"].required_nodes) == (("ip-10-1-0-101",), ("ip-10-1-0-105",))
    assert (jobs["7"].phase, jobs["7"].node_count, jobs["7"].nodes) == (JobPhase.PENDING, 12, ())


@pytest.mark.parametrize("version", VERSIONS)
def test_slurms_word_for_nothing_is_nothing_in_every_field(version: str) -> None:
    text = recorded(f"jobs-{version}.txt")
    assert "ReqNodeList=(null)" in text
    values = [value for job in read_jobs(text) for value in job]
    flat = [each for value in values for each in (value if isinstance(value, tuple) else (value,))]
    assert [each for each in flat if "(null)" in str(each)] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_names_and_comments_that_look_like_fields_change_nothing(version: str) -> None:
    job = read_jobs(recorded(f"jobs-{version}.txt"))[1]
    assert job.name == "Job Name=x JobState=FAILED"
    assert job.state == "CONFIGURING"
    assert job.nodes == ("ip-10-1-0-101", *(f"ip-10-1-0-{number}" for number in range(105, 109)))


def test_only_newer_slurm_tells_the_segment_size() -> None:
    segments = [read_jobs(recorded(f"jobs-{version}.txt"))[4].segment for version in VERSIONS]
    assert segments == [None, 2]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("form", ["nodes", "nodes-oneliner"])
def test_reasons_with_their_time(version: str, form: str) -> None:
    reasons = read_reasons(recorded(f"{form}-{version}.txt"))
    assert {name: reason.text for name, reason in reasons.items()} == {
        "ip-10-1-0-103": "ecc [x@y] State=IDLE errors",
        "ip-10-1-0-116": "gpu 3",
    }
    assert all(isinstance(reason, NodeReason) and reason.since.startswith("2026-") for reason in reasons.values())


def test_no_jobs_is_no_error_and_another_text_is() -> None:
    assert read_jobs("No jobs in the system\n") == ()
    assert read_jobs("") == ()
    with pytest.raises(InputError, match="without --json"):
        read_jobs('{"jobs": []}')
    with pytest.raises(InputError, match="expected 'JobId="):
        read_jobs("JobId=none\n")


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("IDLE", NodeState.IDLE),
        ("IDLE+CLOUD+POWERED_DOWN", NodeState.IDLE),
        ("IDLE+PLANNED", NodeState.PLANNED),
        ("MIXED", NodeState.MIXED),
        ("ALLOCATED", NodeState.ALLOCATED),
        ("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP", NodeState.ALLOCATED),
        ("IDLE+COMPLETING", NodeState.ALLOCATED),
        ("IDLE+MAINTENANCE+RESERVED", NodeState.RESERVED),
        ("ALLOCATED+DRAIN", NodeState.DRAINING),
        ("IDLE+DRAIN", NodeState.DRAINED),
        ("DOWN+DRAIN", NodeState.DOWN),
        ("DOWN*", NodeState.DOWN),
        ("IDLE+NOT_RESPONDING", NodeState.DOWN),
        ("IDLE+POWERING_DOWN", NodeState.OFF),
        ("FUTURE", NodeState.OFF),
        ("SOMETHING_NEW", NodeState.UNKNOWN),
    ],
)
def test_states_fold_to_what_a_node_can_be_used_for(words: str, state: NodeState) -> None:
    assert node_state(words.split("+")) is state
