"""SageMaker HyperPod: the nodes of a cluster, UltraServers, training plans. Raw answers, of the shape the API gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slurm_topology.core.errors import AwsError

from .call import Patience, call, pages, parallel

__all__ = ["describe_cluster_nodes", "describe_training_plan", "list_cluster_nodes", "list_ultraservers"]

_PAGE_SIZE = 100  # the most that ListClusterNodes and ListUltraServersByReservedCapacity take (botocore model)
_WORKERS = 8  # SageMaker throttles an account, not a caller: more only makes others wait


def list_cluster_nodes(client: Any, cluster_name: str, patience: Patience) -> dict[str, Any]:
    """All pages of ListClusterNodes as one answer: ``{"ClusterNodeSummaries": […]}``, in the order of the service.

    10,000 nodes are 100 calls, one after the other (a token leads to the next). botocore before 1.42.40 leaves
    ``PrivateDnsHostname`` out.
    """
    operation = "sagemaker:ListClusterNodes"
    summaries: list[Any] = []
    for page in pages(client, operation, patience, ClusterName=cluster_name, MaxResults=_PAGE_SIZE):
        summaries += page.get("ClusterNodeSummaries") or []
    return {"ClusterNodeSummaries": summaries}


def describe_cluster_nodes(
    client: Any, cluster_name: str, instance_ids: Iterable[str], patience: Patience
) -> dict[str, dict[str, Any]]:
    """DescribeClusterNode for each id: instance id → answer (``{"NodeDetails": {…}}``).

    One call an id, eight at a time: ask only about what is not known yet. A node that has gone since it was listed is
    left out.
    """

    def describe(instance_id: str) -> dict[str, Any] | None:
        try:
            return call(client, "sagemaker:DescribeClusterNode", patience, ClusterName=cluster_name, NodeId=instance_id)
        except AwsError as error:
            if error.code == "ResourceNotFound":
                return None
            raise

    ids = list(dict.fromkeys(instance_ids))
    answers = parallel(describe, ids, _WORKERS)
    return {instance_id: answer for instance_id, answer in zip(ids, answers, strict=True) if answer is not None}


def describe_training_plan(client: Any, name: str, patience: Patience) -> dict[str, Any]:
    """DescribeTrainingPlan. ``name`` is the plan's name, not its ARN: SDKs of 2025 refuse an ARN here."""
    return call(client, "sagemaker:DescribeTrainingPlan", patience, TrainingPlanName=name)


def list_ultraservers(client: Any, reserved_capacity_arn: str, patience: Patience) -> dict[str, Any]:
    """All pages of ListUltraServersByReservedCapacity as one answer: ``{"UltraServers": […]}``."""
    operation = "sagemaker:ListUltraServersByReservedCapacity"
    found: list[Any] = []
    for page in pages(client, operation, patience, ReservedCapacityArn=reserved_capacity_arn, MaxResults=_PAGE_SIZE):
        found += page.get("UltraServers") or []
    return {"UltraServers": found}
