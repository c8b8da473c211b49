"""Why a pending job waits, as far as topology is concerned: each demand beside what the free nodes offer."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from ..block_rule import BlockFit, block_fit
from ..model import Blocks, NamedTopology, TopologyKind
from .context import Context
from .facts import Job
from .forest import Forest
from .score import Place, best_place

__all__ = ["Demand", "Pending", "Waiting", "explain_pending"]

_HELD_BY_TOPOLOGY = "BadConstraints"


class Waiting(str, Enum):
    """The short answer."""

    NEVER = "never"  # not even with every node of the partition free
    NODES = "nodes"  # too few free nodes, however they lie
    TOPOLOGY = "topology"  # enough free nodes, but not where the job may have them
    OTHER = "other"  # topology lets it start: something else keeps it


@dataclass(frozen=True)
class Demand:
    """One thing that the job needs of the topology."""

    name: str  # "nodes", "root", "block", "segment", "switches"
    met: bool  # on the nodes free now
    ever: bool  # with every node of the partition free
    text: str


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
    free = eligible & context.free
    demands = tuple(_demands(topology, forest, job, eligible, free))
    waiting = _waiting(demands)
    switches_now = _leaves_needed(forest, free, job.node_count) if job.switches is not None else None
    return Pending(
        job=job,
        topology=topology.name if topology else "",
        kind=forest.kind,
        waiting=waiting,
        free=len(free),
        demands=demands,
        place_now=best_place(forest, free, job.node_count),
        hints=tuple(_hints(context, job, waiting, eligible, switches_now)),
    )


def _waiting(demands: Collection[Demand]) -> Waiting:
    if not all(demand.ever for demand in demands):
        return Waiting.NEVER
    missed = [demand.name for demand in demands if not demand.met]
    if not missed:
        return Waiting.OTHER
    return Waiting.NODES if "nodes" in missed else Waiting.TOPOLOGY


def _demands(
    topology: NamedTopology | None, forest: Forest, job: Job, eligible: Collection[str], free: Collection[str]
) -> Iterator[Demand]:
    count = job.node_count
    yield Demand(
        "nodes",
        len(free) >= count,
        len(eligible) >= count,
        f"{count} nodes: {len(free)} of the {len(eligible)} it may have are free",
    )
    if topology is None or forest.kind is TopologyKind.FLAT:
        return
    if isinstance(topology.body, Blocks):
        yield _block_demand(topology.body, job, eligible, free)
        return
    yield _root_demand(forest, count, eligible, free)
    if job.switches is not None:
        yield _switches_demand(forest, job, job.switches, eligible, free)


def _root_demand(forest: Forest, count: int, eligible: Collection[str], free: Collection[str]) -> Demand:
    now, ever = _largest_root(forest, free), _largest_root(forest, eligible)
    return Demand(
        "root",
        now >= count,
        ever >= count,
        f"{count} nodes under one root: the most that are free under one is {now} of {ever}",
    )


def _largest_root(forest: Forest, nodes: Collection[str]) -> int:
    counts = forest.counts(nodes)
    return max((counts[root] for root in forest.roots), default=0)


def _switches_demand(
    forest: Forest, job: Job, switches: int, eligible: Collection[str], free: Collection[str]
) -> Demand:
    now, ever = (_leaves_needed(forest, nodes, job.node_count) for nodes in (free, eligible))
    wait = f", for at most {job.switches_wait}" if job.switches_wait else ""
    offer = f"the free nodes need {now}" if now is not None else "too few nodes are free under one root"
    best = f", an empty cluster {ever}" if ever is not None else ""
    text = f"at most {switches} leaf switches (--switches{wait}): {offer}{best}"
    # an impossible --switches only makes it wait until its time is over: it isn't "never"
    return Demand("switches", now is not None and now <= switches, True, text)


def _leaves_needed(forest: Forest, nodes: Collection[str], count: int) -> int | None:
    """The fewest leaves under one root: Slurm counts leaves here, whatever lies between them."""
    counts = forest.counts(nodes)
    needed: list[int] = []
    for root in forest.roots:
        missing, used = count, 0
        for have in sorted((counts[leaf] for leaf in forest.leaves_under(root)), reverse=True):
            if missing <= 0:
                break
            missing, used = missing - have, used + 1
        if missing <= 0:
            needed.append(used)
    return min(needed, default=None)


def _block_demand(blocks: Blocks, job: Job, eligible: Collection[str], free: Collection[str]) -> Demand:
    now, ever = (_fit(blocks, nodes, job) for nodes in (free, eligible))
    if job.exclusive_topology:
        whole = {node for block in blocks.blocks if all(node in free for node in block.nodes) for node in block.nodes}
        now = _fit(blocks, whole, job)
    name = "segment" if job.segment else "block"
    return Demand(name, now.fits, ever.fits, _block_text(now, job))


def _fit(blocks: Blocks, nodes: Collection[str], job: Job) -> BlockFit:
    wanted = set(nodes)
    return block_fit(
        blocks, [len(wanted.intersection(block.nodes)) for block in blocks.blocks], job.node_count, job.segment
    )


def _block_text(fit: BlockFit, job: Job) -> str:
    whole = "wholly free blocks (--exclusive=topo): " if job.exclusive_topology else ""
    if job.segment:
        segments = f"{fit.wanted} segments of {job.segment} nodes, each within {fit.level_nodes} neighbouring nodes"
        return f"{whole}{segments}: {fit.most} have room now"
    if fit.pieces == 1:
        block = f"{fit.wanted} nodes in one block of {fit.level_nodes}"
        return f"{whole}{block}: the most that are free in one is {fit.most}"
    limit = f"in at most {fit.pieces} aggregates of {fit.piece_nodes}"
    within = f" within {fit.level_nodes} neighbouring nodes" if fit.level_nodes != fit.piece_nodes else ""
    return f"{whole}{fit.wanted} nodes {limit}{within}: the most that are free so is {fit.most}"


def _hints(
    context: Context, job: Job, waiting: Waiting, eligible: Collection[str], switches_now: int | None
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
