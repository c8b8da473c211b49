"""What one look at the world saw. Frozen: deciding gets this and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from slurm_topology.agent.disk import DiskState
from slurm_topology.agent.files import Signature
from slurm_topology.agent.slurm import PendingJob
from slurm_topology.agent.slurm_conf import SlurmConf
from slurm_topology.core.model import ClusterTopology, Finding, Partition
from slurm_topology.core.read_cluster_nodes import ClusterNodes
from slurm_topology.core.read_instance_topology import InstanceTopology
from slurm_topology.core.read_resource_config import ResourceConfig
from slurm_topology.core.read_scontrol import SlurmNode
from slurm_topology.core.slurm_version import SlurmVersion

if TYPE_CHECKING:
    from slurm_topology.core.plan_document import PlanDocument

__all__ = ["Daemon", "Observation", "Role", "SlurmView"]


class Role(str, Enum):
    """What this machine's slurmctld is at the moment, by `scontrol ping`."""

    ACTIVE = "active"
    STANDBY = "standby"  # another controller answers for the cluster: only that one's agent may act
    DOWN = "down"  # no controller answers


class Daemon(NamedTuple):
    """The slurmctld process of this machine."""

    pid: int
    arguments: tuple[str, ...]
    binary: str  # what a reconfigure would execute

    @property
    def foreground(self) -> bool:
        """Started with -D: a refused reconfigure kills it then, after scontrol has said 0."""
        letters = (word for word in self.arguments[1:] if word.startswith("-") and not word.startswith("--"))
        return any("D" in word.partition("=")[0] for word in letters if word[:2] not in ("-f", "-L", "-n"))


@dataclass(frozen=True)
class SlurmView:
    """What a slurmctld that answers says."""

    version: SlurmVersion
    plugin: str  # TopologyPlugin in force
    slurm_user: str
    log_file: str | None
    nodes: tuple[SlurmNode, ...]
    partitions: tuple[Partition, ...]  # `topology` is the live value
    in_force: ClusterTopology
    in_force_digest: str  # of Slurm's own words
    jobs: tuple[PendingJob, ...]


@dataclass(frozen=True)
class Observation:
    """One look. What couldn't be seen is None and a finding."""

    now: float
    role: Role
    active_host: str
    daemon: Daemon | None
    conf: SlurmConf | None
    disk: DiskState
    version: SlurmVersion | None  # of the slurmctld that answers, else of the one that would start
    next_version: SlurmVersion | None  # of the one that a reconfigure or a start would execute
    slurmctld: str  # path or name of that binary
    slurm: SlurmView | None
    resource_config: ResourceConfig | None
    plan: PlanDocument | None
    manager_active: bool  # HyperPod's own writer of topology files runs on this machine
    cluster_nodes: ClusterNodes | None = None  # what SageMaker has said about the instances, in this pass or before
    instance_topology: InstanceTopology | None = None  # likewise EC2, about those that nobody else places
    findings: tuple[Finding, ...] = field(default=())
    # what slurm.conf and all that it includes were right before they were read
    conf_signatures: Mapping[str, Signature | None] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()  # topology files that SlurmUser can't read, in words: slurmctld dies of them
    controller_rank: int = 0  # this machine's place among slurm.conf's controllers; 0 for the first, and when unknown

    @property
    def conf_age_seconds(self) -> float | None:
        """Since slurm.conf was changed last; None when nothing can be said (no file, a clock that jumped back)."""
        changed = max((each.modified_ns / 1e9 for each in self.conf_signatures.values() if each), default=self.now + 1)
        return self.now - changed if changed <= self.now else None
