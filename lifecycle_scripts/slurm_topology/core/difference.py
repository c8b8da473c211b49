"""What changed from one topology to another, as data and in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .check_rules import shorten

__all__ = ["Change", "Difference", "LargestJob", "TopologyDifference", "UnitChanges"]

_SHOWN = 20  # changes of one kind in words; the data has all of them


class Change(NamedTuple):
    """A node and its leaf or block, a switch and the one above it, or a name; before and after."""

    subject: str
    before: str
    after: str


class LargestJob(NamedTuple):
    """The largest set of nodes that one job could use; None is no limit. ``partition`` "" is the cluster."""

    partition: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class UnitChanges:
    """Inside one topology that is of one kind before and after; all in the order of their names."""

    added: tuple[str, ...] = ()  # nodes
    lost: tuple[str, ...] = ()  # nodes
    moved: tuple[Change, ...] = ()  # nodes
    renamed: tuple[Change, ...] = ()  # switches or blocks
    moved_switches: tuple[Change, ...] = ()
    sizes_before: tuple[int, ...] = ()
    sizes_after: tuple[int, ...] = ()
    reordered: bool = False  # blocks


@dataclass(frozen=True)
class TopologyDifference:
    """One topology. A kind is "tree", "block" or "flat", and "" where the topology isn't defined."""

    name: str
    kind_before: str
    kind_after: str
    changes: UnitChanges

    def lines(self) -> Iterator[str]:
        """Sentences, none when nothing changed."""
        if self.kind_before != self.kind_after:
            yield f"{self.kind_before or 'not defined'} → {self.kind_after or 'not defined'}"
        changes = self.changes
        if changes.added:
            yield f"added {shorten(changes.added)}"
        if changes.lost:
            yield f"lost {shorten(changes.lost)}"
        yield from _shown("moved", changes.moved)
        yield from _shown("moved switch", changes.moved_switches)
        yield from _shown("renamed", tuple(Change("", old, new) for _, old, new in changes.renamed))
        if changes.sizes_before != changes.sizes_after:
            yield f"block sizes {_sizes(changes.sizes_before)} → {_sizes(changes.sizes_after)}"
        if changes.reordered:
            yield "order of the blocks changed"


@dataclass(frozen=True)
class Difference:
    """``str()`` is one line for logs; ``lines()`` is for people."""

    same_meaning: bool
    topologies: tuple[TopologyDifference, ...]
    default: tuple[str, str]  # name of the cluster's default topology, before and after
    largest_jobs: tuple[LargestJob, ...]  # the cluster first, then by partition

    def lines(self) -> list[str]:
        """What changed, and how large a job could be; one sentence each."""
        lines = []
        for topology in self.topologies:
            prefix = f"{topology.name}: " if len(self.topologies) > 1 else ""
            lines += [prefix + line for line in topology.lines()]
        if self.default[0] != self.default[1] and len(self.topologies) > 1:
            lines.append(f"cluster default {self.default[0]} → {self.default[1]}")
        for job in self.largest_jobs:
            if job.before != job.after:
                lines.append(f"{_job_subject(job)} {_limit(job.before)} → {_limit(job.after)}")
        return lines

    def __str__(self) -> str:
        return "; ".join(self.lines()) or "no difference"


def _shown(what: str, changes: tuple[Change, ...]) -> Iterator[str]:
    for subject, before, after in changes[:_SHOWN]:
        yield f"{what} {subject}{': ' if subject else ''}{before} → {after}"
    if len(changes) > _SHOWN:
        yield f"{what}: {len(changes) - _SHOWN} more"


def _sizes(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes)) or "not set"


def _job_subject(job: LargestJob) -> str:
    return f"largest job in partition {job.partition}" if job.partition else "largest job"


def _limit(nodes: int | None) -> str:
    return "unlimited" if nodes is None else f"{nodes} node{'' if nodes == 1 else 's'}"
