"""The agent's small pure parts: jobs, pace, yielding, places, role, triggers, log, history, Slurm's answers."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_topology.agent import jobs, pace, places, triggers, writers
from slurm_topology.agent.files import Files
from slurm_topology.agent.history import History
from slurm_topology.agent.log import Log
from slurm_topology.agent.observation import Daemon, Role
from slurm_topology.agent.observe import role_of
from slurm_topology.agent.places import Place
from slurm_topology.agent.role import is_controller, local_addresses
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.slurm import ControllerLine, PendingJob, parse_config, parse_jobs, parse_ping
from slurm_topology.agent.state import AgentState
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Inventory, Node, Placement, Severity
from slurm_topology.core.plan_document import load
from slurm_topology.core.read_resource_config import read

# ---- jobs


def job(name: str, reason: str = "BadConstraints", submitted: float = 100.0) -> PendingJob:
    return PendingJob(name, (reason,), submitted)


def test_only_what_became_held_in_between_is_released() -> None:
    now = [job("1"), job("2"), job("3", "JobHeldUser"), job("4", submitted=999.0), job("5", "Priority")]
    assert jobs.to_release(now, {"1"}, until=500.0) == ("2",)


def test_an_array_counts_as_one_job_whatever_of_it_waits() -> None:
    assert jobs.held([job("7_[3-9]"), job("7_1"), job("8+1")]) == ["7", "8"]
    assert jobs.to_release([job("7_[4-9]")], {"7"}, 500.0) == ()
    assert jobs.to_release([job("7_[4-9]")], {"8"}, 500.0) == ("7_[4-9]",), "as Slurm names it"


def test_what_was_held_before_is_ours_only_when_the_topology_lacked_nodes() -> None:
    now = [job("1"), job("2")]
    assert jobs.held_before(now, {"1"}, (), nodes_lacked=False) == ["1", "2"]
    assert jobs.held_before(now, {"1"}, (), nodes_lacked=True) == ["1"]


def test_what_the_change_before_held_stays_ours() -> None:
    """1 was held before it, 2 by it, 3 was freed and held again, 4 was submitted after it."""
    now = [job("1"), job("2"), job("3"), job("4", submitted=300.0)]
    ours = jobs.made_by_us(now, {"1", "3"}, {"3"}, applied_at=200.0, now=260.0)
    assert ours == ["2", "3"]
    assert jobs.held_before(now, {"1", "3"}, ours, nodes_lacked=False) == ["1", "4"]
    assert jobs.held_before(now, {"1", "3"}, ours, nodes_lacked=True) == ["1"]
    assert jobs.made_by_us(now, {"1"}, (), applied_at=200.0, now=9_000.0) == [], "too long ago to be its doing"


def test_late_victims_are_released_once_and_for_a_while_only() -> None:
    now = [job("1"), job("2"), job("3")]
    assert jobs.late(now, {"1"}, {"2"}, applied_at=200.0, now=260.0) == ("3",)
    assert jobs.late(now, {"1"}, {"2"}, applied_at=200.0, now=900.0) == ()
    assert jobs.late(now, {"1"}, {"2"}, applied_at=900.0, now=200.0) == (), "a clock that jumped back"


# ---- pace


@given(st.lists(st.floats(0, 1000), max_size=20), st.floats(0, 1000), st.integers(1, 6))
def test_never_more_than_the_ceiling_in_any_minute(times: list[float], now: float, per_minute: int) -> None:
    wait = pace.seconds_until_allowed(times, now, per_minute)
    assert 0 <= wait <= 60 + 1e-6
    assert len(pace.recent(times, now + wait + 1e-6, 60.0)) < per_minute or any(time > now for time in times)


@given(st.integers(1, 10_000), st.floats(0, 0.999))
def test_backoff_is_bounded_and_jittered(failures: int, dice: float) -> None:
    wait = pace.backoff_seconds(failures, 5.0, 300.0, dice)
    assert 2.5 <= wait <= 300.0
    assert pace.backoff_seconds(failures, 5.0, 300.0, 0.0) <= wait


# ---- yielding


def test_yields_after_three_reverts_and_twice_as_long_at_the_next() -> None:
    settings, state = Settings(), AgentState()
    for now in (1000.0, 1030.0):
        state = writers.after_revert(state, now, settings)
        assert not writers.yields(state, now)
    state = writers.after_revert(state, 1060.0, settings)
    assert writers.yields(state, 1061.0)
    assert not writers.yields(state, 1060.0 + 1800.0)
    for now in (3000.0, 3010.0, 3020.0):
        state = writers.after_revert(state, now, settings)
    assert writers.yields(state, 3020.0 + 3599.0)
    assert not writers.yields(state, 3020.0 + 3600.0)


def test_one_revert_an_hour_is_no_fight_and_a_clock_that_jumped_back_no_eternity() -> None:
    state = AgentState()
    for hour in range(10):
        state = writers.after_revert(state, 3600.0 * (hour + 1), Settings())
    assert not writers.yields(state, 36_000.0)
    assert not writers.yields(replace(state, yield_until=1e9, yield_seconds=1800.0), 1000.0)


# ---- places

HERE, THERE = Placement(("core", "leaf1")), Placement(("core", "leaf2"))


def test_a_place_belongs_to_the_instance() -> None:
    known = {"n1": Place(HERE, "i-1"), "n2": Place(HERE, "i-2"), "n3": Place(HERE, None)}
    now = Inventory((Node("n1", "i-1"), Node("n2", "i-new"), Node("n3", "i-3")))
    assert places.last_known(now, known) == {"n1": HERE, "n3": HERE}
    assert places.remembered(now, known) == {"n1": Place(HERE, "i-1"), "n3": Place(HERE, "i-3")}


def test_news_beats_memory_and_silence_does_not() -> None:
    known = {"n1": Place(HERE, "i-1")}
    moved = Inventory((Node("n1", "i-1", placement=THERE),))
    silent = Inventory((Node("n1", "i-1", placement=Placement((), "us-1")),))
    assert places.remembered(moved, known)["n1"].placement == THERE
    assert places.remembered(silent, known)["n1"].placement == Placement(HERE.network_nodes, "us-1")


def test_nodes_that_are_away_are_remembered_up_to_a_bound() -> None:
    known = {f"gone{number}": Place(HERE, None) for number in range(1000)}
    assert len(places.remembered(Inventory(()), known)) == 256


# ---- who are we

GROUP = '{"Name": "%s", "InstanceType": "ml.m5.xlarge", "Role": "%s"}'
PLAN = '{"Format": 1, "Default": {"Kind": "flat"}, "Groups": [' + GROUP + "]}"


@pytest.mark.parametrize(
    ("role", "here", "expected"), [("Controller", False, True), ("Compute", False, False), ("Compute", True, True)]
)
def test_the_plan_tells_the_role_unless_slurmctld_runs_here(role: str, here: bool, expected: bool) -> None:
    config = read(
        {
            "InstanceGroups": [
                {"Name": "g", "InstanceType": "ml.m5.xlarge", "Instances": [{"CustomerIpAddress": "10.0.0.1"}]}
            ]
        }
    )
    assert is_controller({"10.0.0.1"}, config, load(PLAN % ("g", role)), slurmctld_here=here)[0] is expected


def test_nothing_known_is_neither_yes_nor_no() -> None:
    assert is_controller(set(), None, None, slurmctld_here=False)[0] is None


def test_own_addresses_come_from_the_kernel() -> None:
    """Networks and broadcast addresses are in the same table."""
    table = (
        "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.0\n        /8 host LOCAL\n     |-- 10.1.2.3\n"
        "        /32 host LOCAL\n     |-- 10.1.2.255\n        /32 link BROADCAST\n     |-- 127.0.0.1\n"
        "        /32 host LOCAL\n"
    )
    assert local_addresses(table) == {"10.1.2.3"}


@pytest.mark.parametrize(
    ("said", "host", "role"),
    [
        ("Slurmctld(primary) at one is UP\n", "anything", Role.ACTIVE),
        ("Slurmctld(primary) at one is DOWN\n", "one", Role.DOWN),
        ("Slurmctld(primary) at one is UP\nSlurmctld(backup1) at two is UP\n", "two.example", Role.STANDBY),
        ("Slurmctld(primary) at one is DOWN\nSlurmctld(backup1) at two is UP\n", "two.example", Role.ACTIVE),
        ("Slurmctld(primary) at one is DOWN\nSlurmctld(backup1) at two is UP\n", "one", Role.STANDBY),
        ("garbage", "one", Role.DOWN),
    ],
)
def test_only_the_controller_that_acts_for_the_cluster_acts(said: str, host: str, role: Role) -> None:
    assert role_of(parse_ping(said), host)[0] is role


@pytest.mark.parametrize(
    ("arguments", "foreground"),
    [
        (("slurmctld", "-f", "/x/-D"), False),
        (("slurmctld", "-D"), True),
        (("/opt/slurm/sbin/slurmctld", "-Dc"), True),
        (("slurmctld", "--systemd"), False),
        (("slurmctld", "-vvD", "-f", "x"), True),
    ],
)
def test_a_slurmctld_in_the_foreground_is_recognised(arguments: tuple[str, ...], foreground: bool) -> None:
    assert Daemon(1, arguments, "slurmctld").foreground is foreground


# ---- Slurm's answers


def test_ping_config_and_jobs_are_parsed() -> None:
    assert parse_ping("Slurmctld(primary) at vm is UP\n*** RESTORE ***\n") == (ControllerLine("primary", "vm", True),)
    config = parse_config(
        "Configuration data as of now\nSlurmUser               = slurm(64030)\nA = (null)\nB = N/A\nC = x = y\n"
    )
    assert config == {"SlurmUser": "slurm", "C": "x = y"}
    lines = "1_[1-9]|JobHeldUser,BadConstraints|2026-12-01T06:25:18\nwarning: x\n3|None|N/A\n"
    assert parse_jobs(lines) == (
        PendingJob("1_[1-9]", ("JobHeldUser", "BadConstraints"), 1796106318.0),
        PendingJob("3", ("None",), 0.0),
    )


def test_missing_triggers_are_found() -> None:
    listed = (
        "TRIG_ID RES_TYPE   RES_ID TYPE OFFSET USER FLAGS PROGRAM\n"
        f"      1 node            * up        0 slurm PERM {triggers.NOTIFIER}\n"
        "      2 node            * down      0 slurm PERM /somebody/elses\n"
    )
    assert triggers.missing(listed) == ["--down"]
    assert triggers.missing("") == ["--up", "--down"]


# ---- log and history


def test_a_log_line_is_one_line_of_pairs() -> None:
    stream = io.StringIO()
    Log(stream, prefix=True).event("pass", Severity.WARNING, seconds=0.5, why='two\nlines "quoted"', ok=True, gone=None)
    assert stream.getvalue() == '<4>event=pass seconds=0.500 why="two\\nlines \\"quoted\\"" ok=yes\n'


def test_history_is_bounded_and_a_broken_entry_is_skipped(tmp_path: Path) -> None:
    history = History(Files(), tmp_path / "history", limit=3)
    for number in range(5):
        history.add(
            at=1.0,
            reason="changed",
            slurm_version="24.11.0",
            conf_path="/x",
            summary=str(number),
            disk={},
            assignments={},
        )
    assert [entry.number for entry in history.entries()] == [5, 4, 3]
    (tmp_path / "history" / "000004.json").write_text("{")
    assert [entry.number for entry in history.entries()] == [5, 3]
    with pytest.raises(InputError, match="the last ones are: 3, 4, 5"):
        history.entry(1)
