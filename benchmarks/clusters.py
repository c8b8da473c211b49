"""Large clusters to measure with: invented ids, shaped like EC2's network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slurm_topology.core.model import Capability, Group, Inventory, Node, Partition, Placement

__all__ = ["block_cluster", "resource_config", "slurm_nodes", "tree_cluster"]

NODES_PER_LEAF, LEAVES_PER_SPINE, SPINES_PER_CORE = 16, 16, 16
NODES_PER_ULTRASERVER, ULTRASERVERS_PER_SPINE = 18, 8
ZONE = "usw2-az1"


def address(number: int) -> str:
    return f"10.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def path(number: int) -> tuple[str, str, str]:
    """Core, spine and leaf of the n-th node of a tree cluster."""
    leaf, spine = number // NODES_PER_LEAF, number // NODES_PER_LEAF // LEAVES_PER_SPINE
    return f"nn-{spine // SPINES_PER_CORE:017x}", f"nn-{0x5 << 60 | spine:017x}", f"nn-{0x1 << 60 | leaf:017x}"


def tree_cluster(count: int) -> Inventory:
    """p5 nodes in leaves of 16, spines of 16 leaves, cores of 16 spines, as inventory.build gives it."""
    places = (Placement(path(number), None, ZONE) for number in range(count))
    group = Group("train", "ml.p5.48xlarge", capability=Capability.TREE, count=count)
    return _inventory(group, list(places))


def block_cluster(count: int) -> Inventory:
    """GB200 nodes in UltraServers of 18, eight below a spine."""
    group = Group("ultra", "ml.p6e-gb200.36xlarge", capability=Capability.BLOCK, count=count, ultraserver_instances=18)
    return _inventory(group, list(_ultraservers(count)))


def _ultraservers(count: int) -> Iterator[Placement]:
    for number in range(count):
        ultraserver = number // NODES_PER_ULTRASERVER
        spine = ultraserver // ULTRASERVERS_PER_SPINE
        yield Placement(
            ("nn-0", f"nn-{spine:017x}", f"nn-{1 << 60 | ultraserver:017x}"), f"us-{ultraserver:012x}", ZONE
        )


def _inventory(group: Group, places: list[Placement]) -> Inventory:
    nodes = [
        Node(f"ip-{address(number).replace('.', '-')}", f"i-{number:017x}", group.instance_type, group.name, place)
        for number, place in enumerate(places)
    ]
    return Inventory(tuple(sorted(nodes)), (group,), (Partition(group.name, (group.name,)),))


def resource_config(count: int) -> dict[str, Any]:
    """resource_config.json of a tree cluster."""
    instances = [
        {
            "InstanceName": f"train-{number}",
            "AgentIpAddress": "172.16.0.4",
            "CustomerIpAddress": address(number),
            "InstanceId": f"i-{number:017x}",
            "InstanceLabel": {f"network-node-layer-{layer}": node for layer, node in enumerate(path(number), 1)},
        }
        for number in range(count)
    ]
    groups = [{"Name": "train", "InstanceType": "ml.p5.48xlarge", "Instances": instances}]
    return {"ClusterConfig": {"ClusterName": "large"}, "InstanceGroups": groups}


def slurm_nodes(count: int) -> str:
    """``scontrol show nodes --oneliner`` of a tree cluster, as 26.05 prints it."""
    return "".join(
        f"NodeName=ip-{address(number).replace('.', '-')} Arch=x86_64 CoresPerSocket=48  CPUAlloc=0 CPUEfctv=192 "
        "CPUTot=192 "
        f"CPULoad=0.00 AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:8 NodeAddr={address(number)} "
        f"NodeHostName=ip-{address(number).replace('.', '-')} Version=26.05.5 OS=Linux 6.1.0 #1 SMP RealMemory=2000000 "
        "AllocMem=0 FreeMem=1 Sockets=2 Boards=1 State=IDLE ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A "
        "MCS_label=N/A "
        "Partitions=train  BootTime=2026-12-01T00:00:00 SlurmdStartTime=2026-12-01T00:00:00 LastBusyTime=Unknown "
        "ResumeAfterTime=None CfgTRES=cpu=192,mem=2000000M,billing=192,gres/gpu=8 AllocTRES= CurrentWatts=0 "
        "AveWatts=0\n"
        for number in range(count)
    )
