"""What a waiting job demands of the topology, each demand beside what the free nodes offer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ..block_rule import BlockFit, block_fit, sizes_in_force
from ..model import Blocks, NamedTopology, TopologyKind
from .context import Context
from .facts import Job
from .forest import Forest

__all__ = ["Demand", "demands", "leaves_needed", "nodes_wanted"]

_SHOWN = 6  # of what is in the way; more would hide it


@dataclass(frozen=True)
class Demand:
    """One thing that the job needs of the topology."""

    name: str  # "nodes", "nodelist", "root", "block", "segment", "switches"
    met: bool  # on the nodes free now
    ever: bool  # with every node of the partition free
    text: str


def nodes_wanted(job: Job) -> int:
    """How many nodes it takes: never fewer than it names with --nodelist."""
    return max(job.node_count, len(set(job.required_nodes)))


def demands(
    context: Context, topology: NamedTopology | None, job: Job, eligible: frozenset[str], free: frozenset[str]
) -> Iterator[Demand]:
    """The demands, the simplest first. ``eligible``: what it may have; ``free``: of these, what is free now."""
    forest, count = context.forest_of(topology), nodes_wanted(job)
    yield Demand(
        "nodes",
        len(free) >= count,
        len(eligible) >= count,
        f"{_nodes(count)}: {len(free)} of the {len(eligible)} it may have are free",
    )
    if job.required_nodes:
        yield _nodelist_demand(context, job, eligible, free)
    if topology is None or forest.kind is TopologyKind.FLAT:
        return
    if isinstance(topology.body, Blocks):
        yield _block_demand(topology.body, job, eligible, free)
        return
    yield _root_demand(forest, job, eligible, free)
    if job.switches is not None:
        yield _switches_demand(forest, job, job.switches, eligible, free)


def _nodes(count: int) -> str:
    return f"{count} {'node' if count == 1 else 'nodes'}"


def _nodelist_demand(context: Context, job: Job, eligible: frozenset[str], free: frozenset[str]) -> Demand:
    wanted = frozenset(job.required_nodes)
    missing, closed = wanted - free, wanted - eligible
    text = f"{_nodes(len(wanted))} that it names (--nodelist): {len(wanted) - len(missing)} free"
    why = [f"job {holder} holds {held}" for holder, held in context.holders(missing).items()]
    away = sorted(missing & context.out_of_service)
    why += [f"{len(away)} out of service, {away[0]} first"] if away else []
    why += [f"{len(closed)} not in its partition, or excluded, {min(closed)} first"] if closed else []
    return Demand("nodelist", not missing, not closed, ", ".join([text, *why[:_SHOWN]]))


def _root_demand(forest: Forest, job: Job, eligible: Collection[str], free: Collection[str]) -> Demand:
    count = nodes_wanted(job)
    now, ever = (_largest_root(forest, nodes, job.required_nodes) for nodes in (free, eligible))
    return Demand(
        "root",
        now >= count,
        ever >= count,
        f"{_nodes(count)} under one root: the most that are free under one is {now} of {ever}",
    )


def _roots(forest: Forest, required: Collection[str]) -> list[int]:
    """The roots that hold all required nodes."""
    needed = frozenset(required)
    musts = forest.counts(needed)
    return [root for root in forest.roots if musts[root] == len(needed)]


def _largest_root(forest: Forest, nodes: Collection[str], required: Collection[str]) -> int:
    counts = forest.counts(nodes)
    return max((counts[root] for root in _roots(forest, required)), default=0)


def _switches_demand(
    forest: Forest, job: Job, switches: int, eligible: Collection[str], free: Collection[str]
) -> Demand:
    now, ever = (leaves_needed(forest, nodes, job) for nodes in (free, eligible))
    wait = f", for at most {job.switches_wait}" if job.switches_wait else ""
    named = frozenset(job.required_nodes).issubset(free)
    missing = "too few nodes are free under one root" if named else "the nodes that it names aren't free"
    offer = missing if now is None else f"the free nodes need {now}"
    best = f", an empty cluster {ever}" if ever is not None else ""
    leaves = "leaf switch" if switches == 1 else "leaf switches"
    text = f"at most {switches} {leaves} (--switches{wait}): {offer}{best}"
    # an impossible --switches only makes it wait until its time is over: it isn't "never"
    return Demand("switches", now is not None and now <= switches, True, text)


def leaves_needed(forest: Forest, nodes: Collection[str], job: Job) -> int | None:
    """The fewest leaves under one root: Slurm counts leaves here, whatever lies between them.

    None: too few nodes, or those that it names (--nodelist) aren't among them.
    """
    if not frozenset(job.required_nodes).issubset(nodes):
        return None
    counts, musts = forest.counts(nodes), forest.counts(job.required_nodes)
    needed: list[int] = []
    for root in _roots(forest, job.required_nodes):
        leaves = sorted(forest.leaves_under(root), key=lambda leaf: (not musts[leaf], -counts[leaf]))
        missing, used = nodes_wanted(job), 0
        for leaf in leaves:
            if missing <= 0 and not musts[leaf]:
                break
            missing, used = missing - counts[leaf], used + 1
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
    usable, needed = frozenset(nodes), frozenset(job.required_nodes)
    free = [len(usable.intersection(block.nodes)) for block in blocks.blocks]
    fit = block_fit(blocks, free, nodes_wanted(job), job.segment)
    if not needed or job.segment:  # where segments lie beside required nodes isn't looked at
        return fit
    return _fit_around(blocks, free, [len(needed.intersection(block.nodes)) for block in blocks.blocks], fit)


def _fit_around(blocks: Blocks, free: Sequence[int], required: Sequence[int], fit: BlockFit) -> BlockFit:
    """The same rule for a job that names nodes: ``required`` of each block are among them.

    Slurm never starts what this refuses, but refuses some of what this lets pass (random trials, 24.11.5 and 26.05.5:
    -N2 with one named node in a block with four free ones), so "met" isn't the last word here.
    """
    base = sizes_in_force(blocks)[0]
    span, piece = max(1, fit.level_nodes // base), max(1, fit.piece_nodes // base)
    above_the_top = fit.wanted > fit.level_nodes
    most = 0
    for start in range(0, len(free), len(free) if above_the_top else span):
        end = len(free) if above_the_top else start + span
        if sum(required[start:end]) < sum(required):
            continue
        pieces = [slice(at, min(at + piece, end)) for at in range(start, min(end, len(free)), piece)]
        if above_the_top:
            pieces = [each for each in pieces if each.stop - each.start == piece and each.stop <= len(free)]
        most = max(most, _room_around(pieces, free, required, fit.pieces))
    return fit._replace(most=most, fits=most >= fit.wanted)


def _room_around(pieces: Sequence[slice], free: Sequence[int], required: Sequence[int], limit: int) -> int:
    """The most free nodes in ``limit`` pieces that hold all required nodes; 0 when these lie in more."""
    fixed = [each for each in pieces if any(required[each])]
    if len(fixed) > limit or sum(sum(required[each]) for each in fixed) < sum(required):
        return 0
    others = sorted((sum(free[each]) for each in pieces if not any(required[each])), reverse=True)
    return sum(sum(free[each]) for each in fixed) + sum(others[: limit - len(fixed)])


def _block_text(fit: BlockFit, job: Job) -> str:
    whole = "wholly free blocks (--exclusive=topo): " if job.exclusive_topology else ""
    if job.segment:
        segments = f"{fit.wanted} segments of {_nodes(job.segment)}, each within {fit.level_nodes} neighbouring nodes"
        return f"{whole}{segments}: {fit.most} have room now"
    if fit.pieces == 1:
        block = f"{_nodes(fit.wanted)} in one block of {fit.level_nodes}"
        return f"{whole}{block}: the most that are free in one is {fit.most}"
    limit = f"in at most {fit.pieces} aggregates of {fit.piece_nodes}"
    within = f" within {fit.level_nodes} neighbouring nodes" if fit.level_nodes != fit.piece_nodes else ""
    return f"{whole}{_nodes(fit.wanted)} {limit}{within}: the most that are free so is {fit.most}"
