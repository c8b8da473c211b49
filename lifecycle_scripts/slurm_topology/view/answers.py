"""Explanations in words: how a job is placed, why one waits, how scattered what is free is. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from slurm_topology.core.explain import Demand, Fragmentation, Obstacle, Pending, Place, Placed, Score, Verdict, Waiting
from slurm_topology.core.hostlist import fold
from slurm_topology.core.model import TopologyKind

__all__ = ["fragmentation_lines", "job_lines", "leaves_word", "pending_lines", "placed_lines"]

_VERDICTS = {
    Verdict.BEST: "as near together as this topology can place it",
    Verdict.BEST_FREE: "the best that the free nodes allowed",
    Verdict.BETTER_WAS_FREE: "nearer nodes were free",
    Verdict.NO_TOPOLOGY: "Slurm knows no distances here: the topology is flat",
    Verdict.NO_NODES: "it has no nodes, and had none",
    Verdict.NO_WAY: "some of these nodes have no way to each other in this topology",
}
_WAITING = {
    Waiting.NEVER: "it can never start as it is, not even on an empty partition",
    Waiting.SLURM: "Slurm keeps it back for a reason of its own, whatever nodes are free",
    Waiting.NODES: "too few nodes are free, however they lie",
    Waiting.NODELIST: "nodes that it asks for by name (--nodelist) aren't free",
    Waiting.TOPOLOGY: "enough nodes are free, but not where the job may have them",
    Waiting.OTHER: "topology lets it start: something else keeps it waiting",
}
_SHOWN = 6  # of a list of jobs or nodes; the rest is counted


def leaves_word(kind: TopologyKind, count: int) -> str:
    """ "3 leaf switches", "1 block"."""
    one, many = {
        TopologyKind.TREE: ("leaf switch", "leaf switches"),
        TopologyKind.BLOCK: ("block", "blocks"),
        TopologyKind.FLAT: ("group", "groups"),
    }[kind]
    return f"{count:,} {one if count == 1 else many}"


def _nodes(count: int) -> str:
    return f"{count:,} {'node' if count == 1 else 'nodes'}"


def placed_lines(placed: Placed) -> Iterator[str]:
    """How a set of nodes is placed, how it could have been, and what was in the way."""
    found = placed.score
    yield _title(placed)
    yield f"  verdict    {_VERDICTS[placed.verdict]}"
    if placed.verdict in (Verdict.NO_TOPOLOGY, Verdict.NO_NODES):
        return
    yield f"  placed     {_where(placed.kind, found)}"
    if found.worst_pair:
        yield f"  worst pair {found.worst_pair[0]} and {found.worst_pair[1]}: {_hops(found.worst_hops)}"
    if found.mean_hops is not None:
        yield f"  mean       {found.mean_hops:.1f} switches between two nodes"
    if found.unplaced:
        yield f"  outside    {fold(found.unplaced)}: not in topology {placed.topology}"
    if placed.possible and placed.verdict is Verdict.BETTER_WAS_FREE:
        yield f"  was free   {_place(placed.kind, placed.possible)}: {fold(placed.possible.nodes)}"
    if placed.ideal and placed.verdict in (Verdict.BEST_FREE, Verdict.BETTER_WAS_FREE):
        yield f"  at best    {_place(placed.kind, placed.ideal)}, were every node free"
    if placed.obstacle:
        yield from _obstacle(placed.obstacle)
    for caveat in placed.caveats:
        yield f"  note       {caveat}"


def _title(placed: Placed) -> str:
    topology = f"topology {placed.topology or 'default'} ({placed.kind.value})"
    job = placed.job
    if job is None:
        return f"{_nodes(placed.score.node_count)} in {topology}"
    since = f" since {job.started}" if job.started else ""
    who = f"job {job.id} {job.name} ({job.user}, {job.state.lower()}{since})"
    return f"{who}: {_nodes(placed.score.node_count)} in {topology}"


def _where(kind: TopologyKind, found: Score) -> str:
    levels = [leaves_word(kind, len(found.leaves))]
    levels += [f"{count:,} above them" for count in found.spanned[1:-1] if count > 1]
    within = f", all under {found.holder}" if found.holder and len(found.leaves) > 1 else ""
    names = f" ({_some(found.leaves)})" if len(found.leaves) <= _SHOWN else ""
    return ", ".join(levels) + names + within


def _place(kind: TopologyKind, place: Place) -> str:
    return f"{leaves_word(kind, len(place.leaves))} ({_some(place.leaves)}), {_hops(place.worst_hops)}"


def _hops(hops: int | None) -> str:
    if hops is None:
        return "no way"
    return f"through {hops} {'switch' if hops == 1 else 'switches'}"


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


def _obstacle(obstacle: Obstacle) -> Iterator[str]:
    free = f"{obstacle.free:,} of {obstacle.capacity:,} nodes were free for it"
    yield f"  why not    {obstacle.unit} came nearest: {free}"
    if obstacle.jobs:
        yield f"             {_some(f'job {job} held {count:,}' for job, count in obstacle.jobs.items())}"
    if obstacle.out_of_service:
        yield f"             out of service: {_some(_with_reasons(obstacle.out_of_service))}"


def _with_reasons(nodes: Mapping[str, str]) -> Iterator[str]:
    return (f"{node} ({reason})" for node, reason in sorted(nodes.items()))


# ---- all jobs


def job_lines(answers: Sequence[Placed | Pending], limit: int = 40) -> Iterator[str]:
    """A table of jobs, those that could be nearer or wait for topology first, and the number of each verdict."""
    counts = Counter(_verdict(answer) for answer in answers)
    for verdict, count in counts.most_common():
        yield f"{count:>7,} {'job' if count == 1 else 'jobs'}: {verdict}"
    yield ""
    head = f"{'job':>10}  {'name':<20} {'user':<12} {'nodes':>6}"
    yield f"{head}  {'now':<36} {'on the free nodes':<36} on an empty cluster"
    ordered = sorted(answers, key=_calmness)
    yield from map(_job_line, ordered[:limit])
    if len(ordered) > limit:
        yield f"{'…':>10}  {len(ordered) - limit:,} more: --json has all of them"


def _verdict(answer: Placed | Pending) -> str:
    return _VERDICTS[answer.verdict] if isinstance(answer, Placed) else f"pending, {_WAITING[answer.waiting]}"


def _calmness(answer: Placed | Pending) -> int:
    order: list[Verdict | Waiting] = [Verdict.NO_WAY, Verdict.BETTER_WAS_FREE, Waiting.NEVER, Waiting.TOPOLOGY]
    order += [Verdict.BEST_FREE, Waiting.NODELIST, Waiting.NODES, Waiting.OTHER, Waiting.SLURM]
    order += [Verdict.NO_TOPOLOGY, Verdict.NO_NODES, Verdict.BEST]
    return order.index(answer.verdict if isinstance(answer, Placed) else answer.waiting)


def _job_line(answer: Placed | Pending) -> str:
    job = answer.job
    if isinstance(answer, Pending):
        why = answer.job.reason if answer.waiting is Waiting.SLURM else answer.waiting.value
        now, free, best = f"waits: {why}", answer.place_now, None
    else:
        found = answer.score
        now = f"{leaves_word(answer.kind, len(found.leaves))}, {_hops(found.worst_hops)}"
        free, best = answer.possible, answer.ideal
    who = f"{job.id:>10}  {job.name[:20]:<20} {job.user[:12]:<12} {job.node_count:>6,}" if job else ""
    cells = (_row(answer.kind, place) if place else "" for place in (free, best))
    return f"{who}  {now:<36} {next(cells):<36} {next(cells)}".rstrip()


# ---- pending


def pending_lines(pending: Pending) -> Iterator[str]:
    """What a waiting job needs, one line a demand, and what can be done."""
    job = pending.job
    topology = f"topology {pending.topology or 'default'} ({pending.kind.value})"
    who = f"job {job.id} {job.name} ({job.user}, pending, {job.reason or 'no reason given'})"
    yield f"{who}: {_nodes(job.node_count)} in {topology}"
    yield f"  verdict    {_WAITING[pending.waiting]}"
    for demand in pending.demands:
        yield f"  {_mark(demand):<10} {demand.text}"
    if pending.place_now and pending.waiting is Waiting.OTHER:
        yield f"  would get  {_place(pending.kind, pending.place_now)}"
    for hint in pending.hints:
        yield f"  note       {hint}"


def _mark(demand: Demand) -> str:
    return "met" if demand.met else "not now" if demand.ever else "never"


# ---- fragmentation


def fragmentation_lines(report: Fragmentation) -> Iterator[str]:
    """What is free in one topology, and what size of job still finds a near place."""
    counts = f"{report.nodes:,} nodes, {report.free:,} free, {report.out_of_service:,} out of service"
    yield f"topology {report.topology or 'default'} ({report.kind.value}): {counts}"
    if report.kind is TopologyKind.FLAT:
        yield "  flat: a free node is as good as any other"
        return
    leaf = leaves_word(report.kind, 1)[2:]
    best = f"as good as can be would be {report.largest_possible:,} (scattered: {report.scattered:.0%})"
    yield f"  most free in one {leaf}: {report.largest_free:,}; {best}"
    yield f"  {'job size':>10}  {'on free nodes':<40} on an empty cluster"
    for row in report.sizes:
        now = _row(report.kind, row.now)
        if row.now and not row.starts_now:
            now = f"waits ({now} isn't allowed)"
        yield f"  {row.node_count:>10,}  {now:<40} {_row(report.kind, row.empty):<30}".rstrip()


def _row(kind: TopologyKind, place: Place | None) -> str:
    return "-" if place is None else f"{leaves_word(kind, len(place.leaves))}, {_hops(place.worst_hops)}"
