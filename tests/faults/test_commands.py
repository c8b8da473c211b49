"""Faults of what is done to Slurm: which commands the agent gives, to which jobs, how often."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from slurm_topology.agent import daemon
from slurm_topology.agent.jobs import held_before, to_release
from slurm_topology.agent.pace import seconds_until_allowed
from slurm_topology.agent.shell import Completed, Shell
from slurm_topology.agent.slurm import PendingJob, Slurm


@dataclass(frozen=True)
class RecordingShell(Shell):
    """Runs nothing. Every unit has failed, one trigger is set, and no other program has anything to say."""

    given: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, argv: Sequence[str], *, timeout: float, user: str | None = None) -> Completed:
        self.given.append(tuple(argv))
        said = {"ActiveState": "failed", "--get": "9 node * up 0 slurm - program"}
        return Completed(tuple(argv), 0, next((said[word] for word in argv if word in said), ""), "")


@pytest.fixture
def every_command() -> list[tuple[str, ...]]:
    """All that the agent can say to Slurm and to systemd about slurmctld."""
    shell = RecordingShell()
    slurm = Slurm(shell, 1.0)
    arguments: dict[str, tuple[object, ...]] = {
        "assign": ("train", "tree"),
        "clear_triggers": ("program", "slurm"),
        "release": (["7"],),
        "set_trigger": ("--up", "program", "slurm"),
        "version_of": ("slurmctld",),
    }
    for name in vars(Slurm):
        if not name.startswith("_") and callable(getattr(slurm, name)):
            getattr(slurm, name)(*arguments.get(name, ()))
    for name in daemon.__all__:
        if list(inspect.signature(getattr(daemon, name)).parameters) == ["shell", "unit"]:
            getattr(daemon, name)(shell, "slurmctld.service")
    return shell.given


def test_slurmctld_is_never_restarted(every_command: list[tuple[str, ...]]) -> None:
    """A restart makes nodes "not responding" and loses what was only told live; a reconfigure is enough for all that
    changes here. What systemd has given up on is started, no more."""
    words = {word for command in every_command for word in command}
    assert not words & {"restart", "stop", "kill", "try-restart", "shutdown", "takeover", "reload"}
    assert {("scontrol", "reconfigure"), ("systemctl", "start", "--no-block", "slurmctld.service")} <= {*every_command}


def test_a_nodes_own_topology_is_never_set(every_command: list[tuple[str, ...]]) -> None:
    """`scontrol update NodeName=… Topology=…` is saved for CLOUD nodes, beats the file, and keeps slurmctld from
    starting when the file later lacks its leaf; on 25.11.4 even setting an equal one switches block scheduling off."""
    updates = [command for command in every_command if "update" in command]
    assert updates == [("scontrol", "update", "PartitionName=train", "Topology=tree")]


def test_nothing_is_cancelled_requeued_drained_or_resumed(every_command: list[tuple[str, ...]]) -> None:
    assert {command[0].rpartition("/")[2] for command in every_command} == {
        *("scontrol", "sinfo", "squeue", "slurmctld", "strigger", "systemctl")
    }
    assert ("strigger", "--clear", "--id=9") in every_command
    verbs = {command[1] for command in every_command if command[0] == "scontrol" and not command[1].startswith("-")}
    assert verbs == {"ping", "show", "reconfigure", "update", "release"}


def bad(job: str, submitted: float) -> PendingJob:
    return PendingJob(job, ("BadConstraints",), submitted)


def test_only_jobs_that_a_change_of_ours_held_are_released() -> None:
    """Somebody's hold, a job that never fitted, and a job that came after the change stay as they are."""
    by_user = PendingJob("4", ("JobHeldUser",), 10.0)
    jobs = [bad("1", 10.0), bad("2_[1-9]", 10.0), bad("3", 999.0), by_user]
    assert to_release(jobs, ["1"], until=100.0) == ("2_[1-9]",)


def test_jobs_that_a_topology_without_their_nodes_held_are_released_too() -> None:
    """HyperPod adds a node before anybody can place it: what became held meanwhile is no fault of the job."""
    jobs = [bad("1", 10.0), bad("2", 10.0)]
    assert held_before(jobs, ["2"], (), nodes_lacked=True) == ["2"]
    assert held_before(jobs, ["2"], (), nodes_lacked=False) == ["1", "2"], (
        "every node had a place: their own request is bad"
    )


def test_a_storm_of_changes_is_no_storm_of_reconfigures() -> None:
    """Each reconfigure makes every slurmd re-exec and slurmctld deaf for as long as it takes."""
    done: list[float] = []
    for now in range(600):  # something changes each second
        if seconds_until_allowed(done, float(now), 4) == 0:
            done.append(float(now))
    assert len(done) == 4 * 10
    assert all(later - earlier >= 60 for earlier, later in zip(done, done[4:], strict=False))


def test_a_clock_that_jumps_back_does_not_stop_the_agent() -> None:
    assert seconds_until_allowed([1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3], 100.0, 4) == 0
