"""``Custom::HyperPodSlurmInitialTopology``: once the cluster is in service, the topology that its nodes begin with.

Blocks are final: SageMaker says which UltraServer a node is in. A tree begins flat, under which every job works, until
the agent has read the labels: where the switches are is known on the controller only.
The document also keeps what was learnt of each node, so that the next update asks only about nodes it doesn't know.

What can't be understood about the nodes is a finding and never fails the deployment, which would roll a working cluster
back: the agent, which sees more, makes the topology that counts. The same goes for a SageMaker that doesn't answer
and, when the cluster is new, for one that denies the answer: a failure deletes what took twenty minutes to make.
A denial fails an update, because nobody would read of it otherwise, and what it goes back to works. Going back never
fails for what SageMaker says: a plan that is in force is in force, and a stack whose rollback fails is stuck.

Last of all comes the pointer (``core.plan_pointer``): from then on running agents follow the plan.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from slurm_topology.aws import DENIED, get_object, list_cluster_nodes, put_if_changed
from slurm_topology.core import inventory, pipeline, plan_document, read_cluster_nodes
from slurm_topology.core.errors import AwsError, InputError, SlurmTopologyError
from slurm_topology.core.model import Blocks, Capability, Finding, Inventory, NodeRole, Severity
from slurm_topology.core.pipeline import Rendering
from slurm_topology.core.plan_document import PlanDocument
from slurm_topology.core.read_cluster_nodes import GONE_STATUSES, ClusterNode
from slurm_topology.core.read_ultraservers import UltraServers
from slurm_topology.core.slurm_version import SlurmVersion

from .cfn_request import Request
from .cfn_response import Answer
from .node_details import Details, from_json, learn
from .plan_in_force import PLAN_NAME, is_in_force, put_in_force
from .properties import InitialTopologyProperties
from .work import Work

__all__ = ["DOCUMENT_NAME", "create_or_update"]

DOCUMENT_NAME = "initial_topology.json"
_FORMAT = 1
_KEPT_BACK_SECONDS = 60.0  # for what comes after the listing

# What HyperPod's images of 2026 ship. Nobody off the cluster can say which Slurm runs on it; the agent asks it.
_ASSUMED_VERSION = SlurmVersion(25, 11)


class _ClusterGoneError(InputError):
    """SageMaker knows no such cluster."""


_NOT_TOLD = (AwsError, _ClusterGoneError)


class _Start(NamedTuple):
    """What the nodes begin with."""

    version: SlurmVersion
    inventory: Inventory
    rendering: Rendering
    findings: tuple[Finding, ...]


class _Asked(NamedTuple):
    """What SageMaker said: the listing in ListClusterNodes' shape, what is known of each node, what it didn't say."""

    listed: Mapping[str, Any]
    details: Details
    findings: list[Finding]


def create_or_update(request: Request, work: Work) -> Answer:
    """Read the plan, list the nodes, learn where they are, compute, write the document."""
    work.step("reading the resource's properties")
    properties = InitialTopologyProperties.read(request.properties)
    content = _read_plan(properties, work)
    plan = plan_document.load(content.decode(errors="replace"))
    asked = _ask(properties, (content, plan), request, work)
    work.step("computing the initial topology")
    start = _start(plan, asked)
    uri = _write(properties, start, asked.details, work)
    put_in_force(*_place(properties), content, properties.cluster_name, work)
    return _answer(start, uri)


def _place(properties: InitialTopologyProperties) -> tuple[str, str]:
    return properties.lifecycle_bucket, properties.lifecycle_prefix


def _read_plan(properties: InitialTopologyProperties, work: Work) -> bytes:
    work.step("reading the topology plan")
    key = f"{properties.lifecycle_prefix}/{PLAN_NAME}"
    return get_object(work.client("s3"), properties.lifecycle_bucket, key, work.patience)


def _ask(
    properties: InitialTopologyProperties, plan: tuple[bytes, PlanDocument], request: Request, work: Work
) -> _Asked:
    """The cluster's nodes, as far as SageMaker tells. ``plan``: as it is stored, and what it says."""
    before = _known_before(request.old_properties, work)
    cluster_name = properties.cluster_name
    listed: dict[str, Any] = {"ClusterNodeSummaries": []}
    try:
        listed = _list(cluster_name, work)
        work.step(f"asking SageMaker where the nodes of cluster {cluster_name} are")
        nodes = _compute_nodes(read_cluster_nodes.read(listed).nodes, plan[1])
        details, not_asked = learn(cluster_name, nodes, before, work)
    except _NOT_TOLD as error:
        # what SageMaker refuses to an update it would refuse to its rollback, too
        if _is_worth_failing(error, request) and not is_in_force(*_place(properties), plan[0], work):
            raise
        return _Asked(listed, before, [_not_told(error, work)])
    return _Asked(listed, details, _not_asked(not_asked))


