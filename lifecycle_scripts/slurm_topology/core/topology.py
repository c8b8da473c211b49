"""Inventory and plan → the cluster's topology for one Slurm version.

Invariant: every node that Slurm knows is in the cluster's default topology, every node of a partition in the
partition's, and every topology name that slurm.conf's partitions use is defined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .block_size import block_counts, feasible_base, largest_job, lower
from .blocks import build_blocks
from .model import (
    Blocks,
    Choice,
    ClusterTopology,
    Finding,
    Flat,
    Inventory,
    NamedTopology,
    Node,
    Partition,
    Placement,
    Plan,
    Severity,
    TopologyKind,
    Tree,
)
from .slurm_version import SlurmVersion
from .tree import build_tree

__all__ = ["build"]

_DEFAULT = ""  # the subject of the cluster's default among the partitions' names
_Members = Mapping[str, Sequence[Node]]  # subject → its nodes; _DEFAULT → all nodes


class _Entry(NamedTuple):
    """One topology to build."""

    name: str
    kind: TopologyKind
    block_sizes: tuple[int, ...] = ()


def build(
    inventory: Inventory, plan: Plan, version: SlurmVersion, last_known: Mapping[str, Placement]
) -> tuple[ClusterTopology, tuple[Finding, ...]]:
    """The topology (the default first, then by name), and what a person should know about it.

    ``last_known`` is the placement that a node, by name, had when it was last known; the caller leaves out nodes
    whose instance was replaced since. Before Slurm 25.05 there is one topology for all, and no partition is assigned
    any.
    """
    findings: list[Finding] = []
    nodes = _with_last_known(inventory.nodes, last_known, findings)
    members = _members(nodes, inventory.partitions)
    if version.has_topology_yaml:
        topology = _per_partition(plan, inventory.partitions, members, findings)
    else:
        body = _body_for_all(plan.default, members, findings)
        topology = ClusterTopology((NamedTopology(plan.default.topology, body, True),))
    return topology, tuple(sorted(set(findings)))


def _with_last_known(
    nodes: Sequence[Node], last_known: Mapping[str, Placement], findings: list[Finding]
) -> Sequence[Node]:
    """Nodes, each with what was last known about it where nothing is known now."""
    if not last_known:
        return nodes
    filled = [_recall(node, last_known.get(node.name)) for node in nodes]
    recalled = sorted(new.name for new, old in zip(filled, nodes, strict=True) if new is not old)
    if recalled:
        findings.append(_recalled(recalled))
    return filled


def _recall(node: Node, before: Placement | None) -> Node:
    if before is None:
        return node
    path, ultraserver, zone = node.placement
    merged = Placement(path or before.network_nodes, ultraserver or before.ultraserver_id, zone or before.zone)
    return node if merged == node.placement else node._replace(placement=merged)


def _members(nodes: Sequence[Node], partitions: Iterable[Partition]) -> _Members:
    """Slurm's own list of a partition's nodes wins over the partition's groups."""
    members: dict[str, Sequence[Node]] = {_DEFAULT: nodes}
    for partition in partitions:
        if partition.nodes is not None:
            names = set(partition.nodes)
            members[partition.name] = [node for node in nodes if node.name in names]
        else:
            groups = set(partition.groups)
            members[partition.name] = [node for node in nodes if node.group in groups]
    return members


# ---- Slurm ≥ 25.05: several topologies


def _per_partition(
    plan: Plan, partitions: Sequence[Partition], members: _Members, findings: list[Finding]
) -> ClusterTopology:
    entries = _entries(plan, members)
    default = entries[_DEFAULT]
    users: dict[_Entry, list[str]] = {}
    for subject, entry in entries.items():
        users.setdefault(entry, []).append(subject)
    for subject, entry in _aliases(entries, partitions):
        users.setdefault(entry, []).append(subject)
    built = [
        NamedTopology(
            entry.name,
            _body(entry, members[_DEFAULT] if entry == default else _union(subjects, members), findings),
            entry == default,
        )
        for entry, subjects in users.items()
    ]
    built.sort(key=lambda topology: (not topology.cluster_default, topology.name))
    assigned = {
        partition.name: entries[partition.name].name
        for partition in partitions
        if partition.name in entries
        and (entries[partition.name] != default or partition.topology not in (None, default.name))
    }
    return ClusterTopology(tuple(built), assigned)


def _entries(plan: Plan, members: _Members) -> dict[str, _Entry]:
    """Subject → the topology it gets. Block topologies that its nodes can't fill get a lower block size, and then a
    name of their own unless it is the size that the cluster's default, or else the best-filled partition, has too."""
    choices = [plan.default, *plan.partitions]
    sizes = {choice.subject: _sizes(choice, members.get(choice.subject, ())) for choice in choices}
    main: dict[str, tuple[int, ...]] = {}
    for choice in choices:
        mine = sizes[choice.subject]
        if choice.topology not in main or (choice.topology != plan.default.topology and mine > main[choice.topology]):
            main[choice.topology] = mine
    return {
        choice.subject: _Entry(
            choice.topology
            if sizes[choice.subject] == main[choice.topology]
            else f"{choice.kind.value}-{sizes[choice.subject][0]}",
            choice.kind,
            sizes[choice.subject],
        )
        for choice in choices
    }


