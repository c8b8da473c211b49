"""slurm-topology pause: the agent goes on looking and reporting, and writes nothing."""

from __future__ import annotations

import argparse

from slurm_topology.agent.state import Pause
from slurm_topology.cli._agent import add_settings, world_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument("reason", nargs="?", default="", help="why, for `status` and the log")


def run(arguments: argparse.Namespace) -> int:
    world = world_of(arguments)
    world.store().save_pause(Pause(world.clock.now(), arguments.reason))
    print("paused; `slurm-topology resume` ends it")
    return 0
