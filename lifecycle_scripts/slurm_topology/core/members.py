"""Whose nodes: the places of all nodes and of each partition's, found out when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .model import Finding, Node, Partition, Placement, Severity
from .places import Places, join, only, places_by_group, unique

__all__ = ["EVERYBODY", "Members", "recall"]

EVERYBODY = ""  # the subject of the cluster's default among the partitions' names


class Members:
    """Subject (a partition's name, or EVERYBODY) → the places of its nodes.

    Slurm's own list of a partition's nodes wins over the partition's groups.
    """

    def __init__(self, nodes: Sequence[Node], partitions: Iterable[Partition]) -> None:
        distinct, self.findings = unique(nodes)
        self._names = {node.name for node in distinct}
        self._by_group = places_by_group(distinct)
        self._partitions = {partition.name: partition for partition in partitions}
        self._places: dict[str, Places] = {EVERYBODY: join(list(self._by_group.values()))}

    def __len__(self) -> int:
        return len(self._names)

    @property
    def subjects(self) -> Sequence[str]:
        """EVERYBODY, then the partitions."""
        return (EVERYBODY, *self._partitions)

    def of(self, subject: str) -> Places:
        """The places of one subject's nodes; none for a partition that nobody knows."""
        if subject not in self._places:
            self._places[subject] = self._find(subject)
        return self._places[subject]

    def of_all(self, subjects: Sequence[str]) -> Places:
        """The places of the nodes of several partitions, each node once."""
        if len(subjects) == 1 or EVERYBODY in subjects:
            return self.of(EVERYBODY if EVERYBODY in subjects else subjects[0])
        wanted = {name for subject in subjects for names in self.of(subject).values() for name in names}
        return only(self.of(EVERYBODY), wanted)

    def names(self, subject: str) -> set[str]:
        """The names of one subject's nodes."""
        if subject == EVERYBODY:
            return self._names
        return {name for names in self.of(subject).values() for name in names}

    def _find(self, subject: str) -> Places:
        partition = self._partitions.get(subject)
        if partition is None:
            return {}
        if partition.nodes is None:
            return join([places for group, places in self._by_group.items() if group in partition.groups])
        names = set(partition.nodes)
        return self.of(EVERYBODY) if names == self._names else only(self.of(EVERYBODY), names)


def recall(nodes: Sequence[Node], last_known: Mapping[str, Placement]) -> tuple[Sequence[Node], tuple[Finding, ...]]:
    """Nodes, each with what was last known about it where nothing is known now."""
    if not last_known:
        return nodes, ()
    filled = [_complete(node, last_known.get(node.name)) for node in nodes]
    recalled = sorted(new.name for new, old in zip(filled, nodes, strict=True) if new is not old)
    return filled, (_recalled(recalled),) if recalled else ()


def _complete(node: Node, before: Placement | None) -> Node:
    """Parts are only taken from a placement that doesn't contradict what is known now: then the node has moved."""
    if before is None or before == node.placement:
        return node
    path, ultraserver, zone = node.placement
    if _differ(ultraserver, before.ultraserver_id) or _differ(zone, before.zone):
        return node
    merged = Placement(path or before.network_nodes, ultraserver or before.ultraserver_id, zone or before.zone)
    return node if merged == node.placement else node._replace(placement=merged)


def _differ(now: str | None, before: str | None) -> bool:
    return now is not None and before is not None and now != before


def _recalled(nodes: Sequence[str]) -> Finding:
    return Finding(
        "TOPO302",
        Severity.INFO,
        nodes[0],
        f"parts of the placement of {len(nodes)} node(s) beginning with {nodes[0]} aren't known now: they stay where "
        "they were last known to be",
        "nothing to do unless it stays so for more than some minutes",
    )
