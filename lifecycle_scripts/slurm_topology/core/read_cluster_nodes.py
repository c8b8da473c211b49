"""sagemaker:ListClusterNodes and sagemaker:DescribeClusterNode answers: UltraServers, zones, instance states. No
network nodes.

List pages have ``ClusterNodeSummaries``, a description has ``NodeDetails``; one document may hold any mixture of both.
Only the description has the zone and the address. botocore older than 1.42.40 drops PrivateDnsHostname from the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .errors import InputError
from .model import Finding, Severity
from .shapes import describe, fact, items, mapping, pages, text

__all__ = ["GONE_STATUSES", "ClusterNode", "ClusterNodes", "read"]

# botocore, enum ClusterInstanceStatus: Running, Failure, Pending, ShuttingDown, SystemUpdating,
# DeepHealthCheckInProgress, NotFound. An instance in one of these is no longer, or not really, behind a node; in all
# others it is, whatever its health.
GONE_STATUSES = frozenset({"ShuttingDown", "NotFound"})

_HOST_NAME = re.compile(r"ip-(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})(?:\..*)?")


class ClusterNode(NamedTuple):
    """One node as SageMaker sees it; unknown parts are None."""

    instance_id: str
    group: str | None
    instance_type: str | None
    status: str | None
    address: str | None  # PrivatePrimaryIp, else read from PrivateDnsHostname
    ultraserver_id: str | None
    ultraserver_type: str | None
    zone_id: str | None
    zone_name: str | None


@dataclass(frozen=True)
class ClusterNodes:
    """All nodes of the answers, one per instance id, in the order first seen. The richer of two answers wins."""

    nodes: tuple[ClusterNode, ...] = ()
    findings: tuple[Finding, ...] = ()


def read(document: object) -> ClusterNodes:
    """Read one answer or a list of answers. Raises InputError when one of them is neither a list page nor a
    description."""
    found: dict[str, ClusterNode] = {}
    findings: list[Finding] = []
    for answer in pages(document, "ClusterNodes answer"):
        for entry in _entries(answer):
            node = _read_node(mapping(entry, "ClusterNodes answer"))
            if node is None:
                findings.append(_without_id(entry))
            else:
                known = found.get(node.instance_id)
                found[node.instance_id] = node if known is None else _merge(known, node)
    return ClusterNodes(tuple(found.values()), tuple(findings))


def _entries(answer: Mapping[str, Any]) -> Iterator[Any]:
    if "ClusterNodeSummaries" in answer:
        yield from items(answer["ClusterNodeSummaries"], "ClusterNodeSummaries")
    elif "NodeDetails" in answer:
        yield answer["NodeDetails"]
    else:
        raise InputError(
            "expected ClusterNodeSummaries (ListClusterNodes) or NodeDetails (DescribeClusterNode), got "
            f"{describe(answer)}"
        )


def _read_node(entry: Mapping[str, Any]) -> ClusterNode | None:
    instance_id = fact(entry.get("InstanceId"))
    if instance_id is None:
        return None
    status = mapping(entry.get("InstanceStatus") or {}, "InstanceStatus")
    ultraserver = mapping(entry.get("UltraServerInfo") or {}, "UltraServerInfo")
    placement = mapping(entry.get("Placement") or {}, "Placement")
    return ClusterNode(
        instance_id=instance_id,
        group=text(entry.get("InstanceGroupName")),
        instance_type=fact(entry.get("InstanceType")),
        status=fact(status.get("Status")),
        address=fact(entry.get("PrivatePrimaryIp")) or _address_of(fact(entry.get("PrivateDnsHostname"))),
        ultraserver_id=fact(ultraserver.get("Id")),
        ultraserver_type=fact(ultraserver.get("Type")),
        zone_id=fact(placement.get("AvailabilityZoneId")),
        zone_name=fact(placement.get("AvailabilityZone")),
    )


def _address_of(host_name: str | None) -> str | None:
    """10.1.2.3 of ``ip-10-1-2-3.us-west-2.compute.internal``, None for any other name."""
    match = _HOST_NAME.fullmatch(host_name or "")
    return ".".join(match.groups()) if match else None


def _merge(known: ClusterNode, other: ClusterNode) -> ClusterNode:
    """What two answers about one instance say together; the later answer's value wins where both have one."""
    return known._replace(**{fact: value for fact, value in other._asdict().items() if value is not None})


def _without_id(entry: Mapping[str, Any]) -> Finding:
    group = text(entry.get("InstanceGroupName")) or "ListClusterNodes"
    return Finding(
        "TOPO102",
        Severity.INFO,
        group,
        f"a node of group {group} has no InstanceId yet: {describe(entry)}",
        "it counts once it has one",
    )
