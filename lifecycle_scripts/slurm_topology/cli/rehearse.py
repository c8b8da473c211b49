"""slurm-topology rehearse FILE: would the live slurmctld start with this file? Nothing that runs is touched."""

from __future__ import annotations

import argparse
from pathlib import Path

from slurm_topology.agent.disk import CONF, YAML, DiskState
from slurm_topology.agent.observe import Observer
from slurm_topology.agent.rehearse import Verdict
from slurm_topology.agent.world import World
from slurm_topology.cli._agent import add_settings, world_of
from slurm_topology.core.errors import InputError

__all__ = ["add_arguments", "run"]

EXIT = {Verdict.STARTS: 0, Verdict.REFUSED: 1, Verdict.UNKNOWN: 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a topology.conf or topology.yaml")
    parser.add_argument("--on-disk", action="store_true", help="rehearse what is in Slurm's folder now")
    parser.add_argument("--as", dest="name", choices=(CONF, YAML), help="what the file is, when its name doesn't tell")
    parser.add_argument("--plugin", help="TopologyPlugin to go with it (default: slurm.conf's)")


def run(arguments: argparse.Namespace) -> int:
    if (arguments.file is None) != arguments.on_disk:
        raise InputError("expected a FILE, or --on-disk")
    world = world_of(arguments)
    known = world.store().load_state().conf_path
    seen = Observer(world.shell, world.files, world.slurm, world.settings, known, world.host_name).look(
        world.clock.now()
    )
    if seen.conf is None:
        raise InputError("no slurm.conf was found: set slurm_conf in agent.json")
    disk = seen.disk if arguments.on_disk else _with_file(arguments, world, seen.disk)
    rehearsal = world.rehearser.rehearse(disk, seen.conf, seen.slurmctld)
    for reason in rehearsal.reasons:
        print(f"{rehearsal.verdict.value}: {reason}")
    for note in rehearsal.notes:
        print(f"note: {note}")
    what = arguments.file or f"what is beside {seen.conf.path}"
    print(f"slurmctld {seen.version} {_words(rehearsal.verdict)} with {what}")
    return EXIT[rehearsal.verdict]


def _with_file(arguments: argparse.Namespace, world: World, disk: DiskState) -> DiskState:
    """The configuration folder with this file as its only topology file. Raises InputError."""
    text = world.files.read_text(arguments.file)
    if text is None:
        raise InputError(f"{arguments.file} isn't there: expected a topology file")
    name = arguments.name or (YAML if arguments.file.suffix in (".yaml", ".yml") else CONF)
    plugin = arguments.plugin or disk.plugin
    return DiskState(yaml=text, plugin=plugin) if name == YAML else DiskState(conf=text, plugin=plugin)


def _words(verdict: Verdict) -> str:
    return {Verdict.STARTS: "starts", Verdict.REFUSED: "would not start", Verdict.UNKNOWN: "could not be tried"}[
        verdict
    ]
