"""slurm.conf and cgroup.conf of a lab: pure, data in and text out.

``SETTINGS`` is what makes a real Slurm run without munge, accounting, cgroups or DNS. As on HyperPod, NodeAddr is the
node's own address. All slurmd's share one machine (which has all those addresses), so each needs a port of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

__all__ = [
    "ALL",
    "CGROUP_CONF",
    "CONF_FOLDER",
    "LOG",
    "Level",
    "Node",
    "Partition",
    "make_nodes",
    "slurm_conf",
    "topology_plugin",
]

CONF_FOLDER = "/opt/slurm/etc"  # as on HyperPod; /etc/slurm is a link to it
LOG = "/var/log/slurm/slurmctld.log"
SLURMD_PORT = 6818
NODES_A_LINE = 16  # slurmctld takes 0.3 ms a NodeName line: 10,000 nodes start in 3.4 s one a line, in 0.7 s so

CGROUP_CONF = "CgroupPlugin=disabled\n"

SETTINGS = {
    "ClusterName": "lab",
    "AuthType": "auth/none",
    "CredType": "cred/none",
    "SlurmUser": "slurm",
    "SlurmdUser": "root",
    "SlurmctldPort": "6817",
    "StateSaveLocation": "/var/spool/slurmctld",
    "SlurmdSpoolDir": "/var/spool/slurmd.%n",
    "SlurmctldPidFile": "/run/slurmctld/slurmctld.pid",
    "SlurmdPidFile": "/run/slurmd.%n.pid",
    "SlurmctldLogFile": LOG,
    "SlurmdLogFile": "/var/log/slurm/slurmd.%n.log",
    "SlurmctldDebug": "info",
    "SlurmdDebug": "error",
    "ProctrackType": "proctrack/pgid",
    "TaskPlugin": "task/none",
    "MpiDefault": "none",
    "JobAcctGatherType": "jobacct_gather/none",
    "AccountingStorageType": "accounting_storage/none",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_CPU",
    "SchedulerType": "sched/backfill",
    # a test waits for the scheduler, so it runs at once
    "SchedulerParameters": "sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0",
    "ReturnToService": "2",
    "SlurmdTimeout": "300",
    "InactiveLimit": "0",
    "KillWait": "2",
    "MessageTimeout": "60",
    "MailProg": "/bin/true",
    "PropagateResourceLimits": "NONE",
    "SlurmdParameters": "config_overrides",
}

# CLOUD nodes are powered up by a program that does nothing: jobs are placed on them and stay CONFIGURING.
POWER_SAVING = {
    "SuspendProgram": "/bin/true",
    "ResumeProgram": "/bin/true",
    "SuspendTime": "86400",
    "ResumeTimeout": "60000",
    "SuspendTimeout": "1",
    "ResumeRate": "0",
    "SuspendRate": "0",
}


class Level(str, Enum):
    """How much of a cluster is real, from quick to complete."""

    CONTROLLER = "controller"  # slurmctld alone: start, reconfigure, refusals, read-back
    CLOUD = "cloud"  # CLOUD nodes without slurmd: jobs are placed, never run; thousands of nodes at no cost
    SLURMD = "slurmd"  # a slurmd a node, with running jobs


@dataclass(frozen=True)
class Node:
    """A node as HyperPod writes it: NodeAddr is the instance's CustomerIpAddress (in 10.0.0.0/8)."""

    name: str
    address: str
    instance_id: str = ""  # "" → slurmd reports none
    instance_type: str = ""
    cpus: int = 1
    features: str = ""
    port: int = SLURMD_PORT  # of its slurmd


@dataclass(frozen=True)
class Partition:
    """A partition. ``topology`` is the Topology= of its line (Slurm ≥ 25.05)."""

    name: str
    nodes: tuple[str, ...] = ("ALL",)
    topology: str | None = None
    default: bool = False


ALL = (Partition("all", default=True),)


def make_nodes(count: int, *, first: int = 101, network: str = "10.1") -> tuple[Node, ...]:
    """``count`` nodes named after their addresses: ip-10-1-0-101 at 10.1.0.101, and so on (up to 65,000)."""
    numbers = range(first, first + count)
    addresses = [f"{network}.{number // 256}.{number % 256}" for number in numbers]
    return tuple(
        Node(f"ip-{address.replace('.', '-')}", address, instance_id=f"i-{number:017x}")
        for number, address in zip(numbers, addresses, strict=True)
    )


def topology_plugin(text: str, file_name: str) -> str | None:
    """The TopologyPlugin that a topology file is for; None for a topology.yaml, which wins over any plugin."""
    if file_name == "topology.yaml":
        return None
    return "topology/block" if "blockname" in text.lower() else "topology/tree"


def slurm_conf(
    nodes: Sequence[Node],
    partitions: Iterable[Partition] = ALL,
    *,
    level: Level = Level.SLURMD,
    controller: str = "controller",
    plugin: str | None = None,
    extra: str = "",
) -> str:
    """The text of slurm.conf. ``extra`` lines win over ours where they set the same key."""
    taken = {line.partition("=")[0].strip().lower() for line in extra.splitlines()}
    settings = {**SETTINGS, **(POWER_SAVING if level is Level.CLOUD else {})}
    settings["SlurmctldHost"] = f"{controller}(10.0.0.1)"
    if plugin is not None:
        settings["TopologyPlugin"] = plugin
    lines = [f"{key}={value}" for key, value in settings.items() if key.lower() not in taken]
    lines += filter(None, [extra.rstrip("\n")])
    lines += _node_lines(nodes, level)
    lines += [_partition_line(partition) for partition in partitions]
    return "\n".join(lines) + "\n"


def _node_lines(nodes: Sequence[Node], level: Level) -> list[str]:
    """One line for each run of up to NODES_A_LINE nodes that are alike, in the order given."""
    runs = (list(run) for _, run in itertools.groupby(nodes, key=lambda node: (node.cpus, node.features)))
    return [
        _node_line(run[start : start + NODES_A_LINE], level)
        for run in runs
        for start in range(0, len(run), NODES_A_LINE)
    ]


def _node_line(nodes: Sequence[Node], level: Level) -> str:
    names = ",".join(node.name for node in nodes)
    addresses = ",".join(node.address for node in nodes)
    ports = ",".join(str(node.port) for node in nodes)
    features = f" Feature={nodes[0].features}" if nodes[0].features else ""
    state = "CLOUD" if level is Level.CLOUD else "UNKNOWN"
    place = f"NodeAddr={addresses} Port={ports}"
    return f"NodeName={names} {place} CPUs={nodes[0].cpus} RealMemory=1000{features} State={state}"


def _partition_line(partition: Partition) -> str:
    default = " Default=YES" if partition.default else ""
    topology = f" Topology={partition.topology}" if partition.topology else ""
    return (
        f"PartitionName={partition.name} Nodes={','.join(partition.nodes)}{default} MaxTime=INFINITE State=UP{topology}"
    )
