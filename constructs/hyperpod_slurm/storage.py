"""Disks of the nodes and file systems that they share."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms

__all__ = ["EbsVolume", "LustreMount", "Mount", "OpenZfsMount"]


@dataclass(frozen=True, kw_only=True)
class EbsVolume:
    """An additional EBS volume on every instance of a group, mounted at ``/opt/sagemaker``."""

    size_gib: int
    """1 to 16,384."""

    encryption_key: kms.IKey | None = None
    """Default: the cluster's ``encryption_key``, else a key that SageMaker owns."""


@dataclass(frozen=True, kw_only=True)
class LustreMount:
    """An FSx for Lustre file system that HyperPod mounts on every instance of a group."""

    dns_name: str
    mount_name: str
    """1 to 8 of ``A-Z a-z 0-9 _ -``; FSx gives it to the file system."""

    mount_path: str = "/fsx"

    @classmethod
    def from_file_system(cls, file_system: fsx.LustreFileSystem, *, mount_path: str = "/fsx") -> LustreMount:
        """Mount a file system of the same app."""
        return cls(dns_name=file_system.dns_name, mount_name=file_system.mount_name, mount_path=mount_path)


@dataclass(frozen=True, kw_only=True)
class OpenZfsMount:
    """An FSx for OpenZFS file system that HyperPod mounts on every instance of a group."""

    dns_name: str
    mount_path: str = "/home"


Mount = LustreMount | OpenZfsMount
