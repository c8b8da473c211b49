"""`/opt/ml/config/resource_config.json` as HyperPod writes it on the controller of a Slurm cluster.

Shape: SageMaker developer guide, "HyperPod forms", with `InstanceLabel` as seen on Slurm clusters. Labels end at
layer 3 also for types of four layers, so those lack their leaf.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from local_cloud.cluster import Cluster, Node

__all__ = ["resource_config"]

Json = dict[str, Any]
LABEL_LAYERS = 3


def resource_config(cluster: Cluster) -> Json:
    """The document, as parsed JSON. Groups without instances have `Instances: null`."""
    return {
        "ClusterType": "Slurm",
        "ClusterConfig": {"ClusterArn": cluster.arn, "ClusterName": cluster.name},
        "SlurmConfig": {"PrimaryControllerIp": "", "SecondaryControllerIps": []},
        "InstanceGroups": [_group(cluster, name, group) for name, group in cluster.groups.items()],
    }


def _group(cluster: Cluster, name: str, group: Json) -> Json:
    instances = [_instance(node) for node in cluster.nodes if node.group == name]
    return {"Name": name, "InstanceType": group.get("InstanceType"), "Instances": instances or None}


def _instance(node: Node) -> Json:
    return {
        "InstanceName": f"{node.group}-{node.number}",
        "AgentIpAddress": _agent_address(node),
        "CustomerIpAddress": node.address,
        "InstanceId": node.instance_id,
        "InstanceLabel": _labels(node),
    }


def _labels(node: Node) -> Json | None:
    if node.slot is None:
        return None
    labels = {f"network-node-layer-{n}": value for n, value in enumerate(node.network_nodes[:LABEL_LAYERS], 1)}
    if node.slot.ultraserver_id:
        labels["ultraserver-id"] = node.slot.ultraserver_id
    return labels


def _agent_address(node: Node) -> str:
    """Its address in the service's own network; only has to be unique."""
    host_bits = int(ipaddress.ip_address(node.address)) & 0xFFFF
    return str(ipaddress.ip_address((172 << 24) | (16 << 16) | host_bits))
