"""What is known about nodes and jobs at one moment, beside the topology: the material of pictures and explanations.

Times are texts as Slurm prints them (``2026-12-01T06:30:57``, one time zone a snapshot), so that they compare as texts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ..model import ClusterTopology, Finding, Partition

__all__ = [
    "FREE_STATES",
    "OUT_OF_SERVICE_STATES",
    "Job",
    "JobPhase",
    "NodeFacts",
    "NodeState",
    "Snapshot",
    "node_state",
]


class NodeState(str, Enum):
    """What a node can be used for, folded from Slurm's base state and flags."""

    IDLE = "idle"
    PLANNED = "planned"  # idle, and kept by the backfill scheduler for a job to come
    MIXED = "mixed"  # a part of it is allocated
    ALLOCATED = "allocated"
    RESERVED = "reserved"  # a reservation or maintenance holds it
    DRAINING = "draining"  # its job may end, no other begins
    DRAINED = "drained"
    DOWN = "down"
    OFF = "off"  # going down for power saving, or not there yet (FUTURE)
    UNKNOWN = "unknown"


FREE_STATES = frozenset({NodeState.IDLE, NodeState.PLANNED})
OUT_OF_SERVICE_STATES = frozenset({NodeState.DRAINING, NodeState.DRAINED, NodeState.DOWN, NodeState.OFF})

_DOWN_FLAGS = frozenset({"DOWN", "ERROR", "FAIL", "NOT_RESPONDING", "INVALID_REG"})
_OFF_FLAGS = frozenset({"POWER_DOWN", "POWERING_DOWN", "FUTURE"})
_BUSY_FLAGS = frozenset({"ALLOCATED", "MIXED", "COMPLETING"})
_HELD_FLAGS = frozenset({"RESERVED", "MAINTENANCE", "MAINT", "REBOOT_ISSUED", "BLOCKED"})


def node_state(words: Collection[str]) -> NodeState:
    """Fold Slurm's state words (``["IDLE", "CLOUD", "DRAIN"]``; ``DOWN*`` = not responding) into one state.

    What keeps a node from being used wins over what it is doing. POWERED_DOWN alone is idle: Slurm wakes such a node
    for a job.
    """
    flags = {word.rstrip("*~#!%$@^-").upper() for word in words}
    if "POWERING_UP" in flags:  # for a job that has it already; it can't respond yet
        flags.discard("NOT_RESPONDING")
    elif any(word.endswith("*") for word in words):
        flags.add("NOT_RESPONDING")
    if flags & _DOWN_FLAGS:
        return NodeState.DOWN
    if "DRAIN" in flags or "DRAINED" in flags or "DRAINING" in flags:
        return NodeState.DRAINING if flags & _BUSY_FLAGS else NodeState.DRAINED
    if flags & _OFF_FLAGS:
        return NodeState.OFF
    if "MIXED" in flags:
        return NodeState.MIXED
    if flags & _BUSY_FLAGS:
        return NodeState.ALLOCATED
    if flags & _HELD_FLAGS:
        return NodeState.RESERVED
    if "PLANNED" in flags:
        return NodeState.PLANNED
    return NodeState.IDLE if "IDLE" in flags else NodeState.UNKNOWN


class NodeFacts(NamedTuple):
    """One node; unknown parts are None or empty."""

    name: str
    state: NodeState = NodeState.UNKNOWN
    instance_type: str | None = None
    instance_id: str | None = None
    group: str | None = None
    zone: str | None = None
    ultraserver_id: str | None = None
    partitions: tuple[str, ...] = ()
    reason: str | None = None  # why it is drained or down, in an administrator's words
    reason_since: str | None = None
    network_path: tuple[str, ...] = ()  # network nodes, top → leaf


class JobPhase(str, Enum):
    """The three lives of a job that matter here."""

    PENDING = "pending"
    RUNNING = "running"  # it holds nodes: running, configuring, completing, suspended
    ENDED = "ended"


class Job(NamedTuple):
    """A job as ``scontrol show jobs`` tells it."""

    id: str  # "42", or "40_2" for a task of an array
    number: str  # Slurm's own JobId of it
    name: str = ""
    user: str = ""
    partitions: tuple[str, ...] = ()
    phase: JobPhase = JobPhase.RUNNING
    state: str = ""  # Slurm's word: RUNNING, PENDING, …
    reason: str = ""  # Slurm's word for why it is pending
    nodes: tuple[str, ...] = ()  # allocated now, or until it ended
    node_count: int = 0  # wanted (the least it takes), or held
    submitted: str | None = None
    started: str | None = None  # for a pending job: when Slurm expects it to start
    ended: str | None = None
    required_nodes: tuple[str, ...] = ()
    excluded_nodes: tuple[str, ...] = ()
    features: str | None = None
    switches: int | None = None  # --switches=N: at most so many leaf switches …
    switches_wait: str | None = None  # … for so long (HH:MM:SS)
    segment: int | None = None  # --segment=N; Slurm 24.11 doesn't tell it
    exclusive_topology: bool = False  # --exclusive=topo


@dataclass(frozen=True)
class Snapshot:
    """A cluster at one moment."""

    topology: ClusterTopology = field(default_factory=ClusterTopology)
    nodes: Mapping[str, NodeFacts] = field(default_factory=dict)  # every node of Slurm, by name
    jobs: tuple[Job, ...] = ()
    partitions: tuple[Partition, ...] = ()
    findings: tuple[Finding, ...] = ()
    cluster: str | None = None
    slurm_version: str | None = None
    taken: str | None = None  # when, for people
    source: str = ""  # what it was read from, for people
