"""slurm-topology rehearse FILE: would the live slurmctld start with this file? Nothing that runs is touched."""

from __future__ import annotations

import argparse
from pathlib import Path

from slurm_topology.agent.disk import CONF, YAML, DiskState
from slurm_topology.agent.observe import Observer
from slurm_topology.agent.rehearse import Verdict
from slurm_topology.cli._agent import add_settings, world_of
from slurm_topology.core.errors import InputError

__all__ = ["add_arguments", "run"]

EXIT = {Verdict.STARTS: 0, Verdict.REFUSED: 1, Verdict.UNKNOWN: 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="a topology.conf or topology.yaml")
    parser.add_argument("--as", dest="name", choices=(CONF, YAML), help="what the file is, when its name doesn't tell")
    parser.add_argument("--plugin", help="TopologyPlugin to go with it (default: slurm.conf's)")


def run(arguments: argparse.Namespace) -> int:
    world = world_of(arguments)
    text = world.files.read_text(arguments.file)
    if text is None:
        raise InputError(f"{arguments.file} isn't there: expected a topology file")
    name = arguments.name or (YAML if arguments.file.suffix in (".yaml", ".yml") else CONF)
    known = world.store().load_state().conf_path
    seen = Observer(world.shell, world.files, world.slurm, world.settings, known, world.host_name).look(
        world.clock.now()
    )
    if seen.conf is None:
        raise InputError("no slurm.conf was found: set slurm_conf in agent.json")
    plugin = arguments.plugin or seen.disk.plugin
    disk = DiskState(yaml=text, plugin=plugin) if name == YAML else DiskState(conf=text, plugin=plugin)
    rehearsal = world.rehearser.rehearse(disk, seen.conf, seen.slurmctld)
    for reason in rehearsal.reasons:
        print(f"{rehearsal.verdict.value}: {reason}")
    for note in rehearsal.notes:
        print(f"note: {note}")
    print(f"slurmctld {seen.version} {_words(rehearsal.verdict)} with {arguments.file}")
    return EXIT[rehearsal.verdict]


def _words(verdict: Verdict) -> str:
    return {Verdict.STARTS: "starts", Verdict.REFUSED: "would not start", Verdict.UNKNOWN: "could not be tried"}[
        verdict
    ]
