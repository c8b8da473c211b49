"""The words of a decision. ``decide`` makes decisions; much else only reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from slurm_topology.agent.disk import DiskState
from slurm_topology.core.model import ClusterTopology, Finding

__all__ = ["Action", "Decision", "Reason"]


class Action(str, Enum):
    NOTHING = "nothing"
    PUBLISH = "publish"  # files, reconfigure, assignments
    RELOAD = "reload"  # the files are right, Slurm runs with others: reconfigure
    RESTORE_FILE = "restore-file"  # Slurm is right, the file isn't: the next start would go wrong
    ASSIGN = "assign"  # only the partitions' topologies
    RESCUE = "rescue"  # slurmctld is down because of the files: put some there that it takes


class Reason(str, Enum):
    """Why this action. docs/operations.md says for each what it means and what to do."""

    # nothing, because all is well
    IN_FORCE = "in-force"
    NOT_OURS = "not-ours"
    STANDBY = "standby"
    # nothing, because somebody said so
    PAUSED = "paused"
    OBSERVING = "observing"
    # nothing yet
    SLURM_DOWN = "slurm-down"
    NO_SLURM_CONF = "no-slurm-conf"
    NO_VERSION = "no-version"
    VERSION_CHANGING = "version-changing"
    NO_INPUT = "no-input"
    CHECK_FAILED = "check-failed"
    WAITING_FOR_PLACES = "waiting-for-places"
    OVERRIDES = "overrides"
    CONF_AHEAD = "conf-ahead"
    CONF_CHANGING = "conf-changing"
    YIELDING = "yielding"
    BACKING_OFF = "backing-off"
    CEILING = "ceiling"
    # something
    CHANGED = "changed"
    SEEDED = "seeded"
    REVERTED = "reverted"
    REPAIRED = "repaired"
    NOT_LOADED = "not-loaded"
    FILE_WRONG = "file-wrong"
    UNASSIGNED = "unassigned"
    DOWN_BY_TOPOLOGY = "down-by-topology"


@dataclass(frozen=True)
class Decision:
    """``again_after_seconds``: when to look again without a trigger; None: the timer is early enough."""

    action: Action
    reason: Reason
    target: DiskState | None = None
    topology: ClusterTopology | None = None  # what the target means
    assignments: dict[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    again_after_seconds: float | None = None
    goal: str = ""  # digest of what is aimed at: failures of the same are counted together
    reverted: bool = False  # what it replaces is another writer's work on what was ours
