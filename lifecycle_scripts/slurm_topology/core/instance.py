"""An instance, as one or several of AWS's sources know it."""

from __future__ import annotations

from typing import NamedTuple

from .model import UNKNOWN_PLACEMENT, Placement

__all__ = ["Instance"]


class Instance(NamedTuple):
    """One instance; unknown parts are None or empty."""

    instance_id: str | None = None
    address: str | None = None  # in the customer's VPC: the node's address
    name: str | None = None  # SageMaker's InstanceName, such as "train-1"
    group: str = ""  # never empty in a result of merge_instances
    instance_type: str | None = None
    placement: Placement = UNKNOWN_PLACEMENT
    ultraserver_type: str | None = None
    node_name: str | None = None  # as given together with DescribeInstanceTopology
