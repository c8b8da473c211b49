"""Inventory → checked rendering, in one call: what the agent, the Lambda and ``slurm-topology render`` share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from .check import check_topology
from .check_rules import SEVERAL_ROOTS
from .choose import make_plan
from .members import EVERYBODY, Members
from .model import Blocks, ClusterTopology, Finding, Flat, Inventory, Placement, Plan, Severity, TopologyKind
from .render_conf import render as render_conf
from .render_yaml import render as render_yaml
from .slurm_version import SlurmVersion
from .topology import build

__all__ = ["Rendering", "compute"]

_NOTHING_KNOWN: Mapping[str, Placement] = {}


@dataclass(frozen=True)
class Rendering:
    """What is to be written for one Slurm version, and why."""

    file_name: str  # topology.conf or topology.yaml
    text: str | None  # None: nothing is to be written, as the topology is flat on Slurm < 25.05 or findings say ERROR
    plugin: str  # TopologyPlugin that goes with the file; the yaml wins over it, so there it is the flat one
    topology: ClusterTopology
    plan: Plan
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> bool:
        """True when an error forbids to write anything."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def compute(
    inventory: Inventory,
    version: SlurmVersion,
    *,
    last_known: Mapping[str, Placement] = _NOTHING_KNOWN,
    wanted: TopologyKind | None = None,
    block_sizes: tuple[int, ...] = (),
) -> Rendering:
    """Plan, build, check and render. Equal inventories in any order give equal bytes.

    What the checker refuses is never returned as text. ``last_known``: see topology.build; ``wanted`` and
    ``block_sizes``: see make_plan.
    """
    plan = make_plan(inventory.groups, inventory.partitions, version, wanted=wanted, block_sizes=block_sizes)
    topology, findings = build(inventory, plan, version, last_known)
    known_nodes = [node.name for node in inventory.nodes]
    partition_topologies = [partition.topology for partition in inventory.partitions if partition.topology]
    checked = check_topology(
        topology, version, known_nodes, partition_topologies, partition_nodes=_users(inventory, topology)
    )
    every_finding = tuple(sorted({*plan.findings, *findings, *_news(checked)}))
    refused = any(finding.severity is Severity.ERROR for finding in every_finding)
    text = None if refused else _render(topology, version)
    return Rendering(version.topology_file, text, _plugin(topology, version), topology, plan, every_finding)


def _news(checked: Iterable[Finding]) -> Iterable[Finding]:
    """The roots of a tree that we made are zones: TOPO310 tells them, and a switch above them would be wrong."""
    return (finding for finding in checked if finding.id != SEVERAL_ROOTS.id)


def _users(inventory: Inventory, topology: ClusterTopology) -> dict[str, Collection[str]]:
    """Who must be placed where: every node in the default ("" is no partition), a partition's in its own topology.

    Empty where it makes no difference: then the checker holds the default against all known nodes.
    """
    blocks = any(isinstance(entry.body, Blocks) for entry in topology.topologies)
    if not topology.partitions and not blocks:
        return {}
    members = Members(inventory.nodes, inventory.partitions)
    default = [each.name for each in inventory.partitions if each.topology in (None, topology.topologies[0].name)]
    subjects = {EVERYBODY, *topology.partitions, *(default if blocks else ())}
    return {subject: members.names(subject) for subject in sorted(subjects)}


def _render(topology: ClusterTopology, version: SlurmVersion) -> str | None:
    if version.has_topology_yaml:
        return render_yaml(topology)
    return None if isinstance(topology.topologies[0].body, Flat) else render_conf(topology)


def _plugin(topology: ClusterTopology, version: SlurmVersion) -> str:
    if version.has_topology_yaml or isinstance(topology.topologies[0].body, Flat):
        return version.flat_plugin
    return f"topology/{_KIND[type(topology.topologies[0].body).__name__]}"


_KIND = {"Tree": "tree", "Blocks": "block"}
