"""Inventory and plan → the cluster's topology for one Slurm version.

Invariant: every node that Slurm knows is in the cluster's default topology, every node of a partition in the
partition's, and every topology name that slurm.conf's partitions use is defined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .block_size import block_counts, feasible_base, lower
from .blocks import build_blocks
from .choose import groups_of, usable_instances
from .members import EVERYBODY, Members, recall
from .model import (
    Blocks,
    Choice,
    ClusterTopology,
    Finding,
    Flat,
    Inventory,
    NamedTopology,
    Partition,
    Placement,
    Plan,
    Severity,
    TopologyKind,
    Tree,
)
from .places import Places
from .slurm_version import SlurmVersion
from .tree import build_tree

__all__ = ["build"]


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
    nodes, recalled = recall(inventory.nodes, last_known)
    members = Members(nodes, inventory.partitions)
    findings = [*recalled, *members.findings]
    if version.has_topology_yaml:
        topology = _per_partition(plan, inventory, members, findings)
    else:
        usable = usable_instances(groups_of(None, inventory.groups))
        topology = ClusterTopology((_for_all(plan.default, usable, members, findings),))
    return topology, tuple(sorted(set(findings)))


# ---- Slurm ≥ 25.05: several topologies


def _per_partition(plan: Plan, inventory: Inventory, members: Members, findings: list[Finding]) -> ClusterTopology:
    partitions = inventory.partitions
    entries = _entries(plan, inventory, members, findings)
    default = entries[EVERYBODY]
    users: dict[_Entry, list[str]] = {}
    for subject, entry in (*entries.items(), *_aliases(entries, partitions)):
        users.setdefault(entry, []).append(subject)
    built = [
        NamedTopology(entry.name, _body(entry, members.of_all(subjects), findings), entry == default)
        for entry, subjects in users.items()
    ]
    built.sort(key=lambda topology: (not topology.cluster_default, topology.name))
    return ClusterTopology(tuple(built), _assignments(entries, partitions))


def _entries(plan: Plan, inventory: Inventory, members: Members, findings: list[Finding]) -> dict[str, _Entry]:
    """Subject → the topology it gets.

    Block topologies that a subject's nodes can't fill get a lower block size. Of those with one name, the cluster's
    default or else the largest block size keeps the name, and every other size has one of its own.
    """
    choices = [plan.default, *plan.partitions]
    sizes = {choice.subject: _feasible_sizes(choice, members) for choice in choices}
    partitions = {partition.name: partition for partition in inventory.partitions}
    for choice in choices:
        if choice.block_sizes != sizes[choice.subject]:
            usable = usable_instances(groups_of(partitions.get(choice.subject), inventory.groups))
            findings.append(_lowered(choice, sizes[choice.subject][0], usable))
    main = {plan.default.topology: sizes[EVERYBODY]}
    for choice in sorted(plan.partitions, key=lambda choice: sizes[choice.subject], reverse=True):
        main.setdefault(choice.topology, sizes[choice.subject])
    return {choice.subject: _entry(choice, sizes[choice.subject], main[choice.topology]) for choice in choices}


def _entry(choice: Choice, sizes: tuple[int, ...], main: tuple[int, ...]) -> _Entry:
    name = choice.topology if sizes == main else f"{choice.kind.value}-{sizes[0]}"
    return _Entry(name, choice.kind, sizes)


def _feasible_sizes(choice: Choice, members: Members) -> tuple[int, ...]:
    """The block sizes with which none of the subject's jobs is refused; () for other kinds."""
    if choice.kind is not TopologyKind.BLOCK:
        return ()
    counts = block_counts(members.of(choice.subject))
    return lower(choice.block_sizes, feasible_base(choice.block_sizes[0], counts))


def _aliases(entries: Mapping[str, _Entry], partitions: Iterable[Partition]) -> Iterable[tuple[str, _Entry]]:
    """Names that slurm.conf's partitions use and that nobody gets: without them every reconfigure is refused."""
    known = {entry.name for entry in entries.values()}
    meaning: dict[str, _Entry] = {}
    for partition in partitions:
        name = partition.topology
        if name and name not in known:
            like = entries.get(partition.name, entries[EVERYBODY])
            yield partition.name, meaning.setdefault(name, like._replace(name=name))


def _assignments(entries: Mapping[str, _Entry], partitions: Iterable[Partition]) -> dict[str, str]:
    """Partition → topology, where it isn't the default's or where slurm.conf's line names another one."""
    default = entries[EVERYBODY].name
    chosen = {each.name: (entries[each.name].name, each.topology) for each in partitions if each.name in entries}
    return {name: new for name, (new, old) in chosen.items() if (old or default) != new}


