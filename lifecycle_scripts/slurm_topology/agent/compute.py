"""From what was seen to what is wanted: the core's pipeline, fed with this cluster. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from slurm_topology.agent.disk import DiskState, flat_like
from slurm_topology.agent.observation import Observation
from slurm_topology.agent.places import Place, last_known, remembered
from slurm_topology.agent.planned import groups_of_partitions, planned_groups
from slurm_topology.core import inventory, pipeline
from slurm_topology.core.model import (
    Capability,
    ClusterTopology,
    Finding,
    Inventory,
    Node,
    NodeRole,
    Partition,
    Severity,
    TopologyKind,
)
from slurm_topology.core.pipeline import Rendering
from slurm_topology.core.read_scontrol import SlurmNode
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = ["Wanted", "compute", "nodes_to_place", "seed"]


@dataclass(frozen=True)
class Wanted:
    """The topology that this cluster should have, as the core computed and checked it."""

    rendering: Rendering
    inventory: Inventory
    target: DiskState | None  # what the configuration folder should be; None when errors forbid to write
    assignments: dict[str, str]  # partition → topology (25.05+)
    incomplete: tuple[str, ...]  # nodes whose network could tell their place, and hasn't yet
    missing: int  # instances that Slurm doesn't have as nodes yet
    places: dict[str, Place]  # last-known places, to be remembered
    findings: tuple[Finding, ...] = field(default=())

    @property
    def complete(self) -> bool:
        """Every instance is a node, and every node's place is known."""
        return not self.incomplete and not self.missing

    @property
    def topology(self) -> ClusterTopology:
        return self.rendering.topology


def compute(seen: Observation, places: Mapping[str, Place], *, opt_out: bool) -> Wanted | None:
    """What is wanted; None when Slurm's version or HyperPod's file isn't known.

    ``opt_out``: also set TopologyPlugin to HyperPod's documented opt-out (25.05+, where topology.yaml beats that line).
    """
    if seen.version is None or seen.conf is None or seen.resource_config is None:
        return None
    inventory_now, findings = inventory.build(
        resource_config=seen.resource_config,
        slurm_nodes=nodes_to_place(seen),
        cluster_nodes=seen.cluster_nodes,
        instance_topology=seen.instance_topology,
        groups=planned_groups(seen.plan, seen.resource_config),
        partitions=tuple(_partitions(seen, groups_of_partitions(seen.plan, seen.resource_config))),
    )
    wishes = seen.plan.wanted if seen.plan else None
    block_sizes = seen.plan.block_sizes if seen.plan else ()
    known = last_known(inventory_now, places)
    rendering = pipeline.compute(inventory_now, seen.version, last_known=known, wanted=wishes, block_sizes=block_sizes)
    return Wanted(
        rendering=rendering,
        inventory=inventory_now,
        target=None if _refused(findings) else _target(seen, rendering, seen.version, opt_out),
        assignments=_assignments(rendering.topology) if seen.version.has_topology_yaml else {},
        incomplete=tuple(_incomplete(inventory_now)),
        missing=_missing(inventory_now, seen),
        places=remembered(inventory_now, places),
        findings=findings + rendering.findings,
    )


def seed(seen: Observation, wanted: Wanted, *, opt_out: bool) -> Wanted:
    """What to publish while places are unknown and something has to be published: flat, so that every node and every
    size of job works, and nodes that come later need nothing."""
    assert seen.version is not None  # noqa: S101 (else nothing would be wanted)
    rendering = pipeline.compute(wanted.inventory, seen.version, wanted=TopologyKind.FLAT)
    return replace(
        wanted,
        rendering=rendering,
        target=_target(seen, rendering, seen.version, opt_out),
        assignments=_assignments(rendering.topology) if seen.version.has_topology_yaml else {},
    )


def nodes_to_place(seen: Observation) -> tuple[SlurmNode, ...]:
    """The nodes after the next reconfigure: slurm.conf's, and the dynamic ones that slurmctld has now.

    Where slurm.conf couldn't be read in full, every node that slurmctld has now stays.
    """
    live = {node.name: node for node in seen.slurm.nodes} if seen.slurm else {}
    static = seen.conf.nodes if seen.conf else ()
    all_told = seen.conf is not None and seen.conf.tells_all_nodes
    names = {node.name for node in static}
    others = (node for node in live.values() if node.name not in names and (not all_told or _is_dynamic(node)))
    listed = (live.get(node.name) or SlurmNode(node.name, node.address, node.hostname) for node in static)
    return (*listed, *others)


def _is_dynamic(node: SlurmNode) -> bool:
    return any(state.startswith("DYNAMIC") for state in node.states)


def _partitions(seen: Observation, planned: Mapping[str, tuple[str, ...]]) -> Iterator[Partition]:
    """The partitions that Slurm will have: groups as ``planned``, nodes and Topology= from slurm.conf.

    The live Topology= doesn't count here: the next reconfigure goes back to what slurm.conf's line names. A slurmctld
    that is down can't tell the nodes, then the lines have to do.
    """
    lines = seen.conf.partitions if seen.conf else ()
    live = seen.slurm.partitions if seen.slurm else None
    topologies = {partition.name: partition.topology for partition in lines}
    for partition in lines if live is None else live:
        yield partition._replace(groups=planned.get(partition.name, ()), topology=topologies.get(partition.name))


def _target(seen: Observation, rendering: Rendering, version: SlurmVersion, opt_out: bool) -> DiskState | None:
    disk = seen.disk
    if version.has_topology_yaml:
        plugin = version.flat_plugin if opt_out else disk.plugin
        return None if rendering.text is None else DiskState(disk.conf, rendering.text, plugin)
    if rendering.text is not None:
        return DiskState(rendering.text, disk.yaml, rendering.plugin)  # a topology.yaml isn't read before 25.05
    # flat needs no file; topology.conf, if there is one, isn't read any more
    return disk._replace(plugin=rendering.plugin) if flat_like(rendering.plugin) else None


def _refused(findings: Iterable[Finding]) -> bool:
    """The sources contradict each other in a way that leaves no telling who sits where."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def _assignments(topology: ClusterTopology) -> dict[str, str]:
    return dict(sorted(topology.partitions.items()))


def _missing(inventory_now: Inventory, seen: Observation) -> int:
    """Instances of compute groups, planned or listed by HyperPod, that aren't nodes yet."""
    nodes = Counter(node.group for node in inventory_now.nodes)
    listed = Counter(each.group for each in seen.resource_config.instances) if seen.resource_config else Counter[str]()
    compute = (group for group in inventory_now.groups if group.role is NodeRole.COMPUTE)
    return sum(max(0, max(group.count or 0, listed[group.name]) - nodes[group.name]) for group in compute)


def _incomplete(inventory_now: Inventory) -> Iterator[str]:
    capability = {group.name: group.capability for group in inventory_now.groups if group.role is NodeRole.COMPUTE}
    for node in inventory_now.nodes:
        if not _placed(node, capability.get(node.group or "", Capability.NONE)):
            yield node.name


def _placed(node: Node, capability: Capability) -> bool:
    if capability is Capability.BLOCK:
        return node.placement.ultraserver_id is not None
    return capability is Capability.NONE or bool(node.placement.network_nodes)
