"""What is to be done about what was seen: one explicit action, with a reason, for doing nothing too. Pure.

The questions are asked in a fixed order (``MAY_WE``, ``IS_THERE_A_NEED``), the first that has an answer wins. What
nobody objects to is done.

Invariant: an action that can change what Slurm runs with is returned only when the wanted topology passed the
checker, mode and pause allow it, no other writer insists, and the pace allows it. The rehearsal comes after this, in
``apply``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import starmap

from slurm_topology.agent import findings, pace, writers
from slurm_topology.agent.decision import Action, Decision, Reason
from slurm_topology.agent.observation import Observation, Role
from slurm_topology.agent.picture import lost_overrides
from slurm_topology.agent.rehearse import Verdict
from slurm_topology.agent.settings import Mode, Settings
from slurm_topology.agent.situation import Compared, Situation
from slurm_topology.agent.smaller import smaller_jobs
from slurm_topology.agent.text import digest
from slurm_topology.core.model import Finding

__all__ = ["decide"]


SLURM_DOWN_AGAIN_SECONDS = 5.0
RESCUE_TURN_SECONDS = 120.0  # what the agent of an earlier controller may need to look and to mend
CONF_AHEAD_AGAIN_SECONDS = 10.0  # HyperPod's own reconfigure follows its edit within seconds


def decide(situation: Situation) -> Decision:
    for question in MAY_WE:
        answer = question(situation)
        if answer is not None:
            return answer
    if situation.wanted is None:
        return _nothing(Reason.NO_INPUT)
    if situation.picture is None:
        return _nothing(Reason.CHECK_FAILED)
    compared = Compared(
        situation.seen,
        situation.wanted,
        situation.seed,
        situation.picture,
        situation.state,
        situation.settings,
        situation.mode,
    )
    for each in IS_THERE_A_NEED:
        answer = each(compared)
        if answer is not None:
            return answer
    return _act(compared)


def _nothing(reason: Reason, *found: Finding, again: float | None = None) -> Decision:
    return Decision(Action.NOTHING, reason, findings=found, again_after_seconds=again)


# ---- may we, can we?


def _somewhere_else(situation: Situation) -> Decision | None:
    return _nothing(Reason.STANDBY) if situation.seen.role is Role.STANDBY else None


def _unknown_slurm(situation: Situation) -> Decision | None:
    if situation.seen.conf is None:
        return _nothing(Reason.NO_SLURM_CONF)
    return _nothing(Reason.NO_VERSION) if situation.seen.version is None else None


def _paused(situation: Situation) -> Decision | None:
    pause = situation.pause
    return None if pause is None else _nothing(Reason.PAUSED, findings.paused(pause.reason))


def _down(situation: Situation) -> Decision | None:
    """slurmctld is away: because of the files, which only we will mend, or for another reason, which isn't ours."""
    if situation.seen.role is not Role.DOWN:
        return None
    verdict = situation.disk_verdict
    if verdict is None or verdict.verdict is not Verdict.REFUSED:
        return _nothing(Reason.SLURM_DOWN, findings.slurm_down(), again=SLURM_DOWN_AGAIN_SECONDS)
    found = findings.down_by_topology(verdict.reasons)
    if situation.mode is Mode.OBSERVE:
        return _nothing(Reason.OBSERVING, found)
    if (wait := _wait_for_conf(situation.seen, situation.settings)) > 0:
        return _nothing(Reason.CONF_CHANGING, found, again=wait)
    if not _our_turn(situation):
        return _nothing(Reason.SLURM_DOWN, found, again=SLURM_DOWN_AGAIN_SECONDS)
    return Decision(Action.RESCUE, Reason.DOWN_BY_TOPOLOGY, findings=(found,))


def _our_turn(situation: Situation) -> bool:
    """With all controllers down, their agents would all write the one shared folder: one after the other."""
    since, seen = situation.state.down_since, situation.seen
    return (seen.now - since if since else 0.0) >= seen.controller_rank * RESCUE_TURN_SECONDS


def _version_changing(situation: Situation) -> Decision | None:
    seen = situation.seen
    if seen.next_version is None or seen.version == seen.next_version:
        return None
    found = findings.version_changing(str(seen.version), str(seen.next_version), seen.slurmctld)
    return _nothing(Reason.VERSION_CHANGING, found)


MAY_WE: tuple[Callable[[Situation], Decision | None], ...] = (
    _somewhere_else,
    _unknown_slurm,
    _paused,
    _down,
    _version_changing,
)


# ---- is there anything to do?


def _all_right(compared: Compared) -> Decision | None:
    return _nothing(Reason.IN_FORCE) if compared.picture.right else None


def _observing(compared: Compared) -> Decision | None:
    return _nothing(Reason.OBSERVING) if compared.mode is Mode.OBSERVE else None


def _not_ours(compared: Compared) -> Decision | None:
    guest = compared.mode is Mode.REPAIR and not compared.picture.broken
    return _nothing(Reason.NOT_OURS) if guest else None


def _yielding(compared: Compared) -> Decision | None:
    """Another writer insists. We let it have its way, unless slurmctld couldn't start with its file."""
    state, now = compared.state, compared.seen.now
    if not writers.yields(state, now) or compared.picture.disk_refused:
        return None
    return _nothing(Reason.YIELDING, findings.yielding(state.yield_until - now, compared.seen.manager_active))


# ---- is this the moment?


