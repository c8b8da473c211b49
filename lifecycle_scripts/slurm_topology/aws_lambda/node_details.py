"""What only DescribeClusterNode says: the zone of a node, and its address where the listing lacks the host name.

One call a node, so: never about a node that is known already, one node for each UltraServer (all of it is in one zone),
and not for long. A zone that stays unknown costs nothing but a finding, because the agent learns the places of all
nodes anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from slurm_topology.aws import describe_cluster_nodes
from slurm_topology.aws.call import OUT_OF_TIME
from slurm_topology.core.errors import AwsError
from slurm_topology.core.read_cluster_nodes import ClusterNode

from .work import Work

__all__ = ["Details", "from_json", "learn"]

# Instance id → the part of a DescribeClusterNode answer (``NodeDetails``) that never changes in an instance's life.
Details = Mapping[str, Mapping[str, Any]]

_KEPT = ("InstanceId", "PrivatePrimaryIp", "Placement")
_BATCH = 40  # nodes; what is learnt of a batch that the time ends in is lost
_KEPT_BACK_SECONDS = 60.0  # for what comes after

# A zone is good to know and not worth a longer deployment: SageMaker throttles DescribeClusterNode at some calls a
# second, so that a large cluster would take minutes. A name is worth it, because without one a node is left out.
_ZONES_SECONDS = 60.0


def from_json(value: object) -> Details:
    """Details as in a document of an earlier deployment; whatever has another shape is left out."""
    found = [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
    return {str(one["InstanceId"]): one for one in found if isinstance(one.get("InstanceId"), str)}


def learn(cluster_name: str, nodes: Sequence[ClusterNode], known: Details, work: Work) -> tuple[Details, int]:
    """Details of the nodes, known ones included; and the number of nodes that there was no time to ask about."""
    nameless, zones = _worth_asking(nodes, known)
    start = work.patience.remaining_seconds()
    kept_back = min(_KEPT_BACK_SECONDS, start / 2)
    named, unnamed = _ask(cluster_name, nameless, kept_back, work)
    left = work.patience.remaining_seconds()
    zoned, unzoned = _ask(cluster_name, zones, max(kept_back, left - _ZONES_SECONDS), work)
    learnt, left_out = {**named, **zoned}, unnamed + unzoned
    work.log.info("nodes described", nodes=len(nodes), known=len(known), learnt=len(learnt), left_out=left_out)
    present = {node.instance_id for node in nodes}
    return {**{key: value for key, value in known.items() if key in present}, **learnt}, left_out


def _ask(
    cluster_name: str, ids: Sequence[str], kept_back: float, work: Work
) -> tuple[dict[str, Mapping[str, Any]], int]:
    """Details of as many nodes as the time allows, and how many it didn't. Throttled calls are repeated until then."""
    patience = replace(
        work.patience, attempts=1000, remaining_seconds=lambda: work.patience.remaining_seconds() - kept_back
    )
    learnt: dict[str, Mapping[str, Any]] = {}
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        try:
            answers = describe_cluster_nodes(work.client("sagemaker"), cluster_name, batch, patience)
        except AwsError as error:
            if error.code != OUT_OF_TIME:
                raise
            return learnt, len(ids) - start
        learnt |= {instance_id: _kept(answer.get("NodeDetails") or {}) for instance_id, answer in answers.items()}
    return learnt, 0


def _kept(details: Mapping[str, Any]) -> dict[str, Any]:
    return {name: details[name] for name in _KEPT if details.get(name)}


def _worth_asking(nodes: Sequence[ClusterNode], known: Details) -> tuple[list[str], list[str]]:
    """Ids of the nodes whose name isn't known, and of those whose zone isn't: one for each UltraServer, then others."""
    nameless: list[str] = []
    ultraservers: dict[str, str] = {}
    others: list[str] = []
    settled = {node.ultraserver_id for node in nodes if node.instance_id in known}
    for node in nodes:
        details = known.get(node.instance_id, {})
        if node.address is None and not details.get("PrivatePrimaryIp"):
            nameless.append(node.instance_id)
        elif node.instance_id in known:
            continue
        elif node.ultraserver_id is None:
            others.append(node.instance_id)
        elif node.ultraserver_id not in settled:
            ultraservers.setdefault(node.ultraserver_id, node.instance_id)
    return nameless, [*ultraservers.values(), *others]
