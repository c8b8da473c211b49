"""How well nodes are placed, how well they could have been, and what stood in the way."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum

from ..model import NamedTopology, TopologyKind
from .context import Context
from .facts import Job
from .forest import Forest
from .score import Place, Score, best_place, score

__all__ = ["Obstacle", "Placed", "Verdict", "explain_nodes", "explain_placed"]


class Verdict(str, Enum):
    """The short answer."""

    BEST = "best"  # no better place exists, even in an empty cluster
    BEST_FREE = "best free"  # the best that the free nodes allowed
    BETTER_WAS_FREE = "better was free"  # the free nodes allowed more
    NO_TOPOLOGY = "no topology"  # Slurm knows no distances here
    NO_NODES = "no nodes"  # it ended before it had any
    NO_WAY = "no way"  # some of the nodes can't reach each other, or aren't in the topology


@dataclass(frozen=True)
class Obstacle:
    """A unit that could have held the job, and what was in the way there."""

    unit: str
    capacity: int  # nodes that the job may have in principle
    free: int  # of these, free at that time
    jobs: dict[str, int]  # job id → nodes it held there, most first
    out_of_service: dict[str, str]  # node → why


@dataclass(frozen=True)
class Placed:
    """One explanation.

    ``possible`` is on the nodes free at the time, ``ideal`` on all in the partition; both None when all nodes are in
    one leaf, because nothing is nearer, or when no such place exists.
    """

    topology: str
    kind: TopologyKind
    score: Score
    verdict: Verdict
    possible: Place | None = None
    ideal: Place | None = None
    obstacle: Obstacle | None = None  # None: nothing was in the way, or nothing better exists
    job: Job | None = None
    caveats: tuple[str, ...] = ()


def explain_placed(context: Context, job: Job) -> Placed:
    """A job that holds nodes, or held them. What was free is taken at its start."""
    topology = context.topology_of(job.partitions[0] if job.partitions else "")
    return _placed(context, topology, job.nodes, context.eligible(job), lambda: context.free_when_started(job), job)


def explain_nodes(context: Context, nodes: Collection[str], partition: str | None = None) -> Placed:
    """Any set of nodes, as if a job held them now; compared with what is free now."""
    topology = context.topology_of(partition) if partition else context.default_topology
    eligible = context.nodes_of(partition or "")
    return _placed(context, topology, tuple(nodes), eligible, lambda: context.free | frozenset(nodes), None)


def _placed(
    context: Context,
    topology: NamedTopology | None,
    nodes: Collection[str],
    eligible: frozenset[str],
    find_free: Callable[[], frozenset[str]],
    job: Job | None,
) -> Placed:
    forest = context.forest_of(topology)
    found = score(forest, nodes)
    count, everywhere = len(set(nodes)), eligible if eligible.issuperset(nodes) else eligible.union(nodes)
    possible = ideal = None
    free: frozenset[str] = frozenset()
    if not _in_one_leaf(found):  # nothing is nearer than one leaf
        free = find_free()
        possible, ideal = best_place(forest, free, count), context.nearest(topology, everywhere, count)
    verdict = _verdict(forest, found, possible, ideal)
    wanted = ideal if verdict is Verdict.BEST_FREE else None
    return Placed(
        topology=topology.name if topology else "",
        kind=forest.kind,
        score=found,
        verdict=verdict,
        possible=possible,
        ideal=ideal,
        obstacle=_obstacle(context, forest, wanted, everywhere, free, job) if wanted else None,
        job=job,
        caveats=tuple(_caveats(job, verdict)),
    )


def _in_one_leaf(found: Score) -> bool:
    return len(found.leaves) == 1 and not found.unplaced


def _verdict(forest: Forest, found: Score, possible: Place | None, ideal: Place | None) -> Verdict:
    if not found.node_count:
        return Verdict.NO_NODES
    if forest.kind is TopologyKind.FLAT:
        return Verdict.NO_TOPOLOGY
    if found.worst_hops is None or found.unplaced:
        return Verdict.NO_WAY
    rank = (found.worst_hops, len(found.leaves))
    if ideal is None or rank <= ideal.rank:
        return Verdict.BEST
    return Verdict.BEST_FREE if possible is None or rank <= possible.rank else Verdict.BETTER_WAS_FREE


def _obstacle(
    context: Context, forest: Forest, ideal: Place, eligible: Collection[str], free: Collection[str], job: Job | None
) -> Obstacle:
    """Of the units as low as the ideal one and large enough, the one with the most free nodes."""
    capacities, frees = forest.counts(eligible), forest.counts(free)
    enough = [index for index, capacity in enumerate(capacities) if capacity >= len(ideal.nodes)]
    height = min(forest.units[index].height for index in enough)
    nearest = max(
        (index for index in enough if forest.units[index].height == height), key=lambda index: (frees[index], -index)
    )
    missing = [node for node in forest.nodes_under(nearest) if node in eligible and node not in free]
    away = {
        node: context.snapshot.nodes[node].reason or context.snapshot.nodes[node].state.value
        for node in missing
        if node in context.out_of_service
    }
    return Obstacle(
        unit=forest.units[nearest].name,
        capacity=capacities[nearest],
        free=frees[nearest],
        jobs=context.holders(missing, job.started if job else None),
        out_of_service=away,
    )


def _caveats(job: Job | None, verdict: Verdict) -> list[str]:
    if job is None:
        return []
    caveats = []
    if job.started is None:
        caveats.append("Slurm doesn't say when the job started: what was free then is unknown")
    if verdict is Verdict.BETTER_WAS_FREE:
        if job.required_nodes:
            caveats.append("the job asked for certain nodes (--nodelist)")
        if job.features:
            caveats.append(f"the job asked for features ({job.features}), which are not looked at here")
        caveats.append(
            "Slurm keeps no record of its choice: it doesn't try everything, it forgets jobs MinJobAge after they end, "
            "nodes may have been kept for another job, and the topology may have been another one"
        )
    return caveats