def _is_worth_failing(error: SlurmTopologyError, request: Request) -> bool:
    """A cluster that is gone always is, a denial unless the cluster is new."""
    denied = isinstance(error, AwsError) and error.code in DENIED
    return isinstance(error, _ClusterGoneError) or (denied and not request.cluster_is_new)


def _not_told(error: SlurmTopologyError, work: Work) -> Finding:
    """What to say about it instead of failing."""
    work.log.warning("the cluster was not asked about", reason=str(error))
    text = f"the initial topology lacks what SageMaker didn't tell: {error}"
    return Finding("TOPO122", Severity.WARNING, "cluster", text, "nothing: the agent on the controller asks Slurm")


def _known_before(old_properties: Mapping[str, object], work: Work) -> Details:
    """What the document of the last deployment knows. None is needed: then every node is asked about."""
    if not old_properties:
        return {}
    work.step("reading what was known before")
    bucket, prefix = (str(old_properties.get(name)) for name in ("LifecycleBucket", "LifecyclePrefix"))
    key = f"{prefix.strip('/')}/{DOCUMENT_NAME}"
    try:
        content = get_object(work.client("s3"), bucket, key, replace(work.patience, denied_attempts=1))
        document = json.loads(content)
    except (AwsError, ValueError) as error:
        work.log.warning("nothing known from the last deployment", reason=str(error))
        return {}
    return from_json(document.get("NodeDetails") if isinstance(document, Mapping) else None)


def _list(cluster_name: str, work: Work) -> dict[str, Any]:
    work.step(f"listing the nodes of cluster {cluster_name}")
    start = work.patience.remaining_seconds()
    kept_back = min(_KEPT_BACK_SECONDS, start / 2)  # to write without the nodes, when they can't be listed
    patience = replace(work.patience, remaining_seconds=lambda: work.patience.remaining_seconds() - kept_back)
    try:
        return list_cluster_nodes(work.client("sagemaker"), cluster_name, patience)
    except AwsError as error:
        if error.code == "ResourceNotFound":
            remedy = "was it deleted by hand? Give the cluster another name, and the next deployment makes it anew"
            raise _ClusterGoneError(f"cluster {cluster_name} doesn't exist: {remedy}") from error
        raise


def _compute_nodes(nodes: Sequence[ClusterNode], plan: PlanDocument) -> list[ClusterNode]:
    compute = {group.name for group in plan.groups if group.role is NodeRole.COMPUTE}
    return [node for node in nodes if node.group in compute and node.status not in GONE_STATUSES]


def _start(plan: PlanDocument, asked: _Asked) -> _Start:
    listed = {str(one.get("InstanceId")) for one in asked.listed["ClusterNodeSummaries"]}
    described = [{"NodeDetails": one} for instance_id, one in asked.details.items() if instance_id in listed]
    nodes = read_cluster_nodes.read([asked.listed, *described])
    joined, findings = inventory.build(
        cluster_nodes=nodes,
        ultraservers=UltraServers(zone_names=_ultraserver_zones(nodes.nodes)),
        groups=plan.groups,
        partitions=plan.partitions,
    )
    version = SlurmVersion.parse(plan.slurm_version) if plan.slurm_version else _ASSUMED_VERSION
    rendering = pipeline.compute(joined, version, wanted=plan.wanted, block_sizes=plan.block_sizes)
    every = {*findings, *rendering.findings, *asked.findings}
    return _Start(version, joined, rendering, tuple(sorted(every)))


