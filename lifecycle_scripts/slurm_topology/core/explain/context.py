"""Which topology rules over a job, and which nodes it could have: the questions that every explanation begins with."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from ..model import Flat, NamedTopology
from .facts import FREE_STATES, OUT_OF_SERVICE_STATES, Job, JobPhase, NodeFacts, NodeState, Snapshot
from .forest import Forest, forest_of
from .score import Place, best_place

__all__ = ["Context"]

_NO_TOPOLOGY = NamedTopology("no topology", Flat(), True)


@dataclass(frozen=True)
class Context:
    """A snapshot with what is derived from it once."""

    snapshot: Snapshot

    @cached_property
    def default_topology(self) -> NamedTopology | None:
        """The cluster's default; else the first, as slurmctld takes it."""
        topologies = self.snapshot.topology.topologies
        return next((topology for topology in topologies if topology.cluster_default), next(iter(topologies), None))

    def topology_of(self, partition: str) -> NamedTopology | None:
        """The topology that a partition's jobs are placed by; None when the cluster has none."""
        name = self._live_topology(partition) or self.snapshot.topology.partitions.get(partition)
        named = next((topology for topology in self.snapshot.topology.topologies if topology.name == name), None)
        return named or self.default_topology

    def _live_topology(self, partition: str) -> str | None:
        return next((entry.topology for entry in self.snapshot.partitions if entry.name == partition), None)

    def forest_of(self, topology: NamedTopology | None) -> Forest:
        """The forest of a topology; without one every node is as near as any other."""
        return self._forests[_NO_TOPOLOGY.name if topology is None else topology.name]

    @cached_property
    def _forests(self) -> dict[str, Forest]:
        """By name; of topologies with one name Slurm takes the first."""
        everybody = tuple(self.snapshot.nodes)
        topologies = (_NO_TOPOLOGY, *reversed(self.snapshot.topology.topologies))
        return {topology.name: forest_of(topology, everybody) for topology in topologies}

    def nodes_of(self, partition: str) -> frozenset[str]:
        """The nodes of a partition; all nodes when the snapshot doesn't tell."""
        return self._members.get(partition, self._everybody)

    @cached_property
    def _everybody(self) -> frozenset[str]:
        return frozenset(self.snapshot.nodes)

    @cached_property
    def _members(self) -> dict[str, frozenset[str]]:
        """Partition → its nodes: as Slurm lists them, else as the nodes say themselves."""
        said: dict[str, set[str]] = {}
        for node in self.snapshot.nodes.values():
            for partition in node.partitions:
                said.setdefault(partition, set()).add(node.name)
        listed = {entry.name: frozenset(entry.nodes) for entry in self.snapshot.partitions if entry.nodes is not None}
        return {**{name: frozenset(nodes) for name, nodes in said.items()}, **listed}

    def eligible(self, job: Job) -> frozenset[str]:
        """Nodes that a job may have, whoever uses them now. Features, memory and reservations are not looked at."""
        partition = job.partitions[0] if job.partitions else ""
        members = self.nodes_of(partition)
        return members - frozenset(job.excluded_nodes) if job.excluded_nodes else members

    @cached_property
    def free(self) -> frozenset[str]:
        """Nodes that are whole, in service and unused now. Where no state at all is known: all but those of jobs."""
        busy = {node for job in self.snapshot.jobs if job.phase is JobPhase.RUNNING for node in job.nodes}
        nodes = self.snapshot.nodes.values()
        if all(node.state is NodeState.UNKNOWN for node in nodes):
            return self._everybody - busy
        return frozenset(node.name for node in nodes if node.state in FREE_STATES) - busy

    def free_of(self, job: Job) -> frozenset[str]:
        """Of the eligible nodes, those free now. One set for all jobs that may have the same nodes."""
        eligible = self.eligible(job)
        if eligible not in self._free_of:
            self._free_of[eligible] = eligible & self.free
        return self._free_of[eligible]

    @cached_property
    def _free_of(self) -> dict[frozenset[str], frozenset[str]]:
        return {}

    @cached_property
    def out_of_service(self) -> frozenset[str]:
        return frozenset(node.name for node in self.snapshot.nodes.values() if node.state in OUT_OF_SERVICE_STATES)

    def free_when_started(self, job: Job) -> frozenset[str]:
        """Nodes that were free for a job at its start, its own among them.

        Taken from what Slurm still remembers: another job that was there at that second keeps its nodes (also one that
        started in the same second, because nobody knows which was first); a node out of service now was so then,
        unless it became so later. Ended jobs that Slurm has forgotten (MinJobAge, 300 s) are unknown, so this can name
        more nodes than were really free.
        """
        if job.started is None:
            return frozenset(job.nodes)
        return self.eligible(job).difference(self._taken(job.started)).union(job.nodes)

    def _taken(self, moment: str) -> frozenset[str]:
        """Nodes that jobs held at a moment, or that were away. Only the last answer is kept: they are large."""
        if moment not in self._last_taken:
            taken = {name for name in self.out_of_service if _was_away(self.snapshot.nodes[name], moment)}
            for job in self._by_start[: bisect_right(self._by_start, moment, key=lambda job: job.started or "")]:
                if job.ended is None or moment < job.ended:
                    taken.update(job.nodes)
            self._last_taken.clear()
            self._last_taken[moment] = frozenset(taken)
        return self._last_taken[moment]

    @cached_property
    def _last_taken(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _by_start(self) -> tuple[Job, ...]:
        """Jobs that hold nodes or held them."""
        jobs = (job for job in self.snapshot.jobs if job.phase is not JobPhase.PENDING and job.started and job.nodes)
        return tuple(sorted(jobs, key=lambda job: job.started or ""))

    def nearest(
        self, topology: NamedTopology | None, nodes: frozenset[str], count: int, required: tuple[str, ...] = ()
    ) -> Place | None:
        """``best_place``, remembered: for sets of nodes that many jobs share."""
        key = (topology.name if topology else _NO_TOPOLOGY.name, nodes, count, required)
        if key not in self._nearest:
            self._nearest[key] = best_place(self.forest_of(topology), nodes, count, required)
        return self._nearest[key]

    @cached_property
    def _nearest(self) -> dict[tuple[str, frozenset[str], int, tuple[str, ...]], Place | None]:
        return {}

    def holders(self, nodes: Collection[str], when: str | None = None) -> dict[str, int]:
        """Job id → how many of these nodes it holds (now, or at ``when``), most first."""
        wanted = set(nodes)
        held: dict[str, int] = {}
        for job in self.snapshot.jobs:
            if job.phase is JobPhase.RUNNING if when is None else _held(job, when):
                count = len(wanted.intersection(job.nodes))
                if count:
                    held[job.id] = count
        return dict(sorted(held.items(), key=lambda item: (-item[1], item[0])))


def _held(job: Job, moment: str) -> bool:
    """Whether a job held its nodes at a moment."""
    if job.phase is JobPhase.PENDING or job.started is None or not job.nodes:
        return False
    return job.started <= moment and (job.ended is None or moment < job.ended)


def _was_away(node: NodeFacts, moment: str) -> bool:
    return node.reason_since is None or node.reason_since <= moment
