"""AWS CDK constructs for SageMaker HyperPod clusters with Slurm, whose network topology chooses itself and stays right.

Start with SlurmCluster; everything else here is an argument of it.
"""

from __future__ import annotations

from ._handler import HandlerOptions
from .capacity import Capacity
from .cluster import SlurmCluster
from .instance_group import ComputeGroup, ControllerGroup, DeepHealthCheck, InstanceGroup, InterfaceType, LoginGroup
from .instance_type import ClusterInstanceType
from .lifecycle import Lifecycle
from .network import ClusterNetwork
from .provisioning import NodeProvisioningMode, NodeRecovery, SlurmConfigStrategy
from .storage import EbsVolume, LustreMount, Mount, OpenZfsMount
from .topology import Topology, TopologyMode

__all__ = [
    "Capacity",
    "ClusterInstanceType",
    "ClusterNetwork",
    "ComputeGroup",
    "ControllerGroup",
    "DeepHealthCheck",
    "EbsVolume",
    "HandlerOptions",
    "InstanceGroup",
    "InterfaceType",
    "Lifecycle",
    "LoginGroup",
    "LustreMount",
    "Mount",
    "NodeProvisioningMode",
    "NodeRecovery",
    "OpenZfsMount",
    "SlurmCluster",
    "SlurmConfigStrategy",
    "Topology",
    "TopologyMode",
]
