"""What the agent's commands have in common."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from slurm_topology.agent.settings import DEFAULT_SETTINGS_FILE
from slurm_topology.agent.world import World, open_world
from slurm_topology.core.model import Severity

if TYPE_CHECKING:
    from slurm_topology.agent.record import PassRecord

__all__ = ["add_settings", "exit_code", "tell", "when", "world_of"]


def add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--settings",
        type=Path,
        default=DEFAULT_SETTINGS_FILE,
        metavar="FILE",
        help="the agent's settings (default: %(default)s)",
    )


def world_of(arguments: argparse.Namespace) -> World:
    return open_world(arguments.settings)


def tell(world: World, record: PassRecord) -> None:
    """Log one pass: its findings, then itself."""
    for finding in record.findings:
        world.log.finding(finding)
    world.log.event(
        "pass",
        Severity.ERROR if record.failed else Severity.INFO,
        action=record.action.value,
        reason=record.reason.value,
        seconds=record.seconds,
        nodes=record.nodes,
        unplaced=record.unplaced,
        reconfigure_seconds=record.reconfigure_seconds or None,
        released=",".join(record.released) or None,
        failed=record.failed or None,
        stage=record.stage or None,
        again_after_seconds=record.again_after_seconds,
    )


def exit_code(record: PassRecord | None) -> int:
    """0 all well or nothing to do · 1 error findings, nothing written · 3 the apply failed (and was undone)."""
    if record is None:
        return 0
    if record.failed:
        return 3
    return 1 if record.has_errors else 0


def when(seconds: float) -> str:
    """A time as people and logs write it, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
