"""slurm-topology uninstall: take the agent away and put back what was there before it."""

from __future__ import annotations

import argparse
from pathlib import Path

from slurm_topology.agent.install import Installer
from slurm_topology.agent.undo import put_back_original
from slurm_topology.cli._agent import add_settings, world_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument(
        "--prefix", type=Path, default=Path("/"), metavar="FOLDER", help="where it was installed (default: /)"
    )
    parser.add_argument("--keep-topology", action="store_true", help="leave the topology in force as it is")


def run(arguments: argparse.Namespace) -> int:
    world = world_of(arguments)
    if not arguments.keep_topology:
        world.log.event("topology", result=put_back_original(world))
    Installer(world.shell, world.files, arguments.prefix).uninstall()
    world.log.event("uninstalled", state_kept_in=world.settings.state_folder)
    return 0
