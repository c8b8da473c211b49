"""How HyperPod provisions nodes, mends them, patches them and keeps slurm.conf."""

from __future__ import annotations

from enum import Enum

__all__ = ["NodeProvisioningMode", "NodeRecovery", "PatchingStrategy", "SlurmConfigStrategy"]


class NodeProvisioningMode(str, Enum):
    """SageMaker's ``NodeProvisioningMode``."""

    CONTINUOUS = "Continuous"
    """Nodes join as they come, failed ones are tried again, groups scale side by side, cluster events are sent."""

    STANDARD = "Standard"
    """A create or update is done when all its nodes are, or rolled back (the API leaves the mode out)."""


class NodeRecovery(str, Enum):
    """Whether HyperPod replaces or reboots faulty nodes by itself (SageMaker's ``ClusterNodeRecovery``)."""

    AUTOMATIC = "Automatic"
    NONE = "None"


class PatchingStrategy(str, Enum):
    """When HyperPod puts a security patch of its image on a group's instances (``ClusterPatchingStrategy``).

    It takes no new jobs to them meanwhile, and never interrupts a running one.
    """

    WHEN_IDLE = "WhenIdle"
    """Each instance as soon as it is idle."""

    WHEN_ALL_IDLE = "WhenAllIdle"
    """All of them, once all are idle."""


class SlurmConfigStrategy(str, Enum):
    """How HyperPod treats edits of the partitions in slurm.conf (SageMaker's ``ClusterSlurmConfigStrategy``)."""

    MANAGED = "Managed"
    """An edit of which node is in which partition makes the next update fail."""

    OVERWRITE = "Overwrite"
    """The next update overwrites edits."""

    MERGE = "Merge"
    """The next update keeps edits that do not contradict it."""