def _ultraserver_zones(nodes: Sequence[ClusterNode]) -> tuple[tuple[str, str], ...]:
    """(UltraServer, zone), from those of its nodes that were asked about."""
    pairs = {(node.ultraserver_id, node.zone_name or node.zone_id) for node in nodes}
    return tuple(sorted((ultraserver, zone) for ultraserver, zone in pairs if ultraserver and zone))


def _not_asked(count: int) -> list[Finding]:
    if not count:
        return []
    text = f"there was no time to ask SageMaker about the zone of {count} nodes"
    return [
        Finding("TOPO121", Severity.INFO, "cluster", text, "the agent learns their place from the controller's labels")
    ]


def _write(properties: InitialTopologyProperties, start: _Start, details: Details, work: Work) -> str:
    work.step("writing the initial topology")
    bucket, key = properties.lifecycle_bucket, f"{properties.lifecycle_prefix}/{DOCUMENT_NAME}"
    content = json.dumps(_document(properties, start, details), indent=1, sort_keys=True) + "\n"
    put_if_changed(work.client("s3"), bucket, key, content.encode(), "application/json", work.patience)
    return f"s3://{bucket}/{key}"


def _document(properties: InitialTopologyProperties, start: _Start, details: Details) -> dict[str, Any]:
    """Canonical: equal nodes give equal bytes."""
    return {
        "Format": _FORMAT,
        "Cluster": properties.cluster_name,
        "SlurmVersion": str(start.version),
        "FileName": start.rendering.file_name,
        "Text": None if _errors(start) else start.rendering.text,
        "PartitionTopologies": dict(start.rendering.topology.partitions),
        "Nodes": [
            {
                "Name": node.name,
                "InstanceId": node.instance_id,
                "InstanceType": node.instance_type,
                "Group": node.group,
                "Zone": node.placement.zone,
                "UltraServerId": node.placement.ultraserver_id,
            }
            for node in start.inventory.nodes
        ],
        "NodeDetails": [details[instance_id] for instance_id in sorted(details)],
        "Findings": [{**asdict(finding), "severity": finding.severity.value} for finding in start.findings],
    }


def _errors(start: _Start) -> list[Finding]:
    return [finding for finding in start.findings if finding.severity is Severity.ERROR]


def _answer(start: _Start, uri: str) -> Answer:
    nodes = start.inventory.nodes
    blocks = {
        block.name
        for topology in start.rendering.topology.topologies
        if isinstance(topology.body, Blocks)
        for block in topology.body.blocks
    }
    unplaced = _unplaced_count(start.inventory)
    kind = start.rendering.plan.default.kind.value
    summary = f"{len(nodes)} nodes, {kind} by default, {len(blocks)} blocks"
    if unplaced:
        summary += f"; the network place of {unplaced} nodes is known on the controller only, where the agent reads it"
    if errors := _errors(start):
        summary += f"; {len(errors)} errors, the first: {errors[0].message}"
    data = {
        "TopologyS3Uri": uri,
        "NodeCount": str(len(nodes)),
        "BlockCount": str(len(blocks)),
        "UnplacedCount": str(unplaced),
        "Summary": summary,
    }
    return Answer(succeeded=True, reason=summary, data=data)


def _unplaced_count(start: Inventory) -> int:
    """Nodes of a type with a network topology, of which neither UltraServer nor network path is known here."""
    capable = {group.name for group in start.groups if group.capability is not Capability.NONE}
    return sum(
        node.group in capable and not node.placement.network_nodes and node.placement.ultraserver_id is None
        for node in start.nodes
    )
