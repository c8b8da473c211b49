"""The command line's root: one module in this package per command, imported only when it is asked for.

Exit codes, the same for every command: 0 done or clean · 1 findings of severity error, nothing written (diff: the files
differ in meaning) · 2 unusable input or arguments · 3 the system around it failed (Slurm, AWS, the disk) · 141 nobody
reads the output (__main__.py).
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from slurm_topology import __version__
from slurm_topology.core.errors import InputError, SlurmTopologyError

__all__ = ["COMMANDS", "make_parser", "run"]

# command → one line of help. The module cli/<command>.py has `add_arguments(parser)` and `run(arguments) -> int`.
COMMANDS: dict[str, str] = {
    "plan": "say which topology each partition will get, and why",
    "render": "write topology.conf or topology.yaml from placement files",
    "check": "say what slurmctld would refuse, or silently mangle, in a topology file",
    "diff": "say what changed from one topology file to another",
    "show": "show the topology in force, as text, JSON, SVG, HTML, DOT or Mermaid",
    "explain": "say how well a job is placed, or why it waits, and how scattered the free nodes are",
    "simulate": "compare how jobs would be placed without topology, in a tree, in blocks",
    "doctor": "say what is wrong on this controller, with evidence and the command that mends it",
    "status": "show what the agent does, has done and would do",
    "reconcile": "run one pass of the agent: look, compare, put right",
    "notify": "tell the agent on this machine to look now",
    "history": "list the topologies that were put in force",
    "rollback": "put a topology of the history in force again, and pause the agent",
    "pause": "let the agent look and report, and write nothing",
    "resume": "end a pause",
    "rehearse": "say whether the live slurmctld would start with a topology file",
    "install": "put the agent on this controller",
    "uninstall": "take the agent away and put back what was there before",
}


def make_parser(wanted: str | None) -> argparse.ArgumentParser:
    """The parser of all commands; only the wanted one's module is imported, and has its arguments."""
    parser = argparse.ArgumentParser(prog="slurm-topology", description="Network topology of a HyperPod Slurm cluster.")
    parser.add_argument("--version", action="version", version=f"slurm-topology {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        subparser = commands.add_parser(name, help=summary, description=summary.capitalize() + ".")
        if name == wanted:
            importlib.import_module(f"slurm_topology.cli.{name}").add_arguments(subparser)
    return parser


def run(argv: Sequence[str]) -> int:
    """Parse ``argv`` (without the program's name), run the command, return its exit code."""
    arguments = make_parser(next((word for word in argv if not word.startswith("-")), None)).parse_args(argv)
    module = importlib.import_module(f"slurm_topology.cli.{arguments.command}")
    try:
        return int(module.run(arguments))
    except InputError as error:
        print(f"slurm-topology: {error}", file=sys.stderr)
        return 2
    except SlurmTopologyError as error:
        print(f"slurm-topology: {error}", file=sys.stderr)
        return 3
