"""A world without Slurm and without AWS: the agent's real files in a folder of the test's."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from agent.agent_lab import Member, resource_config
from slurm_topology.agent.clock import Clock
from slurm_topology.agent.decision import Action, Reason
from slurm_topology.agent.files import Files
from slurm_topology.agent.log import Log
from slurm_topology.agent.record import PassRecord
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.shell import Shell
from slurm_topology.agent.world import World

__all__ = ["SettableClock", "make_world", "record", "write_members"]


class SettableClock(Clock):
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def now(self) -> float:
        return self.time


def make_world(folder: Path, **settings: Any) -> tuple[World, io.StringIO]:
    """The world, and what it logs."""
    log = io.StringIO()
    chosen = Settings(
        resource_config=folder / "resource_config.json",
        plan=folder / "state" / "topology_plan.json",
        state_folder=folder / "state",
        run_folder=folder / "run",
        metrics_textfile=folder / "metrics" / "agent.prom",
    )
    values = {**chosen.__dict__, **settings}
    return World(Shell(), Files(), SettableClock(), Log(log), Settings(**values), "controller-1"), log


def write_members(world: World, members: list[Member], types: dict[str, str] | None = None) -> None:
    """HyperPod's file."""
    world.settings.resource_config.write_text(json.dumps(resource_config(members, types)))


def record(reason: Reason = Reason.IN_FORCE, action: Action = Action.NOTHING, **values: Any) -> PassRecord:
    """A pass that has just ended."""
    return PassRecord(at=1_000_000.0, seconds=0.1, action=action, reason=reason, **values)
