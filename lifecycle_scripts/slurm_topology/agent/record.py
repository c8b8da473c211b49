"""How the agent's memory changes after a pass. Pure: old state and what happened in, record and new state out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from slurm_topology.agent import jobs
from slurm_topology.agent.decision import Action, Reason
from slurm_topology.agent.disk import DiskState, as_map
from slurm_topology.agent.slurm import PendingJob
from slurm_topology.agent.state import AgentState
from slurm_topology.agent.text import digest
from slurm_topology.core.model import Finding, Severity

__all__ = ["News", "PassRecord", "Settled", "after_pass", "put_by_us", "written_digests"]

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
    reverted: bool = False  # another writer's work on what was ours was replaced
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


class News(NamedTuple):
    """What a full look has taught. Empty parts are unknown."""

    conf_path: str
    conf_files: list[str]  # slurm.conf and all that it includes
    slurm_version: str
    complete: bool  # the place of every node is known
    down: bool  # no slurmctld answers
    right: bool  # files, Slurm and partitions are what is wanted
    written: dict[str, str]  # topology file or "TopologyPlugin" → digest of what is there


def written_digests(target: DiskState) -> dict[str, str]:
    """What is there, to be known again: files that are there, and the TopologyPlugin line, if there is one."""
    return {name: digest(text) for name, text in as_map(target).items() if text is not None}


def put_by_us(
    known: Mapping[str, list[Any]], target: DiskState, wrote: Iterable[str], now: float
) -> dict[str, list[Any]]:
    """Who wrote what: digest and time of what the agent put there last, for `status`."""
    texts = as_map(target)
    return {**known, **{name: [digest(texts[name]), now] for name in wrote}}


def after_pass(state: AgentState, record: PassRecord, news: News | None, settled: Settled | None) -> AgentState:
    """Every pass: counters and the last passes; what was seen; and, when the topology was right, what was so then."""
    state = replace(
        state,
        counters=_counted(state.counters, record),
        last_passes=[*state.last_passes, _brief(record)][-PASSES_KEPT:],
        first_node_at=state.first_node_at or (record.at if record.nodes else 0.0),
        nodes=record.nodes or state.nodes,
    )
    if news is not None:
        state = replace(
            state,
            conf_path=news.conf_path or state.conf_path,
            conf_files=news.conf_files or state.conf_files,
            slurm_version=news.slurm_version or state.slurm_version,
            down_since=(state.down_since or record.at) if news.down else 0.0,
        )
    return _not_settled(state, record, news) if settled is None else _settled(state, news, settled)


def _not_settled(state: AgentState, record: PassRecord, news: News | None) -> AgentState:
    """``behind_since`` is about the cluster's topology, not about who may mend it: a paused agent can be right."""
    right = record.reason in (Reason.STANDBY, Reason.NOT_OURS) or (news is not None and news.right)
    behind = record.action is Action.NOTHING or bool(record.failed)
    since = 0.0 if right else (state.behind_since or record.at) if behind else state.behind_since
    return replace(state, behind_since=since, settled_fingerprint="")


def _settled(state: AgentState, news: News | None, settled: Settled) -> AgentState:
    """The topology is right: how to recognise that, who is held for own reasons, and that the files are ours."""
    released = jobs.bases(settled.released)
    state = replace(
        state,
        settled_fingerprint=settled.fingerprint,
        behind_since=0.0,
        held_jobs=[job for job in jobs.held(settled.jobs) if job not in released],
        released_jobs=sorted({*state.released_jobs, *released}),
    )
    if news is None:
        return state
    return replace(state, complete_once=state.complete_once or news.complete, written=news.written)


def _counted(counters: dict[str, int], record: PassRecord) -> dict[str, int]:
    counted = dict(counters)
    for name, amount in (
        ("passes", 1),
        ("changes", int(record.action is not Action.NOTHING and not record.failed)),
        ("failures", int(bool(record.failed))),
        ("reconfigures", int(record.reconfigured)),
        ("released_jobs", len(record.released)),
        ("yields", int(record.reason is Reason.YIELDING)),
        ("reverts", int(record.reverted)),
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
