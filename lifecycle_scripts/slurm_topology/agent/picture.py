"""How the wanted topology, the files on disk and Slurm's own view compare. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slurm_topology.agent import readback
from slurm_topology.agent.compute import Wanted, nodes_to_place
from slurm_topology.agent.disk import CONF, PLUGIN, YAML, DiskState, flat_like
from slurm_topology.agent.observation import Observation, SlurmView
from slurm_topology.agent.state import AgentState
from slurm_topology.agent.text import digest
from slurm_topology.core import check, compare, parse_conf, parse_yaml
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Blocks, ClusterTopology, Flat, Severity, Tree
from slurm_topology.core.read_scontrol import SlurmNode
from slurm_topology.core.render_header import HEADER
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = [
    "Picture",
    "disk_suspect",
    "draw",
    "exempt",
    "lost_overrides",
    "meaning_of",
    "places_in_force",
    "summary",
    "unplaced_nodes",
]

BUSY = ("ALLOCATED", "MIXED", "COMPLETING")
# HyperPod writes slurm.conf and reconfigures within seconds; what has been there for five minutes is meant
CONF_MEANT_SECONDS = 300.0


@dataclass(frozen=True)
class Picture:
    """The comparison. ``right`` means: says the same as the wanted topology."""

    disk_right: bool
    force_right: bool
    assignments: dict[str, str]  # partition → topology, those that differ from the wanted ones
    assignable: dict[str, str]  # those of them that the topology in force could give
    claimed: bool  # another program gave a partition a topology: neither ours nor what a reconfigure falls back to
    foreign: bool  # what should be ours, file or plugin line, was changed by somebody else since we wrote it
    disk_refused: bool  # slurmctld would refuse what is on disk
    unplaced: tuple[str, ...]  # nodes of Slurm that the topology in force doesn't place
    lost_overrides: tuple[tuple[str, str], ...]  # (node, override) that the wanted topology can't honour
    leaving: tuple[str, ...]  # nodes in use that slurm.conf doesn't have (any more, or yet again)

    @property
    def right(self) -> bool:
        """Files, Slurm and partitions are what is wanted."""
        return self.disk_right and self.force_right and not self.assignments

    @property
    def broken(self) -> bool:
        """What even a guest may mend: a file that would be refused, or nodes that nobody can use."""
        return self.disk_refused or bool(self.unplaced)


def draw(seen: Observation, wanted: Wanted, state: AgentState, *, disk_refused: bool | None = None) -> Picture:
    """Compare. ``seen`` has a version and a slurm.conf (else nothing is wanted).

    ``disk_refused``: whether slurmctld would refuse what is on disk; None: the checker's word has to do.
    """
    assert seen.version is not None and seen.conf is not None  # noqa: S101, PT018
    disk_right = _disk_right(seen.disk, wanted, seen.version)
    return Picture(
        disk_right=disk_right,
        force_right=_force_right(seen, wanted, disk_right=disk_right),
        assignments=(assignments := _assignments(seen.slurm, wanted)),
        assignable=dict(_assignable(seen.slurm, assignments)),
        claimed=_claimed(seen, assignments, state),
        foreign=_foreign(seen.disk, wanted.target, state, seen.version),
        disk_refused=disk_suspect(seen) if disk_refused is None else disk_refused,
        unplaced=unplaced_nodes(seen.slurm) if seen.slurm else (),
        lost_overrides=tuple(lost_overrides(seen.slurm, wanted.topology)),
        leaving=tuple(_leaving(seen)),
    )


def meaning_of(disk: DiskState, version: SlurmVersion) -> ClusterTopology | None:
    """What slurmctld would read from this state; None when it can't be read."""
    try:
        if version.has_topology_yaml and disk.yaml is not None:
            return parse_yaml.parse(disk.yaml).topology
        if flat_like(disk.plugin):
            return readback.FLAT
        return None if disk.conf is None else parse_conf.parse(disk.conf).topology
    except InputError:
        return None


def places_in_force(seen: Observation) -> bool:
    """Slurm runs with a tree or blocks of an agent's: the cluster's first boot is over."""
    if seen.slurm is None or seen.version is None:
        return False
    text = seen.disk.file(seen.version.topology_file) or ""
    return text.startswith(HEADER) and any(not isinstance(each.body, Flat) for each in seen.slurm.in_force.topologies)


def summary(seen: Observation, wanted: ClusterTopology) -> str:
    """The change in one line, for the history."""
    old = meaning_of(seen.disk, seen.version) if seen.version else None
    return str(compare.diff(old, wanted)) if old is not None else "nothing usable was there before"


def _disk_right(disk: DiskState, wanted: Wanted, version: SlurmVersion) -> bool:
    target = wanted.target
    if target is None:
        return False
    same_plugin = disk.plugin == target.plugin or (flat_like(disk.plugin) and flat_like(target.plugin))
    if not same_plugin:
        return False
    if disk.conf == target.conf and disk.yaml == target.yaml:
        return True
    meaning = meaning_of(disk, version)
    return meaning is not None and compare.same_meaning(meaning, wanted.topology)


def _force_right(seen: Observation, wanted: Wanted, *, disk_right: bool) -> bool:
    view = seen.slurm
    if view is None:
        return False
    plugin = wanted.rendering.plugin
    if (
        not view.version.has_topology_yaml
        and view.plugin != plugin
        and not (flat_like(view.plugin) and flat_like(plugin))
    ):
        return False
    spared = exempt(view)
    if not disk_right:
        spared = spared._replace(absent=())  # a node that is new, and powered down, has to get into Slurm's view
    return readback.agrees(wanted.topology, view.in_force, spared)


