"""slurm-topology history: the topologies that were put in force, newest first."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from slurm_topology.cli._agent import add_settings, when, world_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument("number", nargs="?", type=int, metavar="N", help="print this entry's file instead of the list")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    history = world_of(arguments).history
    if arguments.number is not None:
        entry = history.entry(arguments.number)
        print(json.dumps(asdict(entry), indent=1, sort_keys=True) if arguments.json else _files(entry.disk), end="")
        return 0
    entries = list(history.entries())
    if arguments.json:
        print(json.dumps([asdict(entry) for entry in entries], indent=1, sort_keys=True))
        return 0
    for entry in entries:
        print(f"{entry.number:>6}  {when(entry.at)}  Slurm {entry.slurm_version}  {entry.reason}: {entry.summary}")
    if not entries:
        print("nothing was put in force yet")
    return 0


def _files(disk: dict[str, str | None]) -> str:
    return "".join(
        f"# {name}\n{text}" for name, text in sorted(disk.items()) if text is not None and name.startswith("topology")
    )
