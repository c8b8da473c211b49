"""What only DescribeClusterNode says: the zone of a node, and its address where the listing lacks the host name.

One call a node, so: never about a node that is known already, one node for each UltraServer (all of it is in one zone),
and no longer than the deployment can wait. A zone that stays unknown costs nothing but a finding, because the agent
learns the places of all nodes anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
_BATCH = 200  # nodes between two looks at the clock
_MOST_SECONDS_KEPT_BACK = 60.0  # for what comes after


def from_json(value: object) -> Details:
    """Details as in a document of an earlier deployment; whatever has another shape is left out."""
    found = [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
    return {str(one["InstanceId"]): one for one in found if isinstance(one.get("InstanceId"), str)}


def learn(cluster_name: str, nodes: Sequence[ClusterNode], known: Details, work: Work) -> tuple[Details, int]:
    """Details of the nodes, known ones included; and the number of nodes that there was no time to ask about."""
    ids = _worth_asking(nodes, known)
    kept_back = min(_MOST_SECONDS_KEPT_BACK, work.patience.remaining_seconds() / 2)
    patience = replace(
        work.patience, attempts=1000, remaining_seconds=lambda: work.patience.remaining_seconds() - kept_back
    )
    learnt: dict[str, Mapping[str, Any]] = {}
    asked = 0
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        try:
            answers = describe_cluster_nodes(work.client("sagemaker"), cluster_name, batch, patience)
        except AwsError as error:
            if error.code != OUT_OF_TIME:
                raise
            break
        asked += len(batch)
        learnt |= {instance_id: _kept(answer.get("NodeDetails") or {}) for instance_id, answer in answers.items()}
    present = {node.instance_id for node in nodes}
    work.log.info("nodes described", nodes=len(nodes), known=len(known), asked=asked, left_out=len(ids) - asked)
    return {**{key: value for key, value in known.items() if key in present}, **learnt}, len(ids) - asked


def _kept(details: Mapping[str, Any]) -> dict[str, Any]:
    return {name: details[name] for name in _KEPT if details.get(name)}


def _worth_asking(nodes: Iterable[ClusterNode], known: Details) -> list[str]:
    """Instance ids in the order of what is missing most: nodes without a name, UltraServers, other nodes."""
    nameless: list[str] = []
    ultraservers: dict[str, str] = {}
    others: list[str] = []
    nodes = list(nodes)
    settled = {node.ultraserver_id for node in nodes if node.instance_id in known and node.ultraserver_id}
    for node in nodes:
        if node.instance_id in known:
            continue
        if node.address is None:
            nameless.append(node.instance_id)
        elif node.ultraserver_id is None:
            others.append(node.instance_id)
        elif node.ultraserver_id not in settled:
            ultraservers.setdefault(node.ultraserver_id, node.instance_id)
    return [*nameless, *ultraservers.values(), *others]
