"""First boot's seed passes the same guards as any change; whoever undoes us again and again is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.test_conf_being_written import CONF, members, seen
from slurm_topology.agent import picture
from slurm_topology.agent.apply import Applied
from slurm_topology.agent.compute import compute, seed
from slurm_topology.agent.decide import decide
from slurm_topology.agent.decision import Action, Decision, Reason
from slurm_topology.agent.disk import PLUGIN, DiskState
from slurm_topology.agent.observation import Observation
from slurm_topology.agent.outcome import after_success, record_of
from slurm_topology.agent.record import after_pass, written_digests
from slurm_topology.agent.settings import Mode, Settings
from slurm_topology.agent.situation import Situation
from slurm_topology.agent.state import AgentState
from slurm_topology.agent.text import digest
from slurm_topology.core.model import ClusterTopology, Flat, NamedTopology
from slurm_topology.core.slurm_version import SlurmVersion

SETTINGS = Settings()


def first_boot(look: Observation, state: AgentState | None = None) -> Decision:
    """Places are still unknown, and slurmctld runs with a tree plugin that has no file."""
    wanted = compute(look, {}, opt_out=False)
    assert wanted is not None
    chosen = state or AgentState()
    drawn = picture.draw(look, wanted, chosen)
    assert drawn.broken
    meanwhile = seed(look, wanted, opt_out=False)
    return decide(Situation(look, wanted, meanwhile, drawn, None, chosen, None, SETTINGS, Mode.OWN))


def test_a_seed_is_published_when_nothing_forbids_it() -> None:
    assert first_boot(seen(CONF, 10)).reason is Reason.SEEDED


def test_a_seed_does_not_end_jobs_on_nodes_that_slurm_conf_lost() -> None:
    look = seen(CONF.replace("NodeName=ip-10-1-0-7 NodeAddr=10.1.0.7\n", ""), 1000)
    assert look.slurm is not None
    busy = (*look.slurm.nodes[:7], look.slurm.nodes[7]._replace(states=("ALLOCATED",)))
    look = replace(look, slurm=replace(look.slurm, nodes=busy), resource_config=members(7))
    assert first_boot(look).reason is Reason.CONF_AHEAD


@pytest.mark.parametrize(("override", "reason"), [("tree:leaf1", Reason.OVERRIDES), ("flat:leaf1", Reason.SEEDED)])
def test_a_seed_does_not_take_away_what_an_override_names(override: str, reason: Reason) -> None:
    """A flat topology takes any unit of its own name, and refuses other topologies."""
    look = seen(CONF, 10)
    assert look.slurm is not None
    version = SlurmVersion(26, 5)
    nodes = (look.slurm.nodes[0]._replace(topology=override), *look.slurm.nodes[1:])
    view = replace(look.slurm, nodes=nodes, version=version)
    assert first_boot(replace(look, slurm=view, version=version, next_version=version)).reason is reason


def test_a_seed_that_failed_is_not_tried_again_at_once() -> None:
    look = seen(CONF, 10)
    target = first_boot(look).target
    state = AgentState(failed_wanted=digest(repr(target)), not_before=look.now + 30)
    assert first_boot(look, state).reason is Reason.BACKING_OFF


def later(disk: DiskState, state: AgentState, *, version: SlurmVersion, force_right: bool = True) -> Decision:
    """Slurm is right, ``disk`` isn't (for whatever reason)."""
    look = replace(seen(CONF, 10), disk=disk, version=version, next_version=version)
    assert look.slurm is not None
    look = replace(look, slurm=replace(look.slurm, version=version))
    wanted = compute(look, {}, opt_out=version.has_topology_yaml)
    assert wanted is not None
    if force_right:
        assert look.slurm is not None
        look = replace(look, slurm=replace(look.slurm, in_force=wanted.topology, plugin=wanted.rendering.plugin))
    drawn = picture.draw(look, wanted, state)
    return decide(Situation(look, wanted, None, drawn, None, state, None, SETTINGS, Mode.OWN))


def test_a_file_that_is_rewritten_for_ever_is_yielded_to_although_slurm_runs_with_ours() -> None:
    """The other writer never reconfigures: each of our passes would put the file back, for ever and without a word."""
    v, foreign = SlurmVersion(24, 11), DiskState("SwitchName=all Nodes=ip-10-1-0-[0-7]\n", None, "topology/tree")
    state, now, reasons = AgentState(written={"topology.conf": digest("ours")}), seen(CONF, 10).now, []
    for round_ in range(5):
        decision = later(foreign, state, version=v)
        reasons.append(decision.reason)
        if decision.action is Action.NOTHING:
            break
        record = record_of(None, decision, Applied(False, 0.0, ()), None, at=now, seconds=0)
        state = after_success(state, decision, Applied(False, 0.0, ()), SETTINGS, now - 10 + round_, [])
        state = after_pass(state, record, None, None)
    assert reasons == [Reason.FILE_WRONG] * 3 + [Reason.YIELDING]
    assert state.counters["reverts"] == 3


def test_a_plugin_line_that_is_set_back_for_ever_is_counted_too() -> None:
    """26.05, HyperPod's manager on: the line is our opt-out, and what the manager sets back at each event."""
    v = SlurmVersion(26, 5)
    wanted = later(DiskState(None, None, "topology/flat"), AgentState(), version=v, force_right=False).target
    assert wanted is not None
    state = AgentState(written=written_digests(wanted))
    assert PLUGIN in state.written
    assert later(wanted._replace(plugin="topology/tree"), state, version=v).reverted
    assert not later(wanted._replace(yaml=None), AgentState(), version=v).reverted, "nothing was ever ours"


def test_a_plugin_line_that_nobody_wants_changed_is_nobodys_revert() -> None:
    """26.05 without the manager: the yaml is in force whatever the line says, so an operator may change it."""
    v = SlurmVersion(26, 5)
    look = replace(seen(CONF, 10), disk=DiskState(None, "x", "topology/tree"), version=v, next_version=v)
    wanted = compute(look, {}, opt_out=False)
    assert wanted is not None
    state = AgentState(written={"topology.yaml": digest("x"), PLUGIN: digest("topology/flat")})
    assert not picture.draw(look, wanted, state).foreign


def test_what_a_rescue_wrote_is_ours() -> None:
    """Else the next pass takes it for another writer's work, and three rescues make us yield to ourselves."""
    target = DiskState("SwitchName=a Nodes=b\n", None, "topology/tree")
    decision = Decision(Action.RESCUE, Reason.DOWN_BY_TOPOLOGY)
    state = after_success(AgentState(), decision, Applied(False, 0.0, (), (), target), SETTINGS, 5.0, [])
    assert state.written == written_digests(target)


def test_flat_is_known_by_any_unit_of_its_name() -> None:
    flat = ClusterTopology((NamedTopology("default", Flat(), True),))
    look = seen(CONF, 10).slurm
    assert look is not None
    lost = [("default:any", True), ("any", True), ("other:any", False)]
    for override, kept in lost:
        view = replace(look, nodes=(look.nodes[0]._replace(topology=override),))
        assert (not list(picture.lost_overrides(view, flat))) is kept, override
