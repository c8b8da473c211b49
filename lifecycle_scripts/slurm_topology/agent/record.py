"""How the agent's memory changes after a pass. Pure: old state and what happened in, new state out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from slurm_topology.agent import jobs, pace, writers
from slurm_topology.agent.apply import Applied
from slurm_topology.agent.decide import Action, Decision, Reason, Situation
from slurm_topology.agent.disk import CONF, YAML, DiskState
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.state import AgentState
from slurm_topology.agent.text import digest
from slurm_topology.core.model import Finding, Severity

__all__ = ["PassRecord", "after_failure", "after_pass", "after_success", "written_digests"]

PASSES_KEPT = 20


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


def written_digests(target: DiskState) -> dict[str, str]:
    return {name: digest(text) for name, text in ((CONF, target.conf), (YAML, target.yaml)) if text is not None}


def after_success(
    state: AgentState, decision: Decision, applied: Applied, settings: Settings, now: float
) -> AgentState:
    """An apply went well."""
    reconfigures = pace.recent(state.reconfigures, now, 60.0)
    if applied.reconfigured:
        reconfigures.append(now)
    if decision.reason is Reason.REVERTED:
        state = writers.after_revert(state, now, settings)
    return replace(
        state,
        written=written_digests(decision.target) if decision.target else state.written,
        written_at=now if decision.target else state.written_at,
        read_back=applied.read_back or state.read_back,
        reconfigures=reconfigures,
        reconfigure_seconds=applied.reconfigure_seconds or state.reconfigure_seconds,
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
    if getattr(error, "stage", "") in ("reconfigure", "ping", "read-back"):
        reconfigures.append(now)
    return replace(state, failures=failures, failed_wanted=wanted, not_before=now + wait, reconfigures=reconfigures)


def after_pass(state: AgentState, situation: Situation | None, record: PassRecord) -> AgentState:
    """Every pass: counters, the last passes, and (when Slurm was right) what was held then."""
    state = replace(
        state,
        counters=_counted(state.counters, record),
        last_passes=[*state.last_passes, _brief(record)][-PASSES_KEPT:],
    )
    state = replace(state, first_pass_at=state.first_pass_at or record.at)
    if situation is None:
        return state
    seen = situation.seen
    state = replace(
        state,
        conf_path=seen.conf.path if seen.conf else state.conf_path,
        slurm_version=str(seen.version) if seen.version else state.slurm_version,
    )
    return _settled(state, situation, record)


def _settled(state: AgentState, situation: Situation, record: PassRecord) -> AgentState:
    picture, wanted, view = situation.picture, situation.wanted, situation.seen.slurm
    if record.reason is Reason.IN_FORCE and picture is not None and view is not None:
        complete = state.complete_once or (wanted is not None and not wanted.incomplete)
        return replace(
            state, held_jobs=jobs.held(view.jobs), settled_at=record.at, behind_since=0.0, complete_once=complete
        )
    done = record.action is not Action.NOTHING and not record.failed
    if done or record.reason in (Reason.STANDBY, Reason.NOT_OURS):
        return replace(state, behind_since=0.0)
    return replace(state, behind_since=state.behind_since or record.at)


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
