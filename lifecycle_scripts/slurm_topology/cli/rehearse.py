"""slurm-topology rehearse FILE: would the live slurmctld start with this file? Nothing that runs is touched."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from slurm_topology.agent.disk import CONF, YAML, DiskState, flat_like
from slurm_topology.agent.observation import Observation
from slurm_topology.agent.observe import Observer
from slurm_topology.agent.rehearse import Verdict
from slurm_topology.agent.world import World
from slurm_topology.cli._agent import add_settings, world_of
from slurm_topology.core.errors import InputError

__all__ = ["add_arguments", "run"]

LINE = re.compile(r"^\s*(SwitchName|BlockName)\s*=", re.IGNORECASE | re.MULTILINE)
PLUGINS = {"switchname": "topology/tree", "blockname": "topology/block"}
EXIT = {Verdict.STARTS: 0, Verdict.REFUSED: 1, Verdict.UNKNOWN: 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a topology.conf or topology.yaml")
    parser.add_argument("--on-disk", action="store_true", help="rehearse what is in Slurm's folder now")
    parser.add_argument("--as", dest="name", choices=(CONF, YAML), help="what the file is, when its name doesn't tell")
    parser.add_argument("--plugin", help="TopologyPlugin to go with it (default: by its lines)")


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
    disk = seen.disk if arguments.on_disk else _with_file(arguments, world, seen)
    rehearsal = world.rehearser.rehearse(disk, seen.conf, seen.slurmctld)
    for reason in rehearsal.reasons:
        print(f"{rehearsal.verdict.value}: {reason}")
    for note in rehearsal.notes:
        print(f"note: {note}")
    what = arguments.file or f"what is beside {seen.conf.path}"
    print(f"slurmctld {seen.version} {_words(rehearsal.verdict)} with {what}")
    return EXIT[rehearsal.verdict]


def _with_file(arguments: argparse.Namespace, world: World, seen: Observation) -> DiskState:
    """The configuration folder with this file as its only topology file.

    Raises InputError, also when slurmctld wouldn't read the file: then it would start, whatever is in it.
    """
    file: Path = arguments.file
    text = world.files.read_text(file)
    if text is None:
        raise InputError(f"{file} isn't there: expected a topology file")
    name = arguments.name or (YAML if file.suffix in (".yaml", ".yml") else CONF)
    if name == YAML:
        if seen.version is None or not seen.version.has_topology_yaml:
            raise InputError(f"slurmctld {seen.version} doesn't read a topology.yaml (25.05 and newer do)")
        return DiskState(yaml=text, plugin=arguments.plugin or seen.disk.plugin)
    plugin = arguments.plugin or _plugin_of(text, file, seen.disk.plugin)
    if flat_like(plugin):
        raise InputError(
            f"with TopologyPlugin={plugin} slurmctld doesn't read a topology.conf: expected another --plugin"
        )
    if plugin != seen.disk.plugin:
        print(f"note: tried with TopologyPlugin={plugin}; slurm.conf has {seen.disk.plugin or 'none'}")
    return DiskState(conf=text, plugin=plugin)


def _plugin_of(text: str, file: Path, configured: str | None) -> str:
    """The plugin that reads such lines. slurm.conf's own only where the lines don't tell."""
    found = {PLUGINS[key.lower()] for key in LINE.findall(text)}
    if len(found) == 1:
        return found.pop()
    if configured is not None and not flat_like(configured):
        return configured
    lines = "both SwitchName and BlockName lines" if found else "neither SwitchName nor BlockName lines"
    raise InputError(f"{file} has {lines}: expected a topology.conf; --plugin says who is to read it, --as what it is")


def _words(verdict: Verdict) -> str:
    return {Verdict.STARTS: "starts", Verdict.REFUSED: "would not start", Verdict.UNKNOWN: "could not be tried"}[
        verdict
    ]
