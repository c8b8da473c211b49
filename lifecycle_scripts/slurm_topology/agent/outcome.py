"""What came of a pass: its record, and how an apply changes the agent's memory. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from slurm_topology.agent import findings, jobs, pace, writers
from slurm_topology.agent.apply import Applied
from slurm_topology.agent.decision import Action, Decision
from slurm_topology.agent.observation import Role
from slurm_topology.agent.picture import exempt, unplaced_nodes
from slurm_topology.agent.record import News, PassRecord, put_by_us, written_digests
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.situation import Situation
from slurm_topology.agent.state import AgentState
from slurm_topology.core.model import Finding

__all__ = ["after_failure", "after_success", "news_of", "record_of"]

LOOK_AGAIN_SECONDS = 15.0  # after a change: the scheduler may hold a job some seconds later
# Failures in these stages come after a reconfigure was tried: it counts for the ceiling.
AFTER_RECONFIGURE = ("reconfigure", "ping", "read-back")


def record_of(
    situation: Situation | None,
    decision: Decision,
    applied: Applied | None,
    failure: Exception | None,
    *,
    at: float,
    seconds: float,
) -> PassRecord:
    """One pass as a record."""
    view = situation.seen.slurm if situation else None
    unplaced = _unplaced(situation) if applied is None or failure is not None else ()
    done = Applied(False, 0.0, ()) if applied is None else applied
    return PassRecord(
        at=at,
        seconds=seconds,
        action=decision.action,
        reason=decision.reason,
        failed=(str(failure) or repr(failure)) if failure else "",
        stage=getattr(failure, "stage", "") if failure else "",
        reverted=decision.reverted and applied is not None and failure is None,
        reconfigured=done.reconfigured or getattr(failure, "stage", "") in AFTER_RECONFIGURE,
        reconfigure_seconds=done.reconfigure_seconds,
        released=done.released,
        nodes=len(view.nodes) if view else 0,
        unplaced=len(unplaced),
        findings=(*_seen(situation), *_told(unplaced, exempt(view).elsewhere), *decision.findings, *done.findings),
        again_after_seconds=decision.again_after_seconds if applied is None else LOOK_AGAIN_SECONDS,
    )


def _unplaced(situation: Situation | None) -> tuple[str, ...]:
    """Also when nothing can be computed: just then nobody mends it."""
    view = situation.seen.slurm if situation else None
    return unplaced_nodes(view) if view else ()


def _seen(situation: Situation | None) -> tuple[Finding, ...]:
    if situation is None:
        return ()
    return (*situation.seen.findings, *(situation.wanted.findings if situation.wanted else ()))


def _told(unplaced: Sequence[str], overridden: Collection[str]) -> Iterator[Finding]:
    if unplaced:
        yield findings.unplaced(unplaced)
    if overridden:
        yield findings.override_found(sorted(overridden))


def after_success(
    state: AgentState, decision: Decision, applied: Applied, settings: Settings, now: float, held_before: list[str]
) -> AgentState:
    """An apply went well. ``held_before``: the jobs that were held already and aren't ours to release."""
    target = applied.target or decision.target
    reconfigures = pace.recent(state.reconfigures, now, 60.0)
    if applied.reconfigured:
        reconfigures.append(now)
    if decision.reverted:
        state = writers.after_revert(state, now, settings)
    if decision.action is not Action.ASSIGN or decision.goal == state.failed_wanted:
        # partitions may be put right while a change of the files waits for its next attempt
        state = replace(state, failures=0, failed_wanted="", not_before=0.0)
    return replace(
        state,
        written=written_digests(target) if target else state.written,
        put=put_by_us(state.put, target, applied.wrote, now) if target else state.put,
        assigned={**state.assigned, **decision.assignments},
        applied_at=now,
        held_jobs=held_before,
        released_jobs=jobs.bases(applied.released),
        reconfigures=reconfigures,
        reconfigure_seconds=applied.reconfigure_seconds or state.reconfigure_seconds,
        behind_since=0.0,
    )


def after_failure(
    state: AgentState, decision: Decision, error: Exception, settings: Settings, now: float, dice: float
) -> AgentState:
    """An apply failed (and was undone): count it, and when to try the same again."""
    failures = state.failures + 1 if decision.goal == state.failed_wanted else 1
    wait = pace.backoff_seconds(failures, settings.backoff_first_seconds, settings.backoff_limit_seconds, dice)
    reconfigures = pace.recent(state.reconfigures, now, 60.0)
    if getattr(error, "stage", "") in AFTER_RECONFIGURE:
        reconfigures.append(now)
    return replace(
        state, failures=failures, failed_wanted=decision.goal, not_before=now + wait, reconfigures=reconfigures
    )


def news_of(situation: Situation) -> News:
    """What a full look has taught, to be remembered."""
    seen, wanted = situation.seen, situation.wanted
    return News(
        conf_path=seen.conf.path if seen.conf else "",
        conf_files=sorted({line.file for line in seen.conf.lines}) if seen.conf else [],
        slurm_version=str(seen.version) if seen.version else "",
        complete=wanted is not None and wanted.complete,
        down=seen.role is Role.DOWN,
        right=situation.picture is not None and situation.picture.right,
        written=written_digests(seen.disk),
    )
