"""Which HyperPod cluster this is, by HyperPod's file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slurm_topology.agent.world import World

__all__ = ["cluster_arn", "cluster_names", "region_of"]


def cluster_arn(world: World) -> str:
    """ "" when this is no HyperPod cluster, or its file isn't there yet."""
    return _of_cluster(world, "ClusterArn")


def cluster_names(world: World) -> frozenset[str]:
    """Its ARN and its name: what others may call it by. As many of them as are known."""
    return frozenset({_of_cluster(world, "ClusterArn"), _of_cluster(world, "ClusterName")} - {""})


def _of_cluster(world: World, member: str) -> str:
    try:
        document = json.loads(world.files.read_text(world.settings.resource_config) or "{}")
        return str(document["ClusterConfig"][member])
    except (ValueError, KeyError, TypeError):
        return ""


def region_of(arn: str) -> str | None:
    """arn:aws:sagemaker:us-west-2:…: the part that says where; None when it is no such ARN."""
    found = re.match(r"arn:[\w-]+:sagemaker:([\w-]+):", arn)
    return found[1] if found else None
