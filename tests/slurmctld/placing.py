"""A cluster under the topology that the core makes for it, on a real scheduler, and where its jobs get their nodes.

No slurmd's: nodes are CLOUD nodes, so a job gets its nodes and stays CONFIGURING. Who is near to whom is taken from the
inventory, never from what was rendered.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from slurm_lab import Lab, Level, Partition, Root, make_nodes
from slurm_lab import Node as LabNode
from slurm_topology.core import read_cluster_nodes, read_resource_config, read_scontrol, read_ultraservers
from slurm_topology.core.hostlist import fold
from slurm_topology.core.inventory import build
from slurm_topology.core.model import Inventory, TopologyKind
from slurm_topology.core.model import Partition as Slice
from slurm_topology.core.pipeline import Rendering, compute
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = [
    "EVERYBODY",
    "Placing",
    "Units",
    "Want",
    "busy_wants",
    "case_inventory",
    "leaves",
    "members",
    "rooms",
    "some_of_each",
    "spanned",
    "ultraservers",
]

Units = Mapping[str, str]  # node → the leaf switch or the UltraServer that it is in
EVERYBODY = "all"  # the partition of clusters that name none


class Want(NamedTuple):
    """A job to submit."""

    nodes: int
    partition: str | None = None
    on: tuple[str, ...] = ()  # exactly these nodes

    def options(self) -> list[str]:
        partition = [f"--partition={self.partition}"] if self.partition else []
        return [f"--nodes={self.nodes}", *partition, *([f"--nodelist={fold(self.on)}"] if self.on else [])]


def case_inventory(sources: Iterable[Path]) -> Inventory:
    """The inventory of a case of tests/cases; a file of no other source's name is a resource_config.json."""
    files = {source.stem: source for source in sources}
    read: dict[str, Any] = {}
    for stem, (argument, reader) in _READERS.items():
        if stem in files:
            read[argument] = reader(files.pop(stem))
    read.update(("resource_config", read_resource_config.read(_json(path))) for path in files.values())
    return build(**read)[0]


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


_READERS: Mapping[str, tuple[str, Callable[[Path], Any]]] = {  # name of a source file → argument of build, and reader
    "cluster_nodes": ("cluster_nodes", lambda path: read_cluster_nodes.read(_json(path))),
    "partitions": ("partitions", lambda path: [Slice(name, tuple(groups)) for name, groups in _json(path).items()]),
    "scontrol_show_nodes": ("slurm_nodes", lambda path: read_scontrol.read_nodes(path.read_text(encoding="utf-8"))),
    "ultraservers": ("ultraservers", lambda path: read_ultraservers.read(_json(path))),
}


def leaves(inventory: Inventory) -> Units:
    """Each node's leaf switch; nodes of unknown position are left out."""
    return {node.name: node.placement.network_nodes[-1] for node in inventory.nodes if node.placement.network_nodes}


def ultraservers(inventory: Inventory) -> Units:
    """Each node's UltraServer; nodes without one are left out."""
    return {node.name: node.placement.ultraserver_id for node in inventory.nodes if node.placement.ultraserver_id}


def spanned(units: Units, nodes: Iterable[str]) -> int:
    """How many leaf switches or UltraServers these nodes are in."""
    return len({units[node] for node in nodes})


def rooms(units: Units, busy: Collection[str]) -> list[int]:
    """Free nodes of each leaf switch or UltraServer, most first."""
    return sorted(Counter(unit for node, unit in units.items() if node not in busy).values(), reverse=True)


def some_of_each(units: Units, count: int) -> tuple[str, ...]:
    """The first ``count`` nodes by name of each leaf switch or UltraServer."""
    by_unit = {unit: sorted(node for node in units if units[node] == unit) for unit in sorted(set(units.values()))}
    return tuple(node for nodes in by_unit.values() for node in nodes[:count])


def busy_wants(units: Units, busy: Collection[str]) -> list[Want]:
    """Jobs that make exactly these nodes busy, one in each leaf switch or UltraServer: blocks take no others."""
    by_unit = {unit: tuple(node for node in busy if units[node] == unit) for unit in sorted(set(units.values()))}
    return [Want(len(nodes), on=nodes) for nodes in by_unit.values() if nodes]


class Placing:
    """One lab through which clusters, topologies and jobs go. Use as a context manager. Raises NotRunnable."""

    def __init__(self, root: Root) -> None:
        self.lab = Lab(root, nodes=make_nodes(1), level=Level.CLOUD)
        self.version = SlurmVersion.parse(root.exact_version)

    def __enter__(self) -> Placing:
        self.lab.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lab.stop()

    # ---- topologies

    def begin(self, inventory: Inventory, *, wanted: TopologyKind | None = None) -> Rendering:
        """A cluster without a job, under the topology that this inventory gets (or the wanted kind)."""
        rendering = self._write(inventory, wanted)
        self.lab.controller.stop("KILL")
        self.lab.controller.start("-c")
        self._assign(rendering)
        return rendering

    def change(self, inventory: Inventory) -> Rendering:
        """The cluster has changed: its new slurm.conf and topology, by one reconfigure."""
        rendering = self._write(inventory, None)
        done = self.lab.reconfigure()
        assert done.accepted, done.log
        self._assign(rendering)
        return rendering

    def _write(self, inventory: Inventory, wanted: TopologyKind | None) -> Rendering:
        rendering = compute(inventory, self.version, wanted=wanted)
        assert not rendering.refused, rendering.findings
        self.lab.nodes = tuple(
            LabNode(node.name, f"10.9.{index // 256}.{index % 256}") for index, node in enumerate(inventory.nodes)
        )
        self.lab.partitions = partitions_of(inventory)
        self.lab.plugin = rendering.plugin
        self.lab.write_slurm_conf()
        if rendering.text is not None:
            self.lab.write_topology(rendering.text)
        return rendering

    def _assign(self, rendering: Rendering) -> None:
        """Live, as the agent does it: slurm.conf's partition lines stay as they are."""
        for partition, topology in rendering.topology.partitions.items():
            self.lab.scontrol("update", f"PartitionName={partition}", f"Topology={topology}")

    # ---- jobs

    def place(self, wants: Sequence[Want]) -> list[tuple[str, ...]]:
        """Submit these jobs at once; the scheduler takes them in this order. The nodes of each."""
        jobs = [self.lab.jobs.submit(want.nodes, *want.options()[1:]) for want in wants]
        return [self.lab.jobs.where(job) for job in jobs]

    def possible(self, wants: Iterable[Want]) -> list[str]:
        """What slurmctld says of each job that couldn't start on this cluster as it is now; empty when all could."""
        script = 'while read -r job; do said=$(sbatch --test-only $job --wrap true 2>&1) || echo "$job: $said"; done'
        jobs = "".join(" ".join(want.options()) + "\n" for want in wants)
        return self.lab.box.run("sh", "-c", script, input=jobs, check=True).stdout.splitlines()


def partitions_of(inventory: Inventory) -> tuple[Partition, ...]:
    """The lab's partitions: one of everybody, and those of the inventory that have nodes."""
    everybody = Partition(EVERYBODY, tuple(node.name for node in inventory.nodes), default=True)
    named = [Partition(each.name, members(inventory, each.name)) for each in inventory.partitions]
    return (everybody, *(partition for partition in named if partition.nodes))


def members(inventory: Inventory, partition: str) -> tuple[str, ...]:
    """The nodes of one of the inventory's partitions."""
    chosen = {each.name: each for each in inventory.partitions}[partition]
    if chosen.nodes is not None:
        return chosen.nodes
    return tuple(node.name for node in inventory.nodes if node.group in chosen.groups)
