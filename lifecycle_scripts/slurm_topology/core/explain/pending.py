"""Why a pending job waits, as far as topology is concerned."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from ..model import TopologyKind
from .context import Context
from .demands import Demand, demands, leaves_needed, nodes_wanted
from .facts import Job
from .score import Place

__all__ = ["Pending", "Waiting", "explain_pending"]

_HELD_BY_TOPOLOGY = "BadConstraints"
# Reasons of jobs that Slurm would start if it found nodes for them (job_reason_codes of slurm.h); with any other one
# (JobHeldUser, Dependency, BeginTime, limits of accounts, licenses …) free nodes change nothing.
_ABOUT_NODES = re.compile(
    rf"(None|Resources|Priority|NodeDown|{_HELD_BY_TOPOLOGY}|ReqNodeNotAvail.*|Nodes required for job are .*)?"
)
_HELD = frozenset({"JobHeldUser", "JobHeldAdmin"})


class Waiting(str, Enum):
    """The short answer."""

    NEVER = "never"  # not even with every node of the partition free
    SLURM = "slurm"  # Slurm keeps it back, whatever nodes are free
    NODES = "nodes"  # too few free nodes, however they lie
    NODELIST = "nodelist"  # nodes that it asks for by name aren't free
    TOPOLOGY = "topology"  # enough free nodes, but not where the job may have them
    OTHER = "other"  # topology lets it start: something else keeps it


@dataclass(frozen=True)
class Pending:
    """One explanation."""

    job: Job
    topology: str
    kind: TopologyKind
    waiting: Waiting
    free: int
    demands: tuple[Demand, ...]
    place_now: Place | None  # the nearest nodes that are free now, when enough are
    hints: tuple[str, ...] = ()


def explain_pending(context: Context, job: Job) -> Pending:
    """Explain a job that waits."""
    topology = context.topology_of(job.partitions[0] if job.partitions else "")
    forest = context.forest_of(topology)
    eligible = context.eligible(job)
    free = context.free_of(job)
    needs = tuple(demands(context, topology, job, eligible, free))
    waiting = _waiting(job, needs)
    switches_now = leaves_needed(forest, free, job) if job.switches is not None else None
    return Pending(
        job=job,
        topology=topology.name if topology else "",
        kind=forest.kind,
        waiting=waiting,
        free=len(free),
        demands=needs,
        place_now=context.nearest(topology, free, nodes_wanted(job), job.required_nodes),
        hints=tuple(_hints(context, job, waiting, forest.kind, eligible, switches_now)),
    )


def _waiting(job: Job, needs: Collection[Demand]) -> Waiting:
    if not all(demand.ever for demand in needs):
        return Waiting.NEVER
    if not _ABOUT_NODES.fullmatch(job.reason):
        return Waiting.SLURM
    missed = {demand.name for demand in needs if not demand.met}
    order = {"nodes": Waiting.NODES, "nodelist": Waiting.NODELIST}
    return next((order[name] for name in order if name in missed), Waiting.TOPOLOGY if missed else Waiting.OTHER)


def _hints(
    context: Context,
    job: Job,
    waiting: Waiting,
    kind: TopologyKind,
    eligible: Collection[str],
    switches_now: int | None,
) -> Iterator[str]:
    if job.reason == _HELD_BY_TOPOLOGY:
        cure = "it never fits: cancel it" if waiting is Waiting.NEVER else f"free it: scontrol release {job.number}"
        yield f"Slurm holds it with priority 0, because it once met a topology that it didn't fit; {cure}"
    away = sorted(context.out_of_service & set(eligible))
    if waiting in (Waiting.NODES, Waiting.TOPOLOGY) and away:
        yield f"{len(away)} of its partition's nodes are out of service, {away[0]} first"
    if waiting is Waiting.TOPOLOGY and switches_now is not None:
        # Switches=0 doesn't do: Slurm (24.11, 26.05) then goes on waiting for the time of the old wish
        command = f"scontrol update JobId={job.number} Switches={switches_now}"
        yield f"it could start now with --switches={switches_now}: {command}"
    if waiting is Waiting.OTHER and job.reason:
        yield f"Slurm's own reason is {job.reason}"
    if waiting is Waiting.OTHER and kind is TopologyKind.BLOCK and job.required_nodes:
        yield "in blocks Slurm refuses some jobs that name nodes (--nodelist) though there is room: try it without"
    if not _ABOUT_NODES.fullmatch(job.reason):
        cure = f": scontrol release {job.number}" if job.reason in _HELD else ""
        expected = f"; it expects a start at {job.started}" if job.started else ""
        yield f"Slurm's reason is {job.reason}, and free nodes don't change it{cure}{expected}"
