"""Nodes in two places, in none, or unknown to Slurm: slurmctld says little or nothing about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from . import check_rules as rules
from .check_names import check_node_names
from .check_rules import Report, Rule, shorten, unit_subject
from .model import Blocks, ClusterTopology, Flat, NamedTopology, Tree
from .slurm_version import SlurmVersion

__all__ = ["check_nodes", "default_name"]


def check_nodes(
    report: Report,
    topology: ClusterTopology,
    version: SlurmVersion,
    known_nodes: frozenset[str] | None,
    partition_nodes: Mapping[str, Collection[str]],
) -> None:
    """Every node once, and every node that a topology serves placed in it.

    Which ones those are: the nodes of the partitions that use it (``partition_nodes``; ``topology.partitions`` says
    which one a partition uses); without partitions, all known nodes are to be in the cluster's default.
    """
    wanted = _wanted(topology, known_nodes, partition_nodes)
    for entry in topology.topologies:
        if isinstance(entry.body, Flat):
            continue
        placed = _check_units(report, entry, entry.body)
        unknown = placed - known_nodes if known_nodes is not None and placed != known_nodes else None
        if unknown:
            message = f"names {shorten(unknown)} that Slurm doesn't have; they are left out"
            report.add(rules.UNKNOWN_NODES, _subject(entry), message)
        served = wanted.get(entry.name, frozenset())
        missing = served - placed if served != placed else None
        if missing:
            report.add(rules.UNPLACED_NODES, _subject(entry), f"lacks {shorten(missing)}: {_fate(entry, version)}")


def _subject(entry: NamedTopology) -> str:
    return f"topology {entry.name}" if entry.name else "topology.conf"


def _fate(entry: NamedTopology, version: SlurmVersion) -> str:
    """What becomes of nodes that it lacks (seen on 24.11.5, 25.11.4 and 26.05.5)."""
    if isinstance(entry.body, Blocks):
        return "jobs of several nodes can't use nodes outside the blocks"
    if version < (26, 5):
        return f"Slurm {version} runs no job on nodes outside the leaf switches"
    return f"Slurm {version} runs only one-node jobs on nodes outside the leaf switches"


def default_name(topology: ClusterTopology) -> str:
    """The cluster's default as slurmctld chooses it: the first that is marked, else the first of all."""
    entries = topology.topologies
    return next((entry.name for entry in entries if entry.cluster_default), entries[0].name)


def _wanted(
    topology: ClusterTopology, known_nodes: frozenset[str] | None, partition_nodes: Mapping[str, Collection[str]]
) -> dict[str, set[str] | frozenset[str]]:
    """Name of a topology → nodes that must be in it."""
    if not topology.topologies:
        return {}
    default = default_name(topology)
    if not partition_nodes:
        return {default: known_nodes or frozenset()}
    wanted: dict[str, set[str] | frozenset[str]] = {}
    for partition, nodes in partition_nodes.items():
        name = topology.partitions.get(partition, default)
        wanted[name] = wanted.get(name, frozenset()).union(nodes)
    return wanted


def _check_units(report: Report, entry: NamedTopology, body: Tree | Blocks) -> set[str]:
    """The nodes of all units; those in two units, or twice in one, are reported."""
    if isinstance(body, Tree):
        units: list[tuple[str, tuple[str, ...]]] = [
            (switch.name, switch.nodes) for switch in body.switches if switch.nodes
        ]
        kind, rule = "switch", rules.TWO_LEAVES
    else:
        units = [(block.name, block.nodes) for block in body.blocks]
        kind, rule = "block", rules.TWO_BLOCKS
    names = list(chain.from_iterable([nodes for _, nodes in units]))
    check_node_names(report, names)
    placed = set(names)
    if len(placed) != len(names):
        _report_repeated(report, entry, kind, rule, units)
    return placed


def _report_repeated(
    report: Report, entry: NamedTopology, kind: str, rule: Rule, units: Iterable[tuple[str, tuple[str, ...]]]
) -> None:
    first: dict[str, str] = {}
    for name, nodes in units:
        subject = unit_subject(kind, name, entry.name)
        once = set(nodes)
        if len(once) != len(nodes):
            twice = {node for node in once if nodes.count(node) > 1}
            report.add(rules.LISTED_TWICE, subject, f"lists {shorten(twice)} more than once")
        elsewhere = once & first.keys()
        if elsewhere:
            others = ", ".join(sorted({first[node] for node in elsewhere})[:5])
            report.add(rule, subject, f"has {shorten(elsewhere)} that {others} has too")
        first.update(dict.fromkeys(once - elsewhere, name))
