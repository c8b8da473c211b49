"""Sources in small, to be joined: HyperPod's file, SageMaker's list, and what comes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slurm_topology.core import inventory as core_inventory
from slurm_topology.core import read_cluster_nodes, read_resource_config
from slurm_topology.core.model import (
    Finding,
    Inventory,
    Placement,
)

PATH = ("nn-1", "nn-2", "nn-3")


def instance(number: int, path: Sequence[str] = PATH, ultraserver: str | None = None, **members: Any) -> dict[str, Any]:
    label: dict[str, Any] = {f"network-node-layer-{n}": node for n, node in enumerate(path, 1)}
    if ultraserver:
        label["ultraserver-id"] = ultraserver
    known = {"InstanceName": f"train-{number}", "CustomerIpAddress": f"10.1.0.{number}", "InstanceId": f"i-{number}"}
    return {**known, "InstanceLabel": label, **members}


def config(**groups: Any) -> read_resource_config.ResourceConfig:
    """Group name → (type, instances); a controller comes with it."""
    entries = [{"Name": "controller", "InstanceType": "ml.m5.xlarge", "Instances": [instance(250, ())]}]
    entries += [{"Name": name, "InstanceType": kind, "Instances": members} for name, (kind, members) in groups.items()]
    return read_resource_config.read({"InstanceGroups": entries})


def listed(*nodes: dict[str, Any]) -> read_cluster_nodes.ClusterNodes:
    return read_cluster_nodes.read({"ClusterNodeSummaries": list(nodes)})


def build(**sources: Any) -> tuple[Inventory, tuple[Finding, ...]]:
    return core_inventory.build(**sources)


def nodes_of(inventory: Inventory) -> dict[str, tuple[str | None, Placement]]:
    return {node.name: (node.instance_id, node.placement) for node in inventory.nodes}
