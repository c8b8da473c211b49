"""Instances: what AWS's sources say about each one, merged.

Precedence, highest first; a source that knows nothing never hides one that does, and disagreement is a finding:

============== ====================================================================================================
network nodes  resource_config.json's labels; DescribeInstanceTopology (its path replaces one that it only completes)
UltraServer    ListClusterNodes; resource_config.json's label; DescribeInstanceTopology's CapacityBlockId
zone           DescribeClusterNode; DescribeInstanceTopology; ListUltraServersByReservedCapacity (by UltraServer)
instance type  ListClusterNodes; resource_config.json (of the group); DescribeInstanceTopology
instance id    ListClusterNodes; resource_config.json, whose copies can be stale
address, group resource_config.json; DescribeClusterNode (PrivatePrimaryIp, PrivateDnsHostname)
============== ====================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .instance import Instance
from .model import Finding, Placement, Severity
from .read_cluster_nodes import GONE_STATUSES, ClusterNode, ClusterNodes
from .read_instance_topology import InstanceTopology, TopologyInstance
from .read_resource_config import ResourceConfig
from .read_ultraservers import UltraServers

__all__ = ["merge_instances"]


def merge_instances(
    resource_config: ResourceConfig | None,
    cluster_nodes: ClusterNodes | None,
    instance_topology: InstanceTopology | None,
    ultraservers: UltraServers | None,
) -> tuple[list[Instance], list[Finding]]:
    """All instances, in the order of the first source that names them.

    An instance that no source puts into a group (self-managed nodes) is in a group called like its type, or
    "instances".
    """
    findings: list[Finding] = []
    merged = list(resource_config.instances) if resource_config else []
    if cluster_nodes:
        merged = _with_cluster_nodes(merged, cluster_nodes.nodes, findings)
    if instance_topology:
        merged = _with_topology(merged, instance_topology.instances, findings)
    if not cluster_nodes and not instance_topology and not ultraservers:
        return merged, findings
    zone_ids = _zone_ids(cluster_nodes, instance_topology)
    ultraserver_zones = dict(ultraservers.zone_names) if ultraservers else {}
    merged = [each if each.group else each._replace(group=each.instance_type or "instances") for each in merged]
    return [_with_zone(instance, zone_ids, ultraserver_zones) for instance in merged], findings


def _with_cluster_nodes(
    merged: list[Instance], nodes: Iterable[ClusterNode], findings: list[Finding]
) -> list[Instance]:
    by_id = {node.instance_id: node for node in nodes}
    by_address = {node.address: node for node in nodes if node.address and node.status not in GONE_STATUSES}
    seen: set[str] = set()
    result = []
    for instance in merged:
        node = by_id.get(instance.instance_id or "")
        if node is None or node.status in GONE_STATUSES:
            live = by_address.get(instance.address or "")
            if live is not None:
                findings.append(_stale(instance, live))
            node = live or node
        if node is None:
            result.append(instance)
        else:
            seen.add(node.instance_id)
            result.append(_and_cluster_node(instance, node, findings))
    fresh = (node for node in nodes if node.instance_id not in seen and node.status not in GONE_STATUSES)
    return result + [_and_cluster_node(Instance(), node, findings) for node in fresh]


def _and_cluster_node(instance: Instance, node: ClusterNode, findings: list[Finding]) -> Instance:
    path, labelled, _ = instance.placement
    if labelled and node.ultraserver_id and labelled != node.ultraserver_id:
        findings.append(_disagree(node.instance_id, "UltraServer", labelled, "ListClusterNodes", node.ultraserver_id))
    return Instance(
        node.instance_id,
        instance.address or node.address,
        instance.name,
        instance.group or node.group or "",
        node.instance_type or instance.instance_type,
        Placement(path, node.ultraserver_id or labelled, node.zone_id or node.zone_name),
        node.ultraserver_type,
        instance.node_name,
    )


def _with_topology(
    merged: list[Instance], instances: Iterable[TopologyInstance], findings: list[Finding]
) -> list[Instance]:
    by_id = {each.instance_id: each for each in instances}
    known = {instance.instance_id for instance in merged}
    result = [
        _and_topology(instance, by_id[instance.instance_id], findings) if instance.instance_id in by_id else instance
        for instance in merged
    ]
    return result + [_and_topology(Instance(), each, findings) for each in instances if each.instance_id not in known]


def _and_topology(instance: Instance, other: TopologyInstance, findings: list[Finding]) -> Instance:
    path, ultraserver, zone = instance.placement
    if not path or _completes(other.network_nodes, path):
        path = other.network_nodes
    elif other.network_nodes and not _completes(path, other.network_nodes):
        got = " / ".join(other.network_nodes)
        findings.append(_disagree(other.instance_id, "network path", " / ".join(path), "DescribeInstanceTopology", got))
    return instance._replace(
        instance_id=other.instance_id,
        node_name=other.node_name,
        instance_type=instance.instance_type or other.instance_type,
        placement=Placement(path, ultraserver or other.capacity_block_id, zone or other.zone_id or other.zone_name),
    )


def _completes(longer: tuple[str, ...], shorter: tuple[str, ...]) -> bool:
    """True when the shorter path is a piece of the longer one: both say the same, the longer one says more."""
    return any(longer[start : start + len(shorter)] == shorter for start in range(len(longer) - len(shorter) + 1))


def _zone_ids(cluster_nodes: ClusterNodes | None, instance_topology: InstanceTopology | None) -> dict[str, str]:
    """Zone name → zone id, as far as any source gives both, so that one zone is never taken for two."""
    both: list[tuple[str | None, str | None]] = []
    both += [(node.zone_name, node.zone_id) for node in (cluster_nodes.nodes if cluster_nodes else ())]
    both += [(each.zone_name, each.zone_id) for each in (instance_topology.instances if instance_topology else ())]
    return {name: zone_id for name, zone_id in both if name and zone_id}


def _with_zone(instance: Instance, zone_ids: Mapping[str, str], ultraserver_zones: Mapping[str, str]) -> Instance:
    placement = instance.placement
    zone = placement.zone or ultraserver_zones.get(placement.ultraserver_id or "")
    zone = zone_ids.get(zone, zone) if zone else None
    return instance if zone == placement.zone else instance._replace(placement=placement._replace(zone=zone))


def _stale(instance: Instance, live: ClusterNode) -> Finding:
    return Finding(
        "TOPO110",
        Severity.WARNING,
        instance.address or instance.instance_id or "",
        f"resource_config.json has {instance.instance_id} at {instance.address}, SageMaker has {live.instance_id} "
        "there: the file is older than the "
        "replacement, so its network labels may be those of the old instance",
        "HyperPod rewrites the file within minutes; use the controller's copy, not a worker's",
    )


def _disagree(subject: str, what: str, config: str, source: str, other: str) -> Finding:
    taken = other if what == "UltraServer" else config
    return Finding(
        "TOPO109",
        Severity.WARNING,
        subject,
        f"{what} of {subject} is {config} in resource_config.json and {other} in {source}; taken: {taken}",
        "usually one of the two is some minutes old; if it stays, ask for the instance in both",
    )
