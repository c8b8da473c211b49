"""ec2:DescribeInstanceTopology answers, with an optional map of instance ids to Slurm node names.

EC2 seldom sees HyperPod's own instances (they live in the service's account), so this is the last source, and that of
self-managed nodes. ``CapacityBlockId`` is the UltraServer's NVLink domain; it may be null right after launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .errors import InputError
from .model import Finding, Severity
from .read_resource_config import path_to_leaf
from .shapes import describe, fact, items, mapping, members, pages, text

__all__ = ["InstanceTopology", "TopologyInstance", "read"]

_WHERE = "DescribeInstanceTopology answer"


class TopologyInstance(NamedTuple):
    """One instance of the answer; unknown parts are None or empty."""

    instance_id: str
    node_name: str | None  # from the document's own ``Nodes``, which EC2 doesn't give
    instance_type: str | None  # in SageMaker's form, "ml.p5.48xlarge"
    network_nodes: tuple[str, ...]  # top → leaf
    capacity_block_id: str | None
    zone_id: str | None
    zone_name: str | None


@dataclass(frozen=True)
class InstanceTopology:
    """All instances of the answers, one per instance id, in the order first seen."""

    instances: tuple[TopologyInstance, ...] = ()
    findings: tuple[Finding, ...] = ()


def read(document: object) -> InstanceTopology:
    """Read one answer or a list of pages. Raises InputError when it is no such answer or names a node twice."""
    found: dict[str, TopologyInstance] = {}
    findings: list[Finding] = []
    for answer in pages(document, _WHERE):
        names = {str(key): text(name) for key, name in mapping(answer.get("Nodes") or {}, f"{_WHERE}.Nodes").items()}
        for entry in (mapping(each, f"{_WHERE}.Instances") for each in members(answer, "Instances", _WHERE)):
            instance_id = fact(entry.get("InstanceId"))
            if instance_id is None:
                findings.append(_without_id(entry))
                continue
            instance_type = fact(entry.get("InstanceType"))
            found[instance_id] = TopologyInstance(
                instance_id,
                names.get(instance_id),
                f"ml.{instance_type.removeprefix('ml.')}" if instance_type else None,
                path_to_leaf([fact(node) for node in items(entry.get("NetworkNodes"), f"{instance_id}.NetworkNodes")]),
                fact(entry.get("CapacityBlockId")),
                fact(entry.get("ZoneId")),
                fact(entry.get("AvailabilityZone")),
            )
    _refuse_duplicates(found)
    return InstanceTopology(tuple(found.values()), tuple(findings))


def _refuse_duplicates(found: dict[str, TopologyInstance]) -> None:
    owner: dict[str, str] = {}
    for instance in found.values():
        name = instance.node_name
        if name is not None and owner.setdefault(name, instance.instance_id) != instance.instance_id:
            raise InputError(
                f"{_WHERE}: Nodes gives the name {name!r} to {owner[name]} and to {instance.instance_id}, expected "
                "one each"
            )


def _without_id(entry: object) -> Finding:
    return Finding(
        "TOPO103", Severity.WARNING, _WHERE, f"an instance without InstanceId: {describe(entry)}", "it is left out"
    )