def _body(entry: _Entry, places: Places, findings: list[Finding]) -> Tree | Blocks | Flat:
    if entry.kind is TopologyKind.TREE:
        return _tree(places, entry.name, findings)
    if entry.kind is TopologyKind.BLOCK:
        return _blocks(places, entry.name, entry.block_sizes, findings)
    return Flat()


def _tree(places: Places, name: str, findings: list[Finding]) -> Tree | Flat:
    if not any(placement.network_nodes or placement.ultraserver_id for placement in places):
        findings.append(_nothing_known(name, "network position", _count(places)))
        return Flat()
    tree, more = build_tree(places)
    findings += more
    return tree


def _blocks(places: Places, name: str, sizes: tuple[int, ...], findings: list[Finding]) -> Blocks | Flat:
    if not any(placement.ultraserver_id for placement in places):
        findings.append(_nothing_known(name, "UltraServer", _count(places)))
        return Flat()
    blocks, more = build_blocks(places, sizes)
    findings += more
    return blocks


def _count(places: Places) -> int:
    return sum(map(len, places.values()))


# ---- Slurm < 25.05: one topology for all


def _for_all(choice: Choice, usable: int | None, members: Members, findings: list[Finding]) -> NamedTopology:
    """``usable``: instances of the smallest UltraServer, None without any; more than that can't be planned.

    Up to 24.11 slurmctld dies of a block with fewer nodes than the block size, so the size is lowered to the
    smallest block; below half of what was planned, 24.11 spreads jobs over blocks that would fit into one (trials), and
    a tree of UltraServers serves them better."""
    places = members.of(EVERYBODY)
    if choice.kind is not TopologyKind.BLOCK:
        return NamedTopology(choice.topology, _body(_Entry(choice.topology, choice.kind), places, findings), True)
    asked = choice.block_sizes[0]
    planned = min(asked, usable or asked)
    feasible = (feasible_base(planned, block_counts(members.of(subject))) for subject in members.subjects)
    smallest = min(block_counts(places), default=planned)
    base = min(planned, smallest, *feasible)
    if not any(placement.ultraserver_id for placement in places):
        tree = _tree(places, "tree", findings)
        if isinstance(tree, Tree):
            findings.append(_tree_for_now(choice.topology, _count(places)))
        return NamedTopology("tree", tree, True)
    if 2 * base < planned:
        findings.append(_tree_instead(base, planned))
        return NamedTopology("tree", _tree(places, "tree", findings), True)
    if base < planned:
        findings.append(_shrunk(base, planned))
    elif base < asked:
        findings.append(_lowered(choice, base, usable))
    sizes = lower(choice.block_sizes, base)
    return NamedTopology(choice.topology, _blocks(places, choice.topology, sizes, findings), True)


# ---- findings


def _nothing_known(name: str, what: str, nodes: int) -> Finding:
    return Finding(
        "TOPO309",
        Severity.WARNING if nodes else Severity.INFO,
        name,
        f"topology {name} is flat for now: the {what} of none of its {nodes} nodes is known",
        "labels come minutes after launch; the next pass takes them in",
    )


def _tree_for_now(name: str, nodes: int) -> Finding:
    return Finding(
        "TOPO309",
        Severity.WARNING,
        name,
        f"topology {name} is a tree for now: the UltraServer of none of its {nodes} nodes is known, and they have "
        "network paths",
        "ListClusterNodes tells the UltraServer minutes after launch; for types that form none, leave the kind to the "
        "plan",
    )


def _lowered(choice: Choice, base: int, usable: int | None) -> Finding:
    """``usable``: instances of the smallest UltraServer, None without any."""
    subject = f"partition {choice.subject}" if choice.subject else "cluster default"
    asked = choice.block_sizes[0]
    causes, remedy = [], "nothing to do, jobs still go into one UltraServer that has room for them"
    if usable and asked > usable:
        causes.append(f"there are UltraServers of {usable} usable nodes")
        remedy = f"use block sizes that begin with {usable} or less, or leave them to the plan"
    if usable is None or base < min(asked, usable):
        causes.append("the UltraServers aren't full")
        remedy += "; it rises as they fill"
    return Finding(
        "TOPO313",
        Severity.INFO,
        subject,
        f"{subject}: block size {base} instead of {asked}, because {' and '.join(causes)}: with the larger one, "
        "slurmctld would refuse jobs of some sizes for which there are nodes",
        remedy,
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


def _tree_instead(base: int, planned: int) -> Finding:
    return Finding(
        "TOPO312",
        Severity.WARNING,
        "block",
        f"a tree instead of blocks: the smallest block or partition would force the block size from {planned} down to "
        f"{base}, because Slurm 24.11 needs every block to be at least that large",
        "full UltraServers, or Slurm 25.05 and newer, get blocks",
    )
