"""One check of the doctor, and what checks look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from slurm_topology.agent.rehearse import Rehearsal
from slurm_topology.agent.situation import Situation
from slurm_topology.core.explain import Context

__all__ = ["Check", "Examined", "Grade"]


class Grade(str, Enum):
    """How a check came out."""

    OK = "ok"
    WARNING = "warning"  # it works, but not as well as it could, or not for long
    ERROR = "error"  # jobs or the next start of slurmctld suffer
    UNKNOWN = "unknown"  # it could not be looked at


class Check(NamedTuple):
    """One check. ``remedy``: a command, or what to do; empty when all is well."""

    id: str
    title: str
    grade: Grade
    evidence: str
    remedy: str = ""


@dataclass(frozen=True)
class Examined:
    """All that was looked at. ``context`` is None when Slurm doesn't answer."""

    situation: Situation
    rehearsal: Rehearsal | None  # of what is on disk now
    units: Mapping[str, str]  # systemd unit of the agent → its state; empty where systemd doesn't run
    context: Context | None
