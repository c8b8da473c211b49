"""Disks of the nodes and file systems that they share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import Protocol

from aws_cdk import RemovalPolicy, Tags
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from constructs import Construct

from .network import ClusterNetwork

__all__ = [
    "EbsVolume",
    "LustreMount",
    "LustreThroughput",
    "Mount",
    "NewLustre",
    "NewOpenZfs",
    "OpenZfsMount",
    "SharedStorage",
]


@dataclass(frozen=True, kw_only=True)
class EbsVolume:
    """An additional EBS volume on every instance of a group, mounted at ``/opt/sagemaker``."""

    size_gib: int
    """1 to 16,384."""

    encryption_key: kms.IKey | None = None
    """Default: the cluster's ``encryption_key``, else a key that SageMaker owns."""


@dataclass(frozen=True, kw_only=True)
class LustreMount:
    """An FSx for Lustre file system that HyperPod mounts on instances."""

    dns_name: str
    mount_name: str
    """1 to 8 of ``A-Z a-z 0-9 _ -``; FSx gives it to the file system."""

    mount_path: str = "/fsx"

    @classmethod
    def from_file_system(cls, file_system: fsx.LustreFileSystem, *, mount_path: str = "/fsx") -> LustreMount:
        """Mount a file system of the same app. Its security group must let the nodes in."""
        return cls(dns_name=file_system.dns_name, mount_name=file_system.mount_name, mount_path=mount_path)

    def bind(self, scope: Construct, network: ClusterNetwork) -> LustreMount:  # noqa: ARG002 - nothing to make
        return self


@dataclass(frozen=True, kw_only=True)
class OpenZfsMount:
    """An FSx for OpenZFS file system that HyperPod mounts on instances."""

    dns_name: str
    mount_path: str = "/home"

    def bind(self, scope: Construct, network: ClusterNetwork) -> OpenZfsMount:  # noqa: ARG002 - nothing to make
        return self


Mount = LustreMount | OpenZfsMount


class SharedStorage(Protocol):
    """A file system for all nodes of a cluster: one that exists (a mount), or one to be made (``NewLustre`` …)."""

    def bind(self, scope: Construct, network: ClusterNetwork) -> Mount:
        """Make what is to be made in ``scope``, reachable in ``network``."""
        ...


class LustreThroughput(IntEnum):
    """MB/s for each TiB of a PERSISTENT_2 file system."""

    MBPS_125 = 125
    MBPS_250 = 250
    MBPS_500 = 500
    MBPS_1000 = 1000


@dataclass(frozen=True, kw_only=True)
class NewLustre:
    """A new FSx for Lustre file system (PERSISTENT_2, SSD, compressed, encrypted) in the nodes' subnet and zone."""

    capacity_gib: int = 1200
    """1,200 or a multiple of 2,400."""

    throughput: LustreThroughput = LustreThroughput.MBPS_250
    mount_path: str = "/fsx"
    encryption_key: kms.IKey | None = None
    """Default: the key that AWS manages for FSx."""

    removal_policy: RemovalPolicy = RemovalPolicy.RETAIN

    def bind(self, scope: Construct, network: ClusterNetwork) -> LustreMount:
        resource = fsx.CfnFileSystem(
            scope,
            _free_id(scope, "Lustre"),
            file_system_type="LUSTRE",
            file_system_type_version="2.15",
            storage_type="SSD",
            storage_capacity=self.capacity_gib,
            subnet_ids=[subnet.subnet_id for subnet in network.subnets[:1]],
            security_group_ids=[group.security_group_id for group in network.security_groups],
            kms_key_id=self.encryption_key.key_arn if self.encryption_key else None,
            lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type="PERSISTENT_2",
                per_unit_storage_throughput=int(self.throughput),
                data_compression_type="LZ4",
                metadata_configuration=fsx.CfnFileSystem.MetadataConfigurationProperty(mode="AUTOMATIC"),
            ),
        )
        _finish(resource, self.removal_policy)
        return LustreMount(
            dns_name=resource.attr_dns_name, mount_name=resource.attr_lustre_mount_name, mount_path=self.mount_path
        )


@dataclass(frozen=True, kw_only=True)
class NewOpenZfs:
    """A new FSx for OpenZFS file system (single zone, highly available, encrypted), for home directories."""

    capacity_gib: int = 256
    """64 to 524,288."""

    throughput_mbps: int = 320
    """160, 320, 640, 1280, 2560, 3840, 5120, 7680 or 10240 MB/s."""

    mount_path: str = "/home"
    encryption_key: kms.IKey | None = None
    """Default: the key that AWS manages for FSx."""

    removal_policy: RemovalPolicy = RemovalPolicy.RETAIN

    def bind(self, scope: Construct, network: ClusterNetwork) -> OpenZfsMount:
        resource = fsx.CfnFileSystem(
            scope,
            _free_id(scope, "OpenZfs"),
            file_system_type="OPENZFS",
            storage_type="SSD",
            storage_capacity=self.capacity_gib,
            subnet_ids=[subnet.subnet_id for subnet in network.subnets[:1]],
            security_group_ids=[group.security_group_id for group in network.security_groups],
            kms_key_id=self.encryption_key.key_arn if self.encryption_key else None,
            open_zfs_configuration=fsx.CfnFileSystem.OpenZFSConfigurationProperty(
                deployment_type="SINGLE_AZ_HA_2",
                throughput_capacity=self.throughput_mbps,
                automatic_backup_retention_days=7,
                copy_tags_to_backups=True,
                copy_tags_to_volumes=True,
                root_volume_configuration=_root_volume(),
            ),
        )
        _finish(resource, self.removal_policy)
        return OpenZfsMount(dns_name=resource.attr_dns_name, mount_path=self.mount_path)


def _root_volume() -> fsx.CfnFileSystem.RootVolumeConfigurationProperty:
    """Exported to whom the security group lets in, the nodes; their root is root there, to make users' directories."""
    clients = fsx.CfnFileSystem.ClientConfigurationsProperty(clients="*", options=["rw", "crossmnt", "no_root_squash"])
    return fsx.CfnFileSystem.RootVolumeConfigurationProperty(
        data_compression_type="LZ4",
        nfs_exports=[fsx.CfnFileSystem.NfsExportsProperty(client_configurations=[clients])],
    )


def _finish(resource: fsx.CfnFileSystem, removal_policy: RemovalPolicy) -> None:
    resource.apply_removal_policy(removal_policy)
    Tags.of(resource).add("Name", resource.node.path)


def _free_id(scope: Construct, id: str) -> str:  # noqa: A002 - CDK's name for it
    """A second one of a kind is made beside the first, so that HPS051 can say what is wrong with it."""
    names = (f"{id}{number}" if number > 1 else id for number in count(1))
    return next(name for name in names if scope.node.try_find_child(name) is None)
