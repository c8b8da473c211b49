"""Do two topologies mean the same to Slurm, and if not, what changed.

Meaning is what decides where jobs run:

* the switches of a tree as the sets of nodes below them, whatever their order and names
* the blocks as sets of nodes in their order (neighbours are aggregated), whatever their names; the block sizes
* the names of topologies (partitions point at them) and which is the default; a topology.conf's has no name and equals
  any single one

Names of switches and blocks are not meaning: other names are no reason for a reconfigure. ``diff`` tells them.
``ClusterTopology.partitions`` is not in the file and does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from types import MappingProxyType

from .block_rule import largest_fit
from .compare_units import below, diff_topology
from .difference import Difference, LargestJob, TopologyDifference
from .model import Blocks, ClusterTopology, Flat, NamedTopology, Tree

__all__ = ["diff", "largest_job", "same_meaning"]

_Body = Tree | Blocks | Flat
_NONE: Mapping[str, Collection[str]] = MappingProxyType({})


def same_meaning(a: ClusterTopology, b: ClusterTopology) -> bool:
    """Whether slurmctld would place every job alike under both."""
    pairs = _pairs(a, b)
    if len(pairs) > 1 and _default(a) != _default(b):
        return False
    return all(one is not None and other is not None and _same_body(one.body, other.body) for _, one, other in pairs)


def diff(
    a: ClusterTopology,
    b: ClusterTopology,
    *,
    known_nodes: Collection[str] | None = None,
    partition_nodes: Mapping[str, Collection[str]] = _NONE,
) -> Difference:
    """What changed from ``a`` to ``b``.

    The largest job is compared for the cluster's default topology and for each partition of ``partition_nodes``
    (partition → its nodes), in the topology that ``ClusterTopology.partitions`` gives it, else in the default.
    ``known_nodes``, all that Slurm has, bounds the cluster-wide one; flat topologies need it.
    """
    topologies = tuple(
        TopologyDifference(name, *diff_topology(one.body if one else None, other.body if other else None))
        for name, one, other in _pairs(a, b)
    )
    jobs = [LargestJob("", _largest(a, "", known_nodes), _largest(b, "", known_nodes))]
    for partition, nodes in sorted(partition_nodes.items()):
        jobs.append(LargestJob(partition, _largest(a, partition, nodes), _largest(b, partition, nodes)))
    return Difference(same_meaning(a, b), topologies, (_default(a), _default(b)), tuple(jobs))


def largest_job(body: _Body, nodes: Collection[str] | None = None) -> int | None:
    """The most nodes that one job can have, out of ``nodes`` (None: all in the topology).

    A tree's job stays below one root, a job in blocks follows Slurm's block rule, and under a flat topology there is
    no limit: None, when ``nodes`` doesn't give one.
    """
    if isinstance(body, Flat):
        return None if nodes is None else len(set(nodes))
    wanted = None if nodes is None else frozenset(nodes)
    if isinstance(body, Blocks):
        return largest_fit(body, _counts(body, wanted))
    sets = below(body).values()
    return max((len(members if wanted is None else members & wanted) for members in sets), default=0)


def _counts(blocks: Blocks, wanted: frozenset[str] | None) -> list[int]:
    """How many nodes each block has of those that are wanted; a node of two blocks counts in the first."""
    seen: set[str] = set()
    counts = []
    for block in blocks.blocks:
        members = set(block.nodes) - seen
        seen |= members
        counts.append(len(members if wanted is None else members & wanted))
    return counts


def _largest(topology: ClusterTopology, partition: str, nodes: Collection[str] | None) -> int | None:
    name = topology.partitions.get(partition, _default(topology))
    body = next((entry.body for entry in topology.topologies if entry.name == name), None)
    return 0 if body is None else largest_job(body, nodes)


def _default(topology: ClusterTopology) -> str:
    """Slurm takes the first that is marked, else the first."""
    marked = [entry.name for entry in topology.topologies if entry.cluster_default]
    return (marked or [entry.name for entry in topology.topologies] or [""])[0]


def _pairs(a: ClusterTopology, b: ClusterTopology) -> list[tuple[str, NamedTopology | None, NamedTopology | None]]:
    """(name, of a, of b); of equal names Slurm takes the first."""
    if len(a.topologies) == len(b.topologies) == 1 and "" in (a.topologies[0].name, b.topologies[0].name):
        return [(a.topologies[0].name or b.topologies[0].name, a.topologies[0], b.topologies[0])]
    of_a = {entry.name: entry for entry in reversed(a.topologies)}
    of_b = {entry.name: entry for entry in reversed(b.topologies)}
    return [(name, of_a.get(name), of_b.get(name)) for name in sorted({*of_a, *of_b})]


def _same_body(a: _Body, b: _Body) -> bool:
    if a == b:
        return True
    if isinstance(a, Tree) and isinstance(b, Tree):
        return _shape(a) == _shape(b)
    if isinstance(a, Blocks) and isinstance(b, Blocks):
        sizes_a, sizes_b = sorted(set(a.block_sizes)), sorted(set(b.block_sizes))
        members_a = [frozenset(block.nodes) for block in a.blocks]
        return sizes_a == sizes_b and members_a == [frozenset(block.nodes) for block in b.blocks]
    return False


def _shape(tree: Tree) -> Counter[frozenset[str]]:
    """The sets of nodes below the switches; empty switches join nothing and don't count."""
    return Counter(filter(None, below(tree).values()))