def _sizes(choice: Choice, nodes: Sequence[Node]) -> tuple[int, ...]:
    """The block sizes with which none of the subject's jobs is refused; () for other kinds."""
    if choice.kind is not TopologyKind.BLOCK:
        return ()
    return lower(choice.block_sizes, feasible_base(choice.block_sizes[0], block_counts(nodes)))


def _aliases(entries: Mapping[str, _Entry], partitions: Sequence[Partition]) -> Iterable[tuple[str, _Entry]]:
    """Names that slurm.conf's partitions use and nobody gets: without them every reconfigure is refused."""
    known = {entry.name for entry in entries.values()}
    meaning: dict[str, _Entry] = {}
    for partition in partitions:
        name = partition.topology
        if name and name not in known:
            entry = meaning.setdefault(name, entries.get(partition.name, entries[_DEFAULT])._replace(name=name))
            yield partition.name, entry


def _union(subjects: Iterable[str], members: _Members) -> Sequence[Node]:
    """The nodes of several partitions, each once."""
    return list({node.name: node for subject in subjects for node in members.get(subject, ())}.values())


def _body(entry: _Entry, nodes: Sequence[Node], findings: list[Finding]) -> Tree | Blocks | Flat:
    if entry.kind is TopologyKind.FLAT:
        return Flat()
    if entry.kind is TopologyKind.TREE:
        return _tree(nodes, entry.name, findings)
    return _blocks(nodes, entry.name, entry.block_sizes, findings)


def _tree(nodes: Sequence[Node], name: str, findings: list[Finding]) -> Tree | Flat:
    if not any(node.placement.network_nodes or node.placement.ultraserver_id for node in nodes):
        findings.append(_nothing_known(name, "network position", len(nodes)))
        return Flat()
    tree, more = build_tree(nodes)
    findings += more
    return tree


def _blocks(nodes: Sequence[Node], name: str, sizes: tuple[int, ...], findings: list[Finding]) -> Blocks | Flat:
    if not any(node.placement.ultraserver_id for node in nodes):
        findings.append(_nothing_known(name, "UltraServer", len(nodes)))
        return Flat()
    blocks, more = build_blocks(nodes, sizes)
    findings += more
    limit = largest_job(sizes, [len(block.nodes) for block in blocks.blocks])
    if limit < len(nodes):
        findings.append(_large_jobs_refused(name, sizes, limit, len(nodes)))
    return blocks


# ---- Slurm < 25.05: one topology for all


def _body_for_all(choice: Choice, members: _Members, findings: list[Finding]) -> Tree | Blocks | Flat:
    """Up to 24.11 slurmctld dies of a block with fewer nodes than the block size, so the size is lowered to the
    smallest block; below half of what was planned, 24.11 spreads jobs over blocks that would fit into one (trials),
    and a tree of UltraServers serves them better."""
    nodes = members[_DEFAULT]
    if choice.kind is not TopologyKind.BLOCK:
        return _body(_Entry(choice.topology, choice.kind), nodes, findings)
    counts = {subject: block_counts(own) for subject, own in members.items()}
    planned = choice.block_sizes[0]
    base = min([planned, *counts[_DEFAULT][-1:], *(feasible_base(planned, own) for own in counts.values())])
    if 2 * base < planned:
        findings.append(_tree_instead(counts[_DEFAULT][-1], planned))
        return _tree(nodes, choice.topology, findings)
    if base < planned:
        findings.append(_shrunk(base, planned))
    return _blocks(nodes, choice.topology, lower(choice.block_sizes, base), findings)


# ---- findings


def _recalled(nodes: Sequence[str]) -> Finding:
    return Finding(
        "TOPO302",
        Severity.INFO,
        nodes[0],
        f"nothing new is known about {len(nodes)} node(s) beginning with {nodes[0]}: they stay where they were last "
        "known to be",
        "nothing to do unless it stays for more than some minutes",
    )


def _nothing_known(name: str, what: str, nodes: int) -> Finding:
    return Finding(
        "TOPO309",
        Severity.WARNING if nodes else Severity.INFO,
        name,
        f"topology {name} is flat for now: the {what} of none of its {nodes} nodes is known",
        "labels come minutes after launch; the next pass takes them in",
    )


def _shrunk(base: int, planned: int) -> Finding:
    return Finding(
        "TOPO311",
        Severity.WARNING,
        "block",
        f"block size {base} instead of {planned}: up to Slurm 24.11, slurmctld dies of a block with fewer nodes "
        "than that",
        "full UltraServers, or Slurm 25.05 and newer, get the full size",
    )


def _tree_instead(smallest: int, planned: int) -> Finding:
    return Finding(
        "TOPO312",
        Severity.WARNING,
        "block",
        f"a tree instead of blocks: the smallest block or partition would force the block size from {planned} down "
        f"to below its half (smallest block: {smallest}), "
        "and Slurm 24.11 needs every block to be at least that large",
        "full UltraServers, or Slurm 25.05 and newer, get blocks",
    )


def _large_jobs_refused(name: str, sizes: tuple[int, ...], limit: int, nodes: int) -> Finding:
    return Finding(
        "TOPO316",
        Severity.WARNING,
        name,
        f"with block sizes {', '.join(map(str, sizes))}, jobs of more than {limit} of the {nodes} nodes are "
        "refused: the other blocks don't make up a whole "
        f"aggregate of {sizes[-1]}",
        f"use the block size {sizes[0]} alone",
    )
