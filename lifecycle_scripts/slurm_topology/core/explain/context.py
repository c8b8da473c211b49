"""Which topology rules over a job, and which nodes it could have: the questions that every explanation begins with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from ..model import Flat, NamedTopology
from .facts import FREE_STATES, OUT_OF_SERVICE_STATES, Job, JobPhase, NodeFacts, NodeState, Snapshot
from .forest import Forest, forest_of

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
        taken = {name for name in self.out_of_service if _was_away(self.snapshot.nodes[name], job.started)}
        for other in self.snapshot.jobs:
            if other.number != job.number and _held(other, job.started):
                taken.update(other.nodes)
        return self.eligible(job).difference(taken).union(job.nodes)

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
