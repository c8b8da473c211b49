"""AWS CDK constructs for SageMaker HyperPod clusters with Slurm, whose network topology chooses itself and stays right.

Start with SlurmCluster; everything else here is an argument of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._cluster_base import ClusterBase
from ._handler import HandlerOptions
from .accounting import Accounting, AccountingDatabase, ExistingDatabase, NewDatabase
from .capacity import Capacity
from .cluster import SlurmCluster
from .instance_group import ComputeGroup, ControllerGroup, DeepHealthCheck, InstanceGroup, InterfaceType, LoginGroup
from .instance_type import ClusterInstanceType
from .lifecycle import Lifecycle
from .network import ClusterNetwork
from .provisioning import NodeProvisioningMode, NodeRecovery, PatchingStrategy, SlurmConfigStrategy
from .storage import (
    EbsVolume,
    LustreMount,
    LustreThroughput,
    Mount,
    NewLustre,
    NewOpenZfs,
    OpenZfsMount,
    SharedStorage,
)
from .topology import Topology, TopologyMode

if TYPE_CHECKING:
    from .observability import TopologyAlarms, TopologyDashboard

__all__ = [
    "Accounting",
    "AccountingDatabase",
    "Capacity",
    "ClusterBase",
    "ClusterInstanceType",
    "ClusterNetwork",
    "ComputeGroup",
    "ControllerGroup",
    "DeepHealthCheck",
    "EbsVolume",
    "ExistingDatabase",
    "HandlerOptions",
    "InstanceGroup",
    "InterfaceType",
    "Lifecycle",
    "LoginGroup",
    "LustreMount",
    "LustreThroughput",
    "Mount",
    "NewDatabase",
    "NewLustre",
    "NewOpenZfs",
    "NodeProvisioningMode",
    "NodeRecovery",
    "OpenZfsMount",
    "PatchingStrategy",
    "SharedStorage",
    "SlurmCluster",
    "SlurmConfigStrategy",
    "Topology",
    "TopologyAlarms",
    "TopologyDashboard",
    "TopologyMode",
]


def __getattr__(name: str) -> Any:
    """Alarms and dashboards are imported when they are asked for: they would cost every synth 60 ms."""
    if name in {"TopologyAlarms", "TopologyDashboard"}:
        from . import observability

        return getattr(observability, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
