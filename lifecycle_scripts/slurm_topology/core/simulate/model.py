"""A scheduler in a few lines: first come, first served, with backfill that delays nobody. Where nodes come from is a
function.

Slurm's own order of things is richer (priorities, partitions, reservations); this is what all of it comes down to in a
queue of equals. What matters here, which nodes a job gets, is asked of ``place``: a model of Slurm's plugins
(place.py), or the real slurmctld.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

__all__ = ["Place", "Request", "Run", "replay"]

BACKFILL_DEPTH = 20  # waiting jobs behind the first that are tried: as many as matter, and bounded

Place = Callable[[Collection[str], int], tuple[str, ...] | None]  # (free nodes, how many) → nodes, or None: not now


class Request(NamedTuple):
    """A job to be. Times are whole seconds from the beginning of the trace."""

    number: int
    node_count: int
    seconds: int
    submitted: int = 0


class Run(NamedTuple):
    """A job that ran, or that never could (no nodes)."""

    request: Request
    nodes: tuple[str, ...] = ()
    started: int = 0

    @property
    def ended(self) -> int:
        return self.started + self.request.seconds


def replay(everyone: Collection[str], requests: Sequence[Request], place: Place) -> tuple[Run, ...]:
    """Run a trace to its end. A job that finds no place even on an empty cluster is a Run without nodes."""
    queue_room = _Room(everyone, place)
    possible = {count: place(everyone, count) is not None for count in {request.node_count for request in requests}}
    done = [Run(request) for request in requests if not possible[request.node_count]]
    arriving = sorted(
        (request for request in requests if possible[request.node_count]), key=lambda each: each.submitted
    )
    waiting: list[Request] = []
    moment = 0
    while arriving or waiting:
        while arriving and arriving[0].submitted <= moment:
            waiting.append(arriving.pop(0))
        started = list(queue_room.start(waiting, moment))
        done += started
        waiting = [request for request in waiting if request not in {run.request for run in started}]
        moment = queue_room.next_moment(moment, arriving)
    return tuple(sorted(done))


class _Room:
    """The nodes, and who has them until when."""

    def __init__(self, everyone: Collection[str], place: Place) -> None:
        self._free = set(everyone)
        self._running: list[Run] = []
        self._place = place

    def start(self, waiting: Sequence[Request], moment: int) -> Iterator[Run]:
        """Start what can start now: in order, and behind the first that can't, what doesn't delay it."""
        self._end_until(moment)
        for index, request in enumerate(waiting):
            nodes = self._place(self._free, request.node_count)
            if nodes is None:
                yield from self._backfill(request, waiting[index + 1 : index + 1 + BACKFILL_DEPTH], moment)
                return
            yield self._begin(request, nodes, moment)

    def _backfill(self, first: Request, behind: Sequence[Request], moment: int) -> Iterator[Run]:
        shadow, kept = self._reservation(first)
        for request in behind:
            nodes = self._place(self._free, request.node_count)
            if nodes is not None and (moment + request.seconds <= shadow or not kept.intersection(nodes)):
                yield self._begin(request, nodes, moment)

    def _reservation(self, first: Request) -> tuple[int, set[str]]:
        """When the first waiting job will find its nodes, and which: as jobs end, one after the other."""
        free = set(self._free)
        for run in sorted(self._running, key=lambda run: run.ended):
            free.update(run.nodes)
            nodes = self._place(free, first.node_count)
            if nodes is not None:
                return run.ended, set(nodes)
        raise AssertionError("a job that fits into the empty cluster doesn't fit when all have ended")

    def _begin(self, request: Request, nodes: tuple[str, ...], moment: int) -> Run:
        self._free.difference_update(nodes)
        run = Run(request, nodes, moment)
        self._running.append(run)
        return run

    def _end_until(self, moment: int) -> None:
        for run in self._running:
            if run.ended <= moment:
                self._free.update(run.nodes)
        self._running = [run for run in self._running if run.ended > moment]

    def next_moment(self, moment: int, arriving: Sequence[Request]) -> int:
        """When something changes next: a job ends or arrives."""
        changes = [run.ended for run in self._running] + [request.submitted for request in arriving[:1]]
        return min((change for change in changes if change > moment), default=moment + 1)
