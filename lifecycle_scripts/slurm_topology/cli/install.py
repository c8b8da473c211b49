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
from slurm_topology.cli._agent import add_settings, world_of
from slurm_topology.core import plan_document, read_resource_config
from slurm_topology.core.errors import InputError

__all__ = ["add_arguments", "run"]

# Slurm's configuration on HyperPod, and where packages have it: what the unit may write beside its own folders.
CONF_FOLDERS = ("/opt/slurm/etc", "/etc/slurm")
HALF_WRITTEN_SECONDS = 10.0  # how long HyperPod may take to write its file

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
    conf = (str(Path(settings.slurm_conf).parent),) if settings.slurm_conf else ()
    done = installer.install(arguments.bundle, (*CONF_FOLDERS, *own, *conf))
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
    """By what is known here; HyperPod's file may be half-written at this moment, so it is read again for a while."""
    daemon = find_daemon(world.files, world.shell, world.settings.slurmctld_unit, None)
    plan = _readable(lambda: plan_document.load(world.files.read_text(bundle / "topology_plan.json") or ""))
    end = world.clock.monotonic() + HALF_WRITTEN_SECONDS
    while True:
        config = _readable(lambda: _config(world))
        if config is not None or world.clock.monotonic() > end:
            break
        world.clock.sleep(1.0)
    addresses = local_addresses(world.files.read_text(Path("/proc/net/fib_trie")) or "")
    return is_controller(addresses, config, plan, slurmctld_here=daemon is not None)


def _config(world: World) -> read_resource_config.ResourceConfig:
    return read_resource_config.read(json.loads(world.files.read_text(world.settings.resource_config) or ""))


def _readable(read: Callable[[], Value]) -> Value | None:
    """None for what isn't there or can't be used: the role may be known without it."""
    try:
        return read()
    except (InputError, ValueError, OSError):
        return None
