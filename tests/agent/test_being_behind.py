"""`behind_since` (SecondsSinceMatch), the turn to rescue, and what a pass counts: pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.offline import record
from agent.test_conf_being_written import CONF, NAMES, decided, seen
from slurm_topology.agent import picture
from slurm_topology.agent.compute import compute
from slurm_topology.agent.decision import Action, Decision, Reason
from slurm_topology.agent.observation import Role
from slurm_topology.agent.outcome import news_of, record_of
from slurm_topology.agent.record import News, after_pass
from slurm_topology.agent.rehearse import Rehearsal, Verdict
from slurm_topology.agent.settings import Mode, Settings
from slurm_topology.agent.situation import Situation
from slurm_topology.agent.state import AgentState
from slurm_topology.core.errors import ApplyError
from slurm_topology.core.model import ClusterTopology, NamedTopology, Switch, Tree

BEHIND = AgentState(behind_since=5.0)


def news(*, down: bool = False, right: bool = False) -> News:
    return News("", [], "", complete=True, down=down, right=right, written={})


@pytest.mark.parametrize(
    ("reason", "told", "since"),
    [
        # nobody's mismatch: another controller answers for it, or it isn't ours to judge
        (Reason.STANDBY, news(), 0.0),
        (Reason.NOT_OURS, news(), 0.0),
        # a paused agent, or one that only observes, sees whether the topology is right
        (Reason.PAUSED, news(right=True), 0.0),
        (Reason.PAUSED, news(right=False), 5.0),
        (Reason.OBSERVING, news(right=True), 0.0),
        (Reason.YIELDING, news(right=False), 5.0),
        (Reason.NO_INPUT, None, 5.0),
    ],
)
def test_how_long_the_topology_has_not_matched(reason: Reason, told: News | None, since: float) -> None:
    assert after_pass(BEHIND, record(reason), told, None).behind_since == since


def test_a_paused_agent_that_was_right_begins_to_count_when_it_is_not() -> None:
    state = after_pass(AgentState(), record(Reason.PAUSED), news(right=True), None)
    assert state.behind_since == 0.0
    state = after_pass(state, record(Reason.PAUSED), news(right=False), None)
    assert state.behind_since == record().at


def test_the_second_controllers_turn_begins_when_slurmctld_goes_away_not_before() -> None:
    """It may have been behind for hours, for other reasons."""
    refused = Rehearsal(Verdict.REFUSED, ("fatal",))
    down = replace(seen(CONF, 1000), role=Role.DOWN, slurm=None, controller_rank=1)
    for state, reason in (
        (AgentState(behind_since=1.0), Reason.SLURM_DOWN),
        (AgentState(down_since=down.now - 60), Reason.SLURM_DOWN),
        (AgentState(down_since=down.now - 130), Reason.DOWN_BY_TOPOLOGY),
    ):
        assert decided(down, disk_verdict=refused, state=state)[1] is reason


def test_when_slurmctld_went_away_is_remembered_until_it_is_back() -> None:
    state = after_pass(AgentState(), record(Reason.SLURM_DOWN), news(down=True), None)
    assert state.down_since == record().at
    assert after_pass(state, replace(record(), at=2e6), news(down=True), None).down_since == record().at
    assert after_pass(state, record(Reason.IN_FORCE), news(), None).down_since == 0.0


def test_unplaced_nodes_are_told_when_nothing_can_be_computed() -> None:
    """Just then nobody places them."""
    look = seen(CONF, 10)
    assert look.slurm is not None
    tree = ClusterTopology((NamedTopology("tree", Tree((Switch("a", (), NAMES[:6]),)), True),))
    look = replace(look, slurm=replace(look.slurm, in_force=tree), resource_config=None)
    situation = Situation(look, None, None, None, None, AgentState(), None, Settings(), Mode.OWN)
    said = record_of(situation, Decision(Action.NOTHING, Reason.NO_INPUT), None, None, at=1.0, seconds=0.0)
    assert said.unplaced == 2
    assert "AGENT026" in {finding.id for finding in said.findings}


@pytest.mark.parametrize(("stage", "counted"), [("rehearse", 0), ("write", 0), ("reconfigure", 1), ("read-back", 1)])
def test_a_reconfigure_that_failed_was_one(stage: str, counted: int) -> None:
    decision = Decision(Action.PUBLISH, Reason.CHANGED)
    failed = record_of(None, decision, None, ApplyError("no", stage), at=1.0, seconds=0.0)
    assert after_pass(AgentState(), failed, None, None).counters["reconfigures"] == counted


def test_what_a_look_tells() -> None:
    look = seen(CONF, 10)
    wanted = compute(look, {}, opt_out=False)
    assert wanted is not None
    assert look.slurm is not None
    assert wanted.target is not None
    wrong = picture.draw(look, wanted, AgentState())
    situation = Situation(look, wanted, None, wrong, None, AgentState(), None, Settings(), Mode.OWN)
    assert not news_of(situation).right
    view = replace(look.slurm, in_force=wanted.topology, plugin=wanted.rendering.plugin)
    look = replace(look, slurm=view, disk=wanted.target)
    right = picture.draw(look, wanted, AgentState())
    assert news_of(replace(situation, seen=look, picture=right)).right
    assert news_of(replace(situation, seen=replace(look, role=Role.DOWN))).down
