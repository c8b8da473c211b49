"""``Custom::HyperPodSlurmTopologyPlan``: before the cluster exists, node bundle and plan are put where it will look.

The plan is written last and as a whole. Whatever fails before leaves the plan that is there in force; a repeated
request finds everything there and writes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from slurm_topology.aws import put_if_changed
from slurm_topology.core import plan_document
from slurm_topology.core.choose import make_plan
from slurm_topology.core.errors import InputError
from slurm_topology.core.instance_types import InstanceType, lookup
from slurm_topology.core.model import Capability, Finding, Group, NodeRole, Partition, Plan, Severity
from slurm_topology.core.plan_pointer import pointer_key

from .bundle import unpack
from .cfn_request import Request
from .cfn_response import Answer
from .facts import UltraServerSize, types_unknown_to_the_catalogue, ultraserver_sizes
from .plan_before import PlanBefore
from .plan_in_force import PLAN_NAME, announce
from .properties import GroupProperties, TopologyPlanProperties
from .work import Work

__all__ = ["create_or_update"]


def create_or_update(request: Request, work: Work) -> Answer:
    """Unpack the bundle, learn what the properties don't say, plan, write the plan."""
    work.step("reading the resource's properties")
    properties = TopologyPlanProperties.read(request.properties)
    _unpack(properties, work)
    compute = [group for group in properties.groups if group.role is NodeRole.COMPUTE]
    before = PlanBefore(request, properties, work)
    types = types_unknown_to_the_catalogue([group.instance_type for group in compute], before, work)
    sizes = ultraserver_sizes(_plans_with_ultraservers(compute, types), before, work)
    groups = [_group(group, types, sizes) for group in properties.groups]
    partitions = _partitions(groups)
    work.step("choosing the topology")
    plan = _plan(properties, groups, partitions, _unknown_types(compute, types))
    text = plan_document.dump(
        plan,
        groups,
        partitions,
        wanted=properties.wanted,
        block_sizes=properties.block_sizes,
        mode=properties.mode,
        slurm_version=str(properties.slurm_version) if properties.slurm_version else None,
        pointer=f"s3://{properties.lifecycle_bucket}/{pointer_key(properties.lifecycle_prefix)}",
    )
    announce(properties.lifecycle_bucket, properties.lifecycle_prefix, text.encode(), work)
    _write(properties, text.encode(), work)
    return _answer(properties, plan, text)


def _unpack(properties: TopologyPlanProperties, work: Work) -> None:
    work.step("unpacking the node bundle")
    source = (properties.bundle_bucket, properties.bundle_key)
    unpacked = unpack(
        work.client("s3"), source, properties.lifecycle_bucket, properties.lifecycle_prefix, work.patience
    )
    work.log.info("bundle unpacked", written=unpacked.written, there_already=unpacked.there_already)


def _plans_with_ultraservers(groups: Sequence[GroupProperties], types: Mapping[str, InstanceType]) -> list[str]:
    """ARNs of the training plans whose instances are in UltraServers; others say nothing that a plan needs."""
    return [
        group.training_plan_arn
        for group in groups
        if group.training_plan_arn and _capability(group.instance_type, types) is Capability.BLOCK
    ]


def _capability(instance_type: str, types: Mapping[str, InstanceType]) -> Capability:
    facts = lookup(instance_type, types)
    return facts.capability if facts else Capability.NONE


def _group(group: GroupProperties, types: Mapping[str, InstanceType], sizes: Mapping[str, UltraServerSize]) -> Group:
    size = sizes.get(group.training_plan_arn or "", UltraServerSize(None, 0))
    return Group(
        group.name,
        group.instance_type,
        group.role,
        _capability(group.instance_type, types),
        tuple(sorted(group.partitions)),
        group.count,
        size.total,
        size.spares,
    )


def _partitions(groups: Sequence[Group]) -> list[Partition]:
    members: defaultdict[str, list[str]] = defaultdict(list)
    for group in groups:
        for partition in group.partitions:
            members[partition].append(group.name)
    return [Partition(name, tuple(sorted(members[name]))) for name in sorted(members)]


def _unknown_types(groups: Sequence[GroupProperties], types: Mapping[str, InstanceType]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            "TOPO104",
            Severity.WARNING,
            group.name,
            f"group {group.name}: neither the catalogue nor EC2 in this region knows instance type "
            f"{group.instance_type!r}; it is taken for one without network topology",
            "check the spelling and the region",
        )
        for group in groups
        if lookup(group.instance_type, types) is None
    )


def _plan(
    properties: TopologyPlanProperties,
    groups: Sequence[Group],
    partitions: Sequence[Partition],
    more: tuple[Finding, ...],
) -> Plan:
    """The plan with all findings. Raises InputError with every finding that is an error."""
    plan = make_plan(
        groups,
        partitions,
        properties.slurm_version,
        wanted=properties.wanted,
        block_sizes=properties.block_sizes,
    )
    findings = tuple(sorted({*plan.findings, *more}))
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        told = "; ".join(f"{error.id} {error.subject}: {error.message} ({error.remedy})" for error in errors)
        raise InputError(f"no topology can be planned: {told}")
    return replace(plan, findings=findings)


def _write(properties: TopologyPlanProperties, content: bytes, work: Work) -> None:
    work.step("writing the topology plan")
    key = f"{properties.lifecycle_prefix}/{PLAN_NAME}"
    written = put_if_changed(
        work.client("s3"), properties.lifecycle_bucket, key, content, "application/json", work.patience
    )
    work.log.info("plan is in force", key=key, written=written)


def _answer(properties: TopologyPlanProperties, plan: Plan, text: str) -> Answer:
    prefix = f"s3://{properties.lifecycle_bucket}/{properties.lifecycle_prefix}"
    plan_uri = f"{prefix}/{PLAN_NAME}"
    partitions = {choice.subject: choice.topology for choice in plan.partitions}
    data = {
        "LifecycleS3Uri": f"{prefix}/",
        "PlanS3Uri": plan_uri,
        "PlanSha256": hashlib.sha256(text.encode()).hexdigest(),
        "DefaultTopology": plan.default.topology,
        "PartitionTopologies": json.dumps(partitions, separators=(",", ":"), sort_keys=True),
        "FindingCount": str(len(plan.findings)),
    }
    shorter = {"PartitionTopologies": json.dumps({"see": plan_uri}, separators=(",", ":"))}
    return Answer(succeeded=True, reason=plan.default.reason, data=data, shorter=shorter)
