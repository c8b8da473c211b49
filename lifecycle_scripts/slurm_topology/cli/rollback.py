"""slurm-topology rollback N: put a topology of the history in force again, and pause the agent."""

from __future__ import annotations

import argparse

from slurm_topology.agent.undo import roll_back
from slurm_topology.cli._agent import add_settings, world_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument(
        "number", type=int, metavar="N", help="number of the entry, as `slurm-topology history` prints it"
    )


def run(arguments: argparse.Namespace) -> int:
    world = world_of(arguments)
    done = roll_back(world, arguments.number)
    for finding in done.findings:
        world.log.finding(finding)
    print(f"{done.result}; the agent is paused (`slurm-topology resume` lets it go on)")
    return 0