def _waiting_for_places(compared: Compared) -> Decision | None:
    """First boot: nodes and labels come one by one. Publish once, when they are all there.

    While everything works as it is, nothing is done until then; what doesn't work gets the seed, under which it does.
    """
    seed = compared.seed
    if seed is None:
        return None
    found = findings.waiting_for_places(compared.wanted.incomplete, compared.wanted.missing)
    if not compared.picture.broken:
        return _nothing(Reason.WAITING_FOR_PLACES, found)
    lost = tuple(lost_overrides(compared.seen.slurm, seed.topology))
    instead = compared._replace(wanted=seed, picture=replace(compared.picture, lost_overrides=lost))
    for question in IS_IT_SAFE:
        answer = question(instead)
        if answer is not None:
            return answer
    if seed.target is None:
        return None
    return Decision(
        Action.PUBLISH, Reason.SEEDED, seed.target, seed.topology, dict(seed.assignments), (found,), goal=_goal(instead)
    )


def _overrides(compared: Compared) -> Decision | None:
    """A node's own Topology= that names a unit which the wanted topology lacks: reconfigure and start would fail."""
    lost = compared.picture.lost_overrides
    return _nothing(Reason.OVERRIDES, *starmap(findings.override_in_the_way, lost)) if lost else None


def _conf_changing(compared: Compared) -> Decision | None:
    """slurm.conf was written a moment ago: its writer may be half-way, and what is computed from half isn't wanted."""
    wait = _wait_for_conf(compared.seen, compared.settings)
    return _nothing(Reason.CONF_CHANGING, again=wait) if wait > 0 else None


def _wait_for_conf(seen: Observation, settings: Settings) -> float:
    age = seen.conf_age_seconds
    return 0.0 if age is None else settings.coalesce_seconds - age


def _conf_ahead(compared: Compared) -> Decision | None:
    """slurm.conf lacks nodes that are in use: the reconfigure that takes them away is its writer's to do, not ours."""
    nodes = compared.picture.leaving
    if not nodes:
        return None
    return _nothing(Reason.CONF_AHEAD, findings.conf_ahead(nodes), again=CONF_AHEAD_AGAIN_SECONDS)


def _backing_off(compared: Compared) -> Decision | None:
    state = compared.state
    wait = state.not_before - compared.seen.now
    same = _goal(compared) == state.failed_wanted
    due = not same or not 0 < wait <= compared.settings.backoff_limit_seconds
    return None if due else _nothing(Reason.BACKING_OFF, again=wait)


def _assign_meanwhile(compared: Compared) -> Decision | None:
    """A change that has to wait is no reason to leave partitions without what the topology in force can give them."""
    picture = compared.picture
    if not picture.assignable or (picture.disk_right and picture.force_right):
        return None
    if all(question(compared) is None for question in IS_IT_SAFE):
        return None
    given = dict(picture.assignable)
    goal = digest(repr(sorted(given.items())))
    return Decision(Action.ASSIGN, Reason.UNASSIGNED, assignments=given, goal=goal, reverted=picture.claimed)


def _goal(compared: Compared) -> str:
    """Files, or the partitions' topologies when they alone are left to do."""
    picture = compared.picture
    only_assignments = picture.disk_right and picture.force_right
    return digest(repr(sorted(picture.assignments.items()) if only_assignments else compared.wanted.target))


def _ceiling(compared: Compared) -> Decision | None:
    wait = _wait_for_ceiling(compared)
    return _nothing(Reason.CEILING, again=wait) if wait > 0 else None


def _wait_for_ceiling(compared: Compared) -> float:
    per_minute = compared.settings.reconfigures_per_minute
    return pace.seconds_until_allowed(compared.state.reconfigures, compared.seen.now, per_minute)


IS_IT_SAFE: tuple[Callable[[Compared], Decision | None], ...] = (_overrides, _conf_ahead, _backing_off, _ceiling)

IS_THERE_A_NEED: tuple[Callable[[Compared], Decision | None], ...] = (
    _all_right,
    _observing,
    _not_ours,
    _yielding,
    _conf_changing,
    _waiting_for_places,
    _assign_meanwhile,
    *IS_IT_SAFE,
)


def _act(compared: Compared) -> Decision:
    picture, wanted, goal = compared.picture, compared.wanted, _goal(compared)
    reverted = picture.foreign or picture.claimed
    all_assigned, wrongly_assigned = dict(wanted.assignments), dict(picture.assignments)
    if picture.disk_right and picture.force_right:
        return Decision(
            Action.ASSIGN, Reason.UNASSIGNED, assignments=wrongly_assigned, goal=goal, reverted=picture.claimed
        )
    if picture.disk_right:
        return Decision(Action.RELOAD, Reason.NOT_LOADED, compared.seen.disk, wanted.topology, all_assigned, goal=goal)
    if picture.force_right:
        action, reason, assignments = Action.RESTORE_FILE, Reason.FILE_WRONG, wrongly_assigned
    else:
        action, reason, assignments = Action.PUBLISH, _why_published(compared), all_assigned
    found = (*_insisting(compared), *(_said_of_jobs(compared) if action is Action.PUBLISH else ()))
    return Decision(action, reason, wanted.target, wanted.topology, assignments, found, goal=goal, reverted=reverted)


def _said_of_jobs(compared: Compared) -> tuple[Finding, ...]:
    view = compared.seen.slurm
    return tuple(findings.smaller_job(*job) for job in smaller_jobs(view, compared.wanted)) if view else ()


def _insisting(compared: Compared) -> tuple[Finding, ...]:
    """We would have yielded by now, were it not for what the other one writes."""
    fought = compared.picture.foreign and writers.yields(compared.state, compared.seen.now)
    return (findings.refused_again(compared.seen.manager_active),) if fought else ()


def _why_published(compared: Compared) -> Reason:
    if compared.mode is Mode.REPAIR:
        return Reason.REPAIRED
    return Reason.REVERTED if compared.picture.foreign else Reason.CHANGED
