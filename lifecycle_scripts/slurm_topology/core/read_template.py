"""Clusters of a synthesized CloudFormation template, so that a pipeline can look at their plans before it deploys.

The custom resource ``Custom::HyperPodSlurmTopologyPlan`` of each cluster has all that the deployment plans from. Values
that are references (``{"Ref": …}``) are known at deploy time only: a count may be one; a compute group's type, name or
partition that is one hides the plan. Controllers and login nodes take no part in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .errors import InputError
from .instance_types import lookup
from .model import Capability, Finding, Group, NodeRole, Partition, Severity, TopologyKind
from .shapes import items, mapping, number, text
from .slurm_version import SlurmVersion

__all__ = ["ASSUMED_SPARES", "PLAN_RESOURCE", "TemplateCluster", "read_template"]

PLAN_RESOURCE = "Custom::HyperPodSlurmTopologyPlan"

# A training plan keeps one instance of each UltraServer as a spare unless it was bought otherwise. Nobody can ask
# before the deployment.
ASSUMED_SPARES = 1


class TemplateCluster(NamedTuple):
    """One cluster of a template. ``findings`` is not empty when it can't be planned yet."""

    name: str  # logical id of its plan resource
    groups: tuple[Group, ...]
    partitions: tuple[Partition, ...]
    wanted: TopologyKind | None
    block_sizes: tuple[int, ...]
    version: SlurmVersion | None
    findings: tuple[Finding, ...]
    title: str = ""  # for people: where the cluster is in the app, where CDK says it; else the logical id


def read_template(document: object) -> tuple[TemplateCluster, ...]:
    """Every cluster in a template, in its order. Raises InputError when it is no template, or one without a cluster."""
    resources = mapping(mapping(document, "template").get("Resources"), "template.Resources")
    found = tuple(
        _cluster(name, mapping(mapping(resource, name).get("Properties"), f"{name}.Properties"))._replace(
            title=_title(name, mapping(resource, name).get("Metadata"))
        )
        for name, resource in resources.items()
        if mapping(resource, name).get("Type") == PLAN_RESOURCE
    )
    if not found:
        raise InputError(
            f"the template has no {PLAN_RESOURCE}: expected a template with a SlurmCluster, as cdk synth writes it"
        )
    return found


def _title(name: str, metadata: object) -> str:
    """``Training/Cluster`` of the path ``Training/Cluster/TopologyPlan/Default`` that the cdk command writes."""
    path = text(metadata.get("aws:cdk:path")) if isinstance(metadata, Mapping) else None
    return (path or "").rpartition("/TopologyPlan")[0] or name


def _cluster(name: str, properties: Mapping[str, Any]) -> TemplateCluster:
    entries = [mapping(entry, f"{name}.Groups") for entry in items(properties.get("Groups"), f"{name}.Groups")]
    groups = tuple(_group(entry, f"{name}.Groups") for entry in entries)
    topology = mapping(properties.get("Topology") or {}, f"{name}.Topology")
    kind = text(topology.get("Kind"))
    version = text(properties.get("SlurmVersion"))
    return TemplateCluster(
        name=name,
        groups=groups,
        partitions=_partitions(groups),
        wanted=TopologyKind(kind) if kind in {each.value for each in TopologyKind} else None,
        block_sizes=tuple(number(size) or 0 for size in items(topology.get("BlockSizes"), f"{name}.BlockSizes")),
        version=SlurmVersion.parse(version) if version else None,
        findings=tuple(finding for entry in entries for finding in _hidden(name, entry)),
    )


def _hidden(cluster: str, entry: Mapping[str, Any]) -> Sequence[Finding]:
    partitions = items(entry.get("Partitions"), "Partitions")
    if _role(entry) is not NodeRole.COMPUTE:
        return ()
    hidden = [key for key in ("Name", "InstanceType") if text(entry.get(key)) is None]
    hidden += ["Partitions"] if any(text(partition) is None for partition in partitions) else []
    if not hidden:
        return ()
    name = text(entry.get("Name")) or "of unknown name"
    message = f"group {name} of {cluster}: {', '.join(hidden)} is known at deploy time only, so there is no plan before"
    return (
        Finding("TOPO207", Severity.INFO, cluster, message, "the deployment plans, and puts the plan into the outputs"),
    )


def _group(entry: Mapping[str, Any], where: str) -> Group:
    instance_type = text(entry.get("InstanceType")) or ""
    facts = lookup(instance_type)
    return Group(
        name=text(entry.get("Name")) or "",
        instance_type=instance_type,
        role=_role(entry),
        capability=facts.capability if facts else Capability.NONE,
        partitions=tuple(name for name in map(text, items(entry.get("Partitions"), where)) if name),
        count=number(entry.get("Count")),
        spare_instances=ASSUMED_SPARES if entry.get("TrainingPlanArn") else 0,
    )


def _role(entry: Mapping[str, Any]) -> NodeRole:
    role = text(entry.get("Role"))
    return NodeRole(role) if role in {each.value for each in NodeRole} else NodeRole.COMPUTE


def _partitions(groups: Sequence[Group]) -> tuple[Partition, ...]:
    members: defaultdict[str, list[str]] = defaultdict(list)
    for group in groups:
        for partition in group.partitions:
            members[partition].append(group.name)
    return tuple(Partition(name, tuple(sorted(members[name]))) for name in sorted(members))
