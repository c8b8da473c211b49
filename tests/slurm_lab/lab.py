"""A lab: one whole Slurm cluster in a box of its own.

    with Lab("24.11", nodes=make_nodes(16), topology=text) as lab:
        job = lab.jobs.submit(4)
        assert lab.jobs.where(job) == (...)
        lab.write_topology(other)
        assert lab.reconfigure().accepted

Laid out as on HyperPod: /opt/slurm/{bin,sbin,etc}, nodes with the addresses of their instances. The controller's own
address is 10.0.0.1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from types import TracebackType

from .box import Box, Completed
from .controller import Controller, Reconfigured, StartedBy
from .jobs import Jobs
from .roots import Root, find_root
from .slurm_conf import ALL, CGROUP_CONF, CONF_FOLDER, Level, Node, Partition, slurm_conf, topology_plugin
from .slurmds import kill_node, start_slurmds, states, wait_until_up

__all__ = ["Lab"]

FIRST_SLURMD_PORT = 7000  # below the ephemeral ports: room for 25,000 nodes

LAYOUT = f"""
mkdir -p {CONF_FOLDER} /var/spool/slurmctld /var/log/slurm /run/slurmctld
chown slurm: {CONF_FOLDER} /var/spool/slurmctld /var/log/slurm /run/slurmctld
ln -s /usr/bin /opt/slurm/bin
ln -s /usr/sbin /opt/slurm/sbin
rm -rf /etc/slurm
ln -s {CONF_FOLDER} /etc/slurm
"""


class Lab:
    """One cluster. Use as a context manager, or ``start`` and ``stop``.

    ``nodes``, ``partitions``, ``plugin`` and ``conf`` (more lines of slurm.conf) make slurm.conf; assign and call
    ``write_slurm_conf`` to change it. ``topology`` is the first topology file's text; it tells a plugin that is None.
    ``started_by``: how slurmctld runs, ``unit``: more lines of its unit. ``forward_ports``: see ``Box``.
    """

    def __init__(
        self,
        root: Root | str,
        *,
        nodes: Sequence[Node],
        partitions: Iterable[Partition] = ALL,
        level: Level = Level.SLURMD,
        topology: str | None = None,
        plugin: str | None = None,
        conf: str = "",
        hostname: str = "controller",
        started_by: StartedBy = StartedBy.DAEMON,
        unit: str = "",
        forward_ports: Sequence[int] = (),
    ) -> None:
        self.root = find_root(root) if isinstance(root, str) else root
        self.level = level
        self.partitions = tuple(partitions)
        self.conf = conf
        self.plugin = plugin
        self.nodes: tuple[Node, ...] = ()
        self.box = Box(self.root, hostname=hostname, systemd=started_by.is_systemd, forward_ports=forward_ports)
        self.controller = Controller(self.box, started_by, unit)
        self.jobs = Jobs(self.box)
        self._first_topology = topology
        self._next_port = FIRST_SLURMD_PORT
        self.nodes = self._with_ports(nodes)
        if plugin is None and topology is not None:
            self.plugin = topology_plugin(topology, self.topology_file)

    # ---- life

    def start(self) -> None:
        """Start slurmctld and the slurmd's; wait until all nodes are up. Raises NotRunnable, BoxError, WaitError."""
        try:
            self.start_box()
            self.controller.start()
            if self.level is Level.SLURMD:
                self.start_slurmds(self.nodes)
        except BaseException:
            self.stop()
            raise

    def start_box(self) -> None:
        """Only the box with its files: for tests of a slurmctld that doesn't start, or isn't there yet."""
        self.box.start()
        self.box.run("sh", "-e", input=LAYOUT, check=True)
        self.write_slurm_conf()
        self.box.write_text(f"{CONF_FOLDER}/cgroup.conf", CGROUP_CONF)
        if self._first_topology is not None:
            self.write_topology(self._first_topology)

    def stop(self) -> None:
        """End everything at once; nothing is left behind."""
        self.box.stop()

    def __enter__(self) -> Lab:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ---- configuration

    @property
    def topology_file(self) -> str:
        """topology.yaml where this Slurm reads it (≥ 25.05), else topology.conf. (YY.MM sorts as text.)"""
        return "topology.yaml" if self.root.exact_version >= "25.05" else "topology.conf"

    def path(self, name: str) -> str:
        """Where a file of the configuration folder is, inside the box."""
        return f"{CONF_FOLDER}/{name}"

    def write_slurm_conf(self) -> None:
        """Write slurm.conf anew from ``nodes``, ``partitions``, ``plugin`` and ``conf``."""
        text = slurm_conf(
            self.nodes,
            self.partitions,
            level=self.level,
            controller=self.box.hostname,
            plugin=self.plugin,
            extra=self.conf,
        )
        self.box.write_text(self.path("slurm.conf"), text)

    def write_topology(self, text: str, file_name: str | None = None) -> None:
        """Put a topology file in place, in one step. It is in force after ``reconfigure``."""
        self.box.write_text(self.path(file_name or self.topology_file), text)

    def reconfigure(self) -> Reconfigured:
        return self.controller.reconfigure()

    # ---- commands

    def run(self, *command: str, timeout: float = 60, check: bool = False) -> Completed:
        return self.box.run(*command, timeout=timeout, check=check)

    def scontrol(self, *arguments: str, check: bool = True) -> str:
        """Output of a scontrol command; raises BoxError when it fails and ``check``."""
        return self.box.run("scontrol", *arguments, check=check).stdout

    # ---- nodes

    def node_states(self) -> dict[str, str]:
        """State of each node as sinfo shows it: "idle", "alloc", "mix", "down*", …"""
        return states(self.box)

    def start_slurmds(self, nodes: Sequence[Node], *arguments: str) -> None:
        """Start the slurmd's of these nodes (which slurm.conf knows) and wait until they are up."""
        start_slurmds(self.box, nodes, arguments)
        self.wait_nodes_up(nodes)

    def wait_nodes_up(self, nodes: Sequence[Node] | None = None) -> None:
        """Until these nodes, or all, can run jobs or run some. Raises WaitError with the states of those that can't."""
        wait_until_up(self.box, [node.name for node in (self.nodes if nodes is None else nodes)])

    def scale(self, nodes: Sequence[Node]) -> Reconfigured:
        """Scale up or down as HyperPod does: instances go, slurm.conf is new, slurmctld reconfigures, instances come.

        Nodes are told apart by name. The topology file is not touched.
        """
        before, wanted = {node.name for node in self.nodes}, {node.name for node in nodes}
        if self.level is Level.SLURMD:
            for name in sorted(before - wanted):
                kill_node(self.box, name)
        self.nodes = self._with_ports(nodes)
        self.write_slurm_conf()
        done = self.reconfigure()
        added = [node for node in self.nodes if node.name not in before]
        if done.accepted and added and self.level is Level.SLURMD:
            self.start_slurmds(added)
        return done

    def replace_node(self, name: str, instance_id: str) -> None:
        """Another instance takes the node's place, as HyperPod replaces one: the name and the address stay.

        What ran on the old instance is lost; slurmctld is told so, and the new slurmd reports the new instance id.
        """
        fresh = dataclasses.replace(self.node(name), instance_id=instance_id)
        self.nodes = tuple(fresh if node.name == name else node for node in self.nodes)
        if self.level is Level.SLURMD:
            kill_node(self.box, name)
            self.scontrol("update", f"NodeName={name}", "State=DOWN", "Reason=replaced")
            self.start_slurmds([fresh], "-b")
        # the new slurmd has said so, but a last word of the old one may have been read after it
        self.scontrol("update", f"NodeName={name}", f"InstanceId={instance_id}")

    def node(self, name: str) -> Node:
        """The node of this name. Raises KeyError."""
        return {node.name: node for node in self.nodes}[name]

    def _with_ports(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """The nodes with slurmd ports that stay theirs: known nodes keep what they have, new ones get the next."""
        known = {node.name: node.port for node in self.nodes}
        placed = []
        for node in nodes:
            port = known.get(node.name)
            if port is None:
                port, self._next_port = self._next_port, self._next_port + 1
            placed.append(dataclasses.replace(node, port=port))
        return tuple(placed)
