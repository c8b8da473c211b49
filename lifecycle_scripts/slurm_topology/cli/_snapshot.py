"""A snapshot of a cluster, from a running Slurm or from files: what show, explain, simulate and doctor look at."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from slurm_topology.agent.observe import in_force
from slurm_topology.agent.settings import DEFAULT_SETTINGS_FILE
from slurm_topology.agent.slurm import Slurm
from slurm_topology.agent.world import World, open_world
from slurm_topology.core import check, inventory, parse_conf, parse_yaml, read_resource_config, read_scontrol
from slurm_topology.core.errors import CommandError, InputError
from slurm_topology.core.explain import (
    Job,
    NodeFacts,
    NodeReason,
    NodeState,
    Snapshot,
    forest_of,
    node_state,
    read_jobs,
    read_reasons,
)
from slurm_topology.core.model import ClusterTopology, Finding, Inventory, Partition
from slurm_topology.core.pipeline import compute
from slurm_topology.core.read_scontrol import SlurmNode
from slurm_topology.core.slurm_version import SlurmVersion

from ._files import read_json_or_text, read_text
from ._sources import add_source_options, add_wish_options, read_sources

__all__ = ["add_snapshot_options", "live_snapshot", "read_snapshot"]

_FILES = ("topology", "resource_config", "slurm_nodes", "cluster_nodes", "instance_topology")
_VERSION_WITHOUT = "25.11.4"  # drawn for when nobody says: the newest that HyperPod ships


def add_snapshot_options(parser: argparse.ArgumentParser) -> None:
    """Without any file option the running Slurm of this machine is asked."""
    live = parser.add_argument_group("from the running Slurm (default)")
    live.add_argument(
        "--settings",
        type=Path,
        default=DEFAULT_SETTINGS_FILE,
        metavar="F",
        help="the agent's settings (default: %(default)s)",
    )
    files = parser.add_argument_group("from files instead")
    add = files.add_argument
    add("--topology", type=Path, metavar="F", help="topology.conf or topology.yaml; without it, what would be rendered")
    add("--resource-config", type=Path, metavar="F", help="resource_config.json of the controller")
    add("--instance-topology", type=Path, metavar="F", help='answer of "aws ec2 describe-instance-topology"')
    add("--slurm-nodes", type=Path, metavar="F", help='"scontrol show nodes": states and reasons')
    add("--slurm-jobs", type=Path, metavar="F", help='"scontrol show jobs"')
    add("--slurm-partitions", type=Path, metavar="F", help='"scontrol show partitions"')
    add("--slurm-version", metavar="V", help=f"such as 24.11 or 25.11.4 (default: {_VERSION_WITHOUT})")
    add("--plan", type=Path, metavar="F", help="topology_plan.json: roles, partitions, UltraServer sizes")
    add_source_options(parser)
    add_wish_options(parser)


def read_snapshot(arguments: argparse.Namespace) -> Snapshot:
    """Raises InputError for files that can't be used, CommandError when Slurm doesn't answer."""
    if any(getattr(arguments, name) is not None for name in _FILES):
        return _from_files(arguments)
    return live_snapshot(open_world(arguments.settings))


@dataclass(frozen=True)
class _Parts:
    """What both ways end in."""

    topology: ClusterTopology
    inventory: Inventory
    slurm_nodes: tuple[SlurmNode, ...] = ()
    reasons: Mapping[str, NodeReason] | None = None
    jobs: tuple[Job, ...] = ()
    partitions: tuple[Partition, ...] = ()
    findings: tuple[Finding, ...] = ()

    def snapshot(self) -> Snapshot:
        return Snapshot(
            topology=self.topology,
            nodes={**_bare(self.topology), **_node_facts(self.inventory, self.slurm_nodes, self.reasons or {})},
            jobs=self.jobs,
            partitions=self.partitions,
            findings=tuple(sorted(set(self.findings))),
        )


def _bare(topology: ClusterTopology) -> dict[str, NodeFacts]:
    """The nodes that a topology names, of which nothing else is known."""
    names = (node for entry in topology.topologies for node in forest_of(entry).leaf_of)
    return {name: NodeFacts(name) for name in names}


def _node_facts(
    known: Inventory, slurm_nodes: Iterable[SlurmNode], reasons: Mapping[str, NodeReason]
) -> dict[str, NodeFacts]:
    in_slurm = {node.name: node for node in slurm_nodes}
    partitions: dict[str, tuple[str, ...]] = {group.name: group.partitions for group in known.groups}
    facts: dict[str, NodeFacts] = {}
    for node in known.nodes:
        slurm = in_slurm.get(node.name)
        reason = reasons.get(node.name)
        facts[node.name] = NodeFacts(
            name=node.name,
            state=node_state(slurm.states) if slurm else NodeState.UNKNOWN,
            instance_type=node.instance_type,
            instance_id=node.instance_id,
            group=node.group,
            zone=node.placement.zone,
            ultraserver_id=node.placement.ultraserver_id,
            partitions=slurm.partitions if slurm else partitions.get(node.group or "", ()),
            reason=reason.text if reason else None,
            reason_since=reason.since if reason else None,
            network_path=node.placement.network_nodes,
        )
    return facts


# ---- from files


def _from_files(arguments: argparse.Namespace) -> Snapshot:
    version = SlurmVersion.parse(arguments.slurm_version or _VERSION_WITHOUT)
    nodes_text = read_json_or_text(arguments.slurm_nodes) if arguments.slurm_nodes else None
    known, findings, wanted, sizes = read_sources(arguments)
    if arguments.topology:
        topology, more = _read_topology(arguments.topology, version, [node.name for node in known.nodes])
    else:
        rendering = compute(known, version, wanted=wanted, block_sizes=sizes)
        topology, more = rendering.topology, rendering.findings
    parts = _Parts(
        topology=topology,
        inventory=known,
        slurm_nodes=read_scontrol.read_nodes(nodes_text) if nodes_text is not None else (),
        reasons=read_reasons(nodes_text) if isinstance(nodes_text, str) else None,
        jobs=read_jobs(read_text(arguments.slurm_jobs)) if arguments.slurm_jobs else (),
        partitions=_read_partitions(arguments.slurm_partitions) if arguments.slurm_partitions else known.partitions,
        findings=(*findings, *more),
    )
    return replace(
        parts.snapshot(), cluster=_cluster_name(arguments), slurm_version=str(version), source=_file_names(arguments)
    )


def _read_topology(path: Path, version: SlurmVersion, nodes: list[str]) -> tuple[ClusterTopology, tuple[Finding, ...]]:
    text = read_text(path)
    name = "topology.yaml" if path.suffix in (".yaml", ".yml", ".json") else "topology.conf"
    parsed = parse_yaml.parse(text) if name == "topology.yaml" else parse_conf.parse(text)
    return parsed.topology, check.check_text(text, name, version, nodes or None)


def _read_partitions(path: Path) -> tuple[Partition, ...]:
    return read_scontrol.read_partitions(read_json_or_text(path))


def _cluster_name(arguments: argparse.Namespace) -> str | None:
    if arguments.resource_config is None:
        return None
    return read_resource_config.read(read_json_or_text(arguments.resource_config)).cluster_name


def _file_names(arguments: argparse.Namespace) -> str:
    named = (getattr(arguments, name) for name in (*_FILES, "slurm_jobs", "slurm_partitions"))
    return ", ".join(path.name for path in named if path is not None)


# ---- from Slurm


def live_snapshot(world: World) -> Snapshot:
    """What the running Slurm and this controller's files say. Raises CommandError when Slurm doesn't answer."""
    slurm = world.slurm
    _make_sure_of(slurm)
    config = slurm.config()
    version = SlurmVersion.parse(config["SLURM_VERSION"])
    _, topology = in_force(slurm, version)
    nodes_text = slurm.nodes()
    slurm_nodes = read_scontrol.read_nodes(nodes_text)
    known, findings = _inventory(world, slurm_nodes)
    parts = _Parts(
        topology=topology,
        inventory=known,
        slurm_nodes=slurm_nodes,
        reasons=read_reasons(nodes_text),
        jobs=read_jobs(_jobs_text(world, slurm)),
        partitions=read_scontrol.read_partitions(slurm.partitions()),
        findings=(*findings, *check.check_topology(topology, version, [node.name for node in slurm_nodes])),
    )
    return replace(
        parts.snapshot(),
        cluster=config.get("ClusterName"),
        slurm_version=str(version),
        taken=time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(world.clock.now())),
        source="the running Slurm",
    )


def _make_sure_of(slurm: Slurm) -> None:
    """Raises CommandError with what to do, when there is no Slurm to ask."""
    advice = "run this on the controller, or name files instead (see --help)"
    try:
        controllers = slurm.ping()
    except CommandError as error:
        raise CommandError(f"no Slurm to ask: {error}; {advice}", error.argv) from error
    if not any(controller.up for controller in controllers):
        raise CommandError(f"slurmctld doesn't answer: start it; or {advice}", ["scontrol", "ping"])


def _inventory(world: World, slurm_nodes: tuple[SlurmNode, ...]) -> tuple[Inventory, tuple[Finding, ...]]:
    """Types, zones and UltraServers as far as the controller's file tells; a broken one costs no more than these."""
    text = world.files.read_text(world.settings.resource_config)
    try:
        config = read_resource_config.read(json.loads(text)) if text else None
    except (InputError, ValueError):
        config = None
    return inventory.build(resource_config=config, slurm_nodes=slurm_nodes)


def _jobs_text(world: World, slurm: Slurm) -> str:
    return slurm.shell.check(["scontrol", "show", "jobs"], timeout=world.settings.command_timeout_seconds)
