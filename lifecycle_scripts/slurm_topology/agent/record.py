"""How the agent's memory changes after a pass. Pure: old state and what happened in, record and new state out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from slurm_topology.agent import findings, jobs, pace, writers
from slurm_topology.agent.apply import Applied
from slurm_topology.agent.decide import Action, Decision, Reason, Situation
from slurm_topology.agent.disk import CONF, YAML, DiskState
from slurm_topology.agent.observation import Observation
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.slurm import PendingJob
from slurm_topology.agent.state import AgentState
from slurm_topology.agent.text import digest
from slurm_topology.core.model import Finding, Severity

__all__ = ["PassRecord", "Settled", "after_failure", "after_pass", "after_success", "record_of", "written_digests"]

PASSES_KEPT = 20
LOOK_AGAIN_SECONDS = 15.0  # after a change: the scheduler may hold a job some seconds later
# Failures in these stages come after a reconfigure was tried: it counts for the ceiling.
AFTER_RECONFIGURE = ("reconfigure", "ping", "read-back")


@dataclass(frozen=True)
class PassRecord:
    """One pass, as log, `status` and metrics tell it."""

    at: float
    seconds: float
    action: Action
    reason: Reason
    failed: str = ""  # the error's text; "" when the pass went well
    stage: str = ""  # where in the transaction it failed
    reconfigured: bool = False
    reconfigure_seconds: float = 0.0
    released: tuple[str, ...] = ()
    nodes: int = 0
    unplaced: int = 0
    findings: tuple[Finding, ...] = field(default=())
    again_after_seconds: float | None = None

    @property
    def has_errors(self) -> bool:
        return bool(self.failed) or any(finding.severity is Severity.ERROR for finding in self.findings)


class Settled(NamedTuple):
    """The topology was seen right: by whom it can be recognised, the jobs then, those that were released just now."""

    fingerprint: str
    jobs: tuple[PendingJob, ...]
    released: tuple[str, ...]


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
    drawn = situation.picture if situation else None
    view = situation.seen.slurm if situation else None
    unplaced = drawn.unplaced if drawn is not None and (applied is None or failure is not None) else ()
    done = Applied(False, 0.0, ()) if applied is None else applied
    return PassRecord(
        at=at,
        seconds=seconds,
        action=decision.action,
        reason=decision.reason,
        failed=(str(failure) or repr(failure)) if failure else "",
        stage=getattr(failure, "stage", "") if failure else "",
        reconfigured=done.reconfigured,
        reconfigure_seconds=done.reconfigure_seconds,
        released=done.released,
        nodes=len(view.nodes) if view else 0,
        unplaced=len(unplaced),
        findings=(*_seen(situation), *_told(unplaced), *decision.findings, *done.findings),
        again_after_seconds=decision.again_after_seconds if applied is None else LOOK_AGAIN_SECONDS,
    )


def _seen(situation: Situation | None) -> tuple[Finding, ...]:
    if situation is None:
        return ()
    return (*situation.seen.findings, *(situation.wanted.findings if situation.wanted else ()))


def _told(unplaced: tuple[str, ...]) -> tuple[Finding, ...]:
    return (findings.unplaced(unplaced),) if unplaced else ()


def written_digests(target: DiskState) -> dict[str, str]:
    return {name: digest(text) for name, text in ((CONF, target.conf), (YAML, target.yaml)) if text is not None}


def after_success(
    state: AgentState, decision: Decision, applied: Applied, settings: Settings, now: float, held_before: list[str]
) -> AgentState:
    """An apply went well. ``held_before``: the jobs that were held already and aren't ours to release."""
    reconfigures = pace.recent(state.reconfigures, now, 60.0)
    if applied.reconfigured:
        reconfigures.append(now)
    if decision.reason is Reason.REVERTED:
        state = writers.after_revert(state, now, settings)
    return replace(
        state,
        written=written_digests(decision.target) if decision.target else state.written,
        written_at=now if decision.target else state.written_at,
        applied_at=now,
        held_jobs=held_before,
        released_jobs=jobs.bases(applied.released),
        reconfigures=reconfigures,
        reconfigure_seconds=applied.reconfigure_seconds or state.reconfigure_seconds,
        behind_since=0.0,
        failures=0,
        failed_wanted="",
        not_before=0.0,
    )