def exempt(view: SlurmView | None) -> readback.Exempt:
    """Nodes that Slurm may show elsewhere than the file says."""
    nodes = view.nodes if view else ()
    return readback.Exempt(
        {node.name for node in nodes if node.topology}, {node.name for node in nodes if "POWERED_DOWN" in node.states}
    )


def _assignments(view: SlurmView | None, wanted: Wanted) -> dict[str, str]:
    """Partitions whose live topology isn't the wanted one; one without any has the cluster's default."""
    if view is None or not wanted.assignments:
        return {}
    default = next((topology.name for topology in wanted.topology.topologies if topology.cluster_default), "")
    live = {partition.name: partition.topology or default for partition in view.partitions}
    return {name: topology for name, topology in wanted.assignments.items() if name in live and live[name] != topology}


def _assignable(view: SlurmView | None, assignments: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The topology in force has one of that name, and it places all nodes of the partition."""
    bodies = {each.name: each.body for each in view.in_force.topologies} if view else {}
    for partition in view.partitions if view else ():
        body = bodies.get(assignments[partition.name]) if partition.name in assignments else None
        if body is not None and (isinstance(body, Flat) or set(partition.nodes or ()) <= _placed(body)):
            yield partition.name, assignments[partition.name]


def _claimed(seen: Observation, wrong: Mapping[str, str], state: AgentState) -> bool:
    """One that was named, even if it is the default one: a reconfigure leaves none, or that of slurm.conf's line."""
    live = {partition.name: partition.topology for partition in seen.slurm.partitions} if seen.slurm else {}
    written = {partition.name: partition.topology for partition in seen.conf.partitions} if seen.conf else {}
    return any(live[name] not in (None, written.get(name), state.assigned.get(name)) for name in wrong)


def _foreign(disk: DiskState, target: DiskState | None, state: AgentState, version: SlurmVersion) -> bool:
    """A plugin line counts only where it isn't the wanted one: HyperPod's manager may set it back at each event."""
    file, plugin = state.written.get(version.topology_file), state.written.get(PLUGIN)
    rewritten = file is not None and digest(disk.file(version.topology_file)) != file
    to_be_set = target is not None and target.plugin != disk.plugin
    return rewritten or (to_be_set and plugin is not None and digest(disk.plugin) != plugin)


def disk_suspect(seen: Observation) -> bool:
    """The checker finds errors in what is on disk.

    Some of its rules are stricter than slurmctld on purpose (docs/findings.md), so it isn't refused for sure.
    """
    assert seen.version is not None and seen.conf is not None  # noqa: S101, PT018
    disk, version = seen.disk, seen.version
    name = YAML if version.has_topology_yaml and disk.yaml is not None else CONF
    text = disk.file(name)
    if name == CONF and flat_like(disk.plugin):
        return False
    if text is None:
        return True  # the plugin is on and its file is missing: every job is rejected
    nodes = {node.name for node in nodes_to_place(seen)} if seen.slurm else None
    findings = check.check_text(text, name, version, nodes, seen.conf.partition_topologies)
    return any(finding.severity is Severity.ERROR for finding in findings)


def unplaced_nodes(view: SlurmView) -> tuple[str, ...]:
    """Nodes that can't be used, or only alone, because the topology in force lacks them."""
    topologies = {topology.name: topology.body for topology in view.in_force.topologies}
    default = next((topology for topology in view.in_force.topologies if topology.cluster_default), None)
    missing: set[str] = set()
    for partition in view.partitions:
        body = topologies.get(partition.topology or "", default.body if default else Flat())
        if not isinstance(body, Flat):
            missing |= set(partition.nodes or ()) - _placed(body)
    return tuple(sorted(missing))


def _placed(body: Tree | Blocks) -> set[str]:
    units = body.switches if isinstance(body, Tree) else body.blocks
    return {node for unit in units for node in unit.nodes}


def lost_overrides(view: SlurmView | None, wanted: ClusterTopology) -> Iterator[tuple[str, str]]:
    for node in view.nodes if view else ():
        if node.topology and not all(
            _has_unit(wanted, *each.rpartition(":")[::2]) for each in node.topology.split(",")
        ):
            yield node.name, node.topology


def _has_unit(wanted: ClusterTopology, topology: str, unit: str) -> bool:
    """A flat topology takes any unit of its name."""
    bodies = [each.body for each in wanted.topologies if not topology or each.name == topology]
    return any(isinstance(body, Flat) or unit in _units(body) for body in bodies)


def _units(body: Tree | Blocks | Flat) -> set[str]:
    if isinstance(body, Tree):
        return {switch.name for switch in body.switches}
    return {block.name for block in body.blocks} if isinstance(body, Blocks) else set()


def _leaving(seen: Observation) -> Iterator[str]:
    """Nodes of Slurm that slurm.conf lacks although jobs run on them, or although they are instances of the cluster.

    The latter only while slurm.conf is young: it may have been read half-written, and a topology without these nodes
    would hold the jobs that need them.
    """
    if seen.conf is None or not seen.conf.tells_all_nodes:
        return
    static = {node.name for node in seen.conf.nodes}
    age, config = seen.conf_age_seconds, seen.resource_config
    young = age is not None and age < CONF_MEANT_SECONDS
    listed = {each.address for each in config.instances} if young and config is not None else set()
    for node in seen.slurm.nodes if seen.slurm else ():
        dynamic = any(state.startswith("DYNAMIC") for state in node.states)
        busy = any(state in BUSY for state in node.states)
        if node.name not in static and not dynamic and (busy or not listed.isdisjoint(_addresses(node))):
            yield node.name


def _addresses(node: SlurmNode) -> tuple[str, str]:
    """NodeAddr, and the address in a name such as ip-10-1-2-3."""
    return node.address or node.name, node.name.removeprefix("ip-").replace("-", ".")
