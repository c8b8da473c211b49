"""What the rules look at: everything that was asked for, in one frozen value, with tokens left as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slurm_topology.core.instance_types import InstanceType, lookup

from .instance_group import ComputeGroup, InstanceGroup
from .lifecycle import Lifecycle
from .provisioning import NodeProvisioningMode, NodeRecovery, SlurmConfigStrategy
from .storage import Mount, SharedStorage
from .topology import Topology

__all__ = ["AccountingSpec", "Claim", "ClusterSpec", "NetworkSpec", "SubnetSpec", "facts", "files_below"]


@dataclass(frozen=True)
class SubnetSpec:
    """A subnet, as far as it is known at synth."""

    name: str  # for messages
    zone: str | None = None
    cidr: str | None = None


@dataclass(frozen=True)
class Claim:
    """Addresses that somebody takes in any of these subnets."""

    user: str  # for messages
    subnets: tuple[SubnetSpec, ...]
    addresses: int


@dataclass(frozen=True)
class NetworkSpec:
    """Where the nodes sit, as far as it is known at synth."""

    subnets: tuple[SubnetSpec, ...]
    security_groups: tuple[str, ...]  # ids, of the cluster
    open_security_groups: tuple[str, ...]  # those that were brought, for the cluster or a group, and let everything out
    group_subnets: tuple[tuple[SubnetSpec, ...], ...]  # of each group; empty: the cluster's
    group_security_groups: tuple[tuple[str, ...], ...]  # ids, of each group; empty: the cluster's
    claims: tuple[Claim, ...] = ()  # of endpoints and of clusters made before in the same network
    new_file_systems: tuple[Claim, ...] = ()

    def subnets_of(self, index: int) -> tuple[SubnetSpec, ...]:
        """Those of the group at that place of the list."""
        return self.group_subnets[index] or self.subnets


@dataclass(frozen=True)
class AccountingSpec:
    """The accounting database, as CloudFormation gets it."""

    endpoint: str
    port: int
    database_name: str | None


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """A cluster as it was asked for."""

    groups: tuple[InstanceGroup, ...]
    cluster_name: str | None = None
    network: NetworkSpec
    shared_storage: tuple[SharedStorage, ...] = ()  # as it was asked for
    shared_mounts: tuple[Mount, ...] = ()  # what came of it
    mode: NodeProvisioningMode = NodeProvisioningMode.CONTINUOUS
    strategy: SlurmConfigStrategy | None = None
    recovery: NodeRecovery = NodeRecovery.AUTOMATIC
    accounting: AccountingSpec | None = None
    lifecycle: Lifecycle = Lifecycle()  # noqa: RUF009 - frozen: sharing it is safe
    lifecycle_files: tuple[str, ...] | None = None  # of its folder; None: there is no such folder
    brought_bucket_name: str | None = None
    topology: Topology = Topology()  # noqa: RUF009 - frozen: sharing it is safe
    slurm_version: str | None = None

    @property
    def compute_groups(self) -> tuple[ComputeGroup, ...]:
        return tuple(group for group in self.groups if isinstance(group, ComputeGroup))

    def mounts_of(self, group: InstanceGroup) -> Sequence[Mount]:
        return (*self.shared_mounts, *group.mounts)


def facts(group: InstanceGroup) -> InstanceType | None:
    """What the catalogue knows of a group's type."""
    return lookup(group.type_name)


def files_below(folder: Path | None) -> tuple[str, ...] | None:
    """Names of the files in ``folder``; None when it is no folder."""
    if folder is None or not folder.is_dir():
        return None
    return tuple(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()))