def after_failure(
    state: AgentState, decision: Decision, error: Exception, settings: Settings, now: float, dice: float
) -> AgentState:
    """An apply failed (and was undone): count it, and when to try the same again."""
    wanted = digest(repr(decision.target))
    failures = state.failures + 1 if wanted == state.failed_wanted else 1
    wait = pace.backoff_seconds(failures, settings.backoff_first_seconds, settings.backoff_limit_seconds, dice)
    reconfigures = pace.recent(state.reconfigures, now, 60.0)
    if getattr(error, "stage", "") in AFTER_RECONFIGURE:
        reconfigures.append(now)
    return replace(state, failures=failures, failed_wanted=wanted, not_before=now + wait, reconfigures=reconfigures)


def after_pass(
    state: AgentState, situation: Situation | None, record: PassRecord, settled: Settled | None
) -> AgentState:
    """Every pass: counters and the last passes; what was seen; and, when the topology was right, what was so then."""
    state = replace(
        state,
        counters=_counted(state.counters, record),
        last_passes=[*state.last_passes, _brief(record)][-PASSES_KEPT:],
        first_pass_at=state.first_pass_at or record.at,
        nodes=record.nodes or state.nodes,
    )
    if situation is not None:
        state = _with_observation(state, situation.seen)
    if settled is not None:
        return _with_settled(state, situation, record, settled)
    behind = record.action is Action.NOTHING and record.reason not in (Reason.STANDBY, Reason.NOT_OURS)
    if behind or record.failed:
        state = replace(state, behind_since=state.behind_since or record.at)
    return replace(state, settled_fingerprint="")


def _with_observation(state: AgentState, seen: Observation) -> AgentState:
    return replace(
        state,
        conf_path=seen.conf.path if seen.conf else state.conf_path,
        slurm_version=str(seen.version) if seen.version else state.slurm_version,
    )


def _with_settled(state: AgentState, situation: Situation | None, record: PassRecord, settled: Settled) -> AgentState:
    """The topology is right:

    remember by what, who is held for reasons of their own, and that what is on disk is ours.
    """
    released = jobs.bases(settled.released)
    state = replace(
        state,
        settled_fingerprint=settled.fingerprint,
        settled_at=record.at,
        behind_since=0.0,
        held_jobs=[job for job in jobs.held(settled.jobs) if job not in released],
        released_jobs=sorted({*state.released_jobs, *released}),
    )
    if situation is None or situation.wanted is None:
        return state
    complete = state.complete_once or not situation.wanted.incomplete
    return replace(state, complete_once=complete, written=written_digests(situation.seen.disk))


def _counted(counters: dict[str, int], record: PassRecord) -> dict[str, int]:
    counted = dict(counters)
    for name, amount in (
        ("passes", 1),
        ("changes", int(record.action is not Action.NOTHING and not record.failed)),
        ("failures", int(bool(record.failed))),
        ("reconfigures", int(record.reconfigured)),
        ("released_jobs", len(record.released)),
        ("yields", int(record.reason is Reason.YIELDING)),
        ("reverts", int(record.reason is Reason.REVERTED)),
    ):
        counted[name] = counted.get(name, 0) + amount
    return counted


def _brief(record: PassRecord) -> dict[str, Any]:
    return {
        "at": round(record.at, 3),
        "seconds": round(record.seconds, 3),
        "action": record.action.value,
        "reason": record.reason.value,
        "failed": record.failed,
        "findings": [finding.id for finding in record.findings if finding.severity is not Severity.INFO],
    }
