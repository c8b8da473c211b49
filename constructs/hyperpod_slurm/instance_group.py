"""Instance groups: what a cluster is made of. Plain values; the cluster turns them into resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import ClassVar

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from slurm_topology.core.model import NodeRole

from .capacity import Capacity
from .instance_type import ClusterInstanceType
from .provisioning import PatchingStrategy
from .storage import EbsVolume, Mount

__all__ = ["ComputeGroup", "ControllerGroup", "DeepHealthCheck", "InstanceGroup", "InterfaceType", "LoginGroup"]


class DeepHealthCheck(str, Enum):
    """Tests that HyperPod runs on accelerated instances before they join (SageMaker's ``DeepHealthCheckType``)."""

    INSTANCE_STRESS = "InstanceStress"
    INSTANCE_CONNECTIVITY = "InstanceConnectivity"
    MULTI_NODE_TRAINING_VALIDATION = "MultiNodeTrainingValidation"


class InterfaceType(str, Enum):
    """Kind of the network interfaces of a compute group (SageMaker's ``ClusterInterfaceType``)."""

    EFA = "efa"
    """EFA and ENA: fast communication between nodes, and IP."""

    EFA_ONLY = "efa-only"
    """EFA alone on the cards after the first, which saves IP addresses."""


@dataclass(frozen=True)
class InstanceGroup:
    """What all instance groups have. Use ControllerGroup, LoginGroup or ComputeGroup."""

    role: ClassVar[NodeRole]

    name: str
    """1 to 63 letters, digits and inner hyphens, unique in the cluster. Another name is another group."""

    instance_type: ClusterInstanceType | str
    """A constant of ClusterInstanceType, or SageMaker's name of the type, such as ``"ml.p5.48xlarge"``."""

    count: float = 1
    """Instances, 0 to 6,758; may be a token. CloudFormation sets it again at each update of the cluster."""

    _: KW_ONLY

    execution_role: iam.IRole | None = None
    """Default: the cluster's role for nodes of this kind."""

    root_volume_key: kms.IKey | None = None
    """Encrypts the root volume. Default: the cluster's ``encryption_key``, else a key that AWS owns."""

    ebs_volume: EbsVolume | None = None
    """Default: no additional volume."""

    mounts: Sequence[Mount] = ()
    """File systems, in addition to the cluster's ``shared_storage``: at most one Lustre and one OpenZFS in all."""

    threads_per_core: int | None = None
    """1 switches hyper-threading off. Default: what the instance type does."""

    image_id: str | None = None
    """A HyperPod or custom AMI. Default: the newest HyperPod AMI when the group is created."""

    image_release_version: str | None = None
    """Release of the HyperPod AMI, such as ``"1.2.3"``. Default: the newest when the group is created."""

    auto_patch: PatchingStrategy | None = None
    """When HyperPod applies security patches of its AMI by itself. Default: never."""

    update_schedule: str | None = None
    """A cron expression, such as ``"cron(0 3 ? * SUN *)"``: when HyperPod updates the AMI, whatever runs then."""

    subnets: Sequence[ec2.ISubnet] = ()
    """Default: the cluster's subnets. Never changes after the group is created. EFA does not cross zones."""

    security_groups: Sequence[ec2.ISecurityGroup] = ()
    """Default: the cluster's security groups."""

    def __post_init__(self) -> None:
        if type(self) is InstanceGroup:
            raise TypeError("make a ControllerGroup, a LoginGroup or a ComputeGroup; got an InstanceGroup")

    @property
    def type_name(self) -> str:
        """The instance type in SageMaker's form; may be a token."""
        return str(self.instance_type)


@dataclass(frozen=True)
class ControllerGroup(InstanceGroup):
    """The instance that runs slurmctld, and the topology agent."""

    role: ClassVar[NodeRole] = NodeRole.CONTROLLER

    name: str = "controller"
    instance_type: ClusterInstanceType | str = ClusterInstanceType.M5_4XLARGE
    """Default: 16 vCPUs, 64 GiB: slurmctld, slurmdbd and its database for a few thousand nodes."""


@dataclass(frozen=True)
class LoginGroup(InstanceGroup):
    """Instances that users log in to. They run slurmd for configuration only."""

    role: ClassVar[NodeRole] = NodeRole.LOGIN

    name: str = "login"
    instance_type: ClusterInstanceType | str = ClusterInstanceType.M5_4XLARGE


@dataclass(frozen=True)
class ComputeGroup(InstanceGroup):
    """Instances that run jobs."""

    role: ClassVar[NodeRole] = NodeRole.COMPUTE

    _: KW_ONLY

    partition: str | None = None
    """The Slurm partition of these nodes; groups may share one. Default: the group's name."""

    min_count: float | None = None
    """The group is in service as soon as so many instances are. Default: all of ``count``."""

    capacity: Capacity = Capacity()  # noqa: RUF009 - frozen: sharing it is safe
    deep_health_checks: Sequence[DeepHealthCheck] = ()
    """Default: none. They take an hour or more."""

    interface_type: InterfaceType | None = None
    """Default: EFA with ENA."""

    @property
    def partition_name(self) -> str:
        return self.name if self.partition is None else self.partition
