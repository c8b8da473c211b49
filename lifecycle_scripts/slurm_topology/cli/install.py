"""slurm-topology install: put the agent on this controller, from the unpacked node bundle."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from slurm_topology.agent.daemon import find_daemon
from slurm_topology.agent.install import Installer
from slurm_topology.agent.role import is_controller, local_addresses
from slurm_topology.agent.world import World
from slurm_topology.agent.writable import conf_folders
from slurm_topology.cli._agent import add_settings, world_of
from slurm_topology.core import plan_document, read_resource_config
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import NodeRole

__all__ = ["add_arguments", "run"]

# How long HyperPod's file, this machine in it, or slurmctld may be late: nobody installs again later. Other nodes know
# at once what they are, so this holds up none of them, and on_init_complete.sh gives us 120 s.
UNDECIDED_SECONDS = 60.0

Value = TypeVar("Value")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument(
        "--bundle", type=Path, required=True, metavar="FOLDER", help="the unpacked node bundle (with agent.zip)"
    )
    parser.add_argument(
        "--prefix",
        type=Path,
        default=Path("/"),
        metavar="FOLDER",
        help="install below this folder, start nothing (default: /)",
    )
    parser.add_argument(
        "--if-controller", action="store_true", help="do nothing on a machine that isn't a Slurm controller"
    )


def run(arguments: argparse.Namespace) -> int:
    world = world_of(arguments)
    if arguments.if_controller:
        controller, why = _is_controller(world, arguments.bundle)
        if not controller:
            world.log.event("not-installed", why=why)
            return 0
        world.log.event("controller", why=why)
    installer = Installer(world.shell, world.files, arguments.prefix)
    settings = world.settings
    own = (str(settings.metrics_textfile.parent),) if settings.metrics_textfile else ()
    done = installer.install(arguments.bundle, (*conf_folders(world), *own))
    how = (
        "systemd starts it"
        if done.under_systemd
        else "systemd doesn't run here: one pass was started, nothing will start the next"
    )
    if arguments.prefix != Path("/"):
        how = "installed below a prefix: nothing was started"
    world.log.event("installed", folder=done.folder, changed=done.changed, how=how)
    return 0


def _is_controller(world: World, bundle: Path) -> tuple[bool, str]:
    """By what is known here, which may take a while.

    What is still unknown then counts as a controller if the plan has one: an agent on another machine stands by.
    """
    plan = _readable(lambda: plan_document.load(world.files.read_text(bundle / "topology_plan.json") or ""))
    end = world.clock.monotonic() + UNDECIDED_SECONDS
    while True:
        config = _readable(lambda: _config(world))
        daemon = find_daemon(world.files, world.shell, world.settings.slurmctld_unit, None)
        addresses = local_addresses(world.files.read_text(Path("/proc/net/fib_trie")) or "")
        controller, why = is_controller(addresses, config, plan, slurmctld_here=daemon is not None)
        if controller is not None:
            return controller, why
        if world.clock.monotonic() >= end:
            return plan is not None and any(group.role is NodeRole.CONTROLLER for group in plan.groups), why
        world.clock.sleep(1.0)


def _config(world: World) -> read_resource_config.ResourceConfig:
    return read_resource_config.read(json.loads(world.files.read_text(world.settings.resource_config) or ""))


def _readable(read: Callable[[], Value]) -> Value | None:
    """None for what isn't there or can't be used: the role may be known without it."""
    try:
        return read()
    except (InputError, ValueError, OSError):
        return None
