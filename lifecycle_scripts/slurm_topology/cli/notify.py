"""slurm-topology notify: tell the agent on this machine to look now. For lifecycle scripts and Slurm's triggers."""

from __future__ import annotations

import argparse

from slurm_topology.agent.missed import request_if_missed
from slurm_topology.cli._agent import add_settings, world_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument(
        "names", nargs="*", metavar="NODE", help="ignored: strigger names the nodes, and the agent looks at all of them"
    )

    parser.add_argument(
        "--if-missed",
        action="store_true",
        help="only when something has changed since the agent looked last (systemd runs this after each pass)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Touch the request mark. systemd's path unit starts a pass; a pass that runs sees it at its end."""
    world = world_of(arguments)
    if arguments.if_missed:
        request_if_missed(world)
    else:
        world.request()
    return 0
