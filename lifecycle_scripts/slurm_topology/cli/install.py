"""slurm-topology install: put the agent on this controller, from the unpacked node bundle."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from slurm_topology.agent.daemon import find_daemon
from slurm_topology.agent.install import Installer
from slurm_topology.agent.role import is_controller
from slurm_topology.agent.world import World
from slurm_topology.cli._agent import add_settings, world_of
from slurm_topology.core import plan_document, read_resource_config
from slurm_topology.core.errors import CommandError, InputError

__all__ = ["add_arguments", "run"]

# Slurm's configuration on HyperPod, and where packages have it: what the unit may write beside its own folders.
CONF_FOLDERS = ("/opt/slurm/etc", "/etc/slurm")
SECONDS = 10.0


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
    config_text = world.files.read_text(world.settings.resource_config)
    plan_text = world.files.read_text(bundle / "topology_plan.json")
    try:
        config = read_resource_config.read(json.loads(config_text)) if config_text is not None else None
        plan = plan_document.load(plan_text) if plan_text is not None else None
    except ValueError as error:
        raise InputError(f"{world.settings.resource_config} is not JSON: {error}") from error
    daemon = find_daemon(world.files, world.shell, world.settings.slurmctld_unit, None)
    return is_controller(_addresses(world), config, plan, slurmctld_here=daemon is not None)


def _addresses(world: World) -> list[str]:
    """This machine's addresses."""
    try:
        return world.shell.check(["hostname", "--all-ip-addresses"], timeout=SECONDS).split()
    except CommandError:
        return []
