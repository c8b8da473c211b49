"""What a decision depends on: the whole of it, and the part of it in which something is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from slurm_topology.agent.compute import Wanted
from slurm_topology.agent.observation import Observation
from slurm_topology.agent.picture import Picture
from slurm_topology.agent.rehearse import Rehearsal
from slurm_topology.agent.settings import Mode, Settings
from slurm_topology.agent.state import AgentState, Pause

__all__ = ["Compared", "Situation"]


@dataclass(frozen=True)
class Situation:
    """Everything a decision depends on."""

    seen: Observation
    wanted: Wanted | None  # None: nothing could be computed
    seed: Wanted | None  # in first boot, as long as places are unknown: what to publish meanwhile, if need be
    picture: Picture | None  # how wanted, disk and Slurm compare; None without wanted
    disk_verdict: Rehearsal | None  # only asked for when slurmctld is down
    state: AgentState
    pause: Pause | None
    settings: Settings
    mode: Mode


class Compared(NamedTuple):
    """A situation in which something is wanted and could be compared."""

    seen: Observation
    wanted: Wanted
    seed: Wanted | None
    picture: Picture
    state: AgentState
    settings: Settings
    mode: Mode
