"""slurm-topology uninstall: take the agent away and put back what was there before it."""

from __future__ import annotations

import argparse
from pathlib import Path

from slurm_topology.agent.install import Installer
from slurm_topology.agent.triggers import NOTIFIER
from slurm_topology.agent.undo import end_interrupted, put_back_original
from slurm_topology.agent.world import World
from slurm_topology.cli._agent import add_settings, world_of
from slurm_topology.core.errors import ApplyError, CommandError, InputError, SlurmTopologyError
from slurm_topology.core.model import Severity

__all__ = ["add_arguments", "run"]

KEEP = "takes it away and leaves the topology as it is"


def _clear_triggers(world: World) -> None:
    """A Slurm that isn't there has no triggers of ours either."""
    try:
        user = world.slurm.config().get("SlurmUser", "root") if any(line.up for line in world.slurm.ping()) else ""
        if user:
            world.slurm.clear_triggers(NOTIFIER, user)
    except CommandError as error:
        world.log.event("triggers-not-cleared", Severity.WARNING, why=error)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument(
        "--prefix", type=Path, default=Path("/"), metavar="FOLDER", help="where it was installed (default: /)"
    )
    parser.add_argument("--keep-topology", action="store_true", help="leave the topology in force as it is")


def run(arguments: argparse.Namespace) -> int:
    world = world_of(arguments)
    installer = Installer(world.shell, world.files, arguments.prefix)
    stopped = installer.stop()
    try:
        done = end_interrupted(world) if arguments.keep_topology else put_back_original(world)
    except (SlurmTopologyError, OSError) as error:
        if stopped:
            installer.start()  # still here, so it goes on: nothing is worse than a topology that nobody keeps right
        if arguments.keep_topology:
            raise
        message = f"{error}. The agent stays. `slurm-topology uninstall --keep-topology` {KEEP}"
        stage = getattr(error, "stage", "uninstall")
        raise (InputError(message) if isinstance(error, InputError) else ApplyError(message, stage)) from error
    world.log.event("topology", result=done.result)
    for finding in done.findings:
        world.log.finding(finding)
    _clear_triggers(world)
    installer.remove()
    world.log.event("uninstalled", state_kept_in=world.settings.state_folder)
    return 0
