"""Reference pages that the code itself knows best: commands and their options, the doctor's checks, metrics."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lifecycle_scripts"))

from slurm_topology.agent.metrics import COUNTERS, GAUGES
from slurm_topology.cli._check_rules import RULES
from slurm_topology.cli.main import COMMANDS
from slurm_topology.core.metric_names import DIMENSION, METRICS, NAMESPACE

REFERENCE = Path(__file__).parent / "reference"
GENERATED = "<!-- made by docs/make_commands.py: change the code, then `make docs` -->\n"
EXIT_CODES = """\
| exit code | meaning |
| --- | --- |
| 0 | done, or clean |
| 1 | findings of severity error; nothing was written |
| 2 | input or arguments that can't be used |
| 3 | the system around it failed: Slurm, AWS, the disk |
| 141 | nobody reads the output any more, as in `… \\| head -1` |
"""


def parser_of(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"slurm-topology {command}", add_help=False)
    importlib.import_module(f"slurm_topology.cli.{command}").add_arguments(parser)
    return parser


def commands() -> Iterator[str]:
    yield f"{GENERATED}# Commands\n"
    yield "`slurm-topology`, or `python3 -m slurm_topology`. Each command also has `--help`.\n"
    yield EXIT_CODES
    for command, summary in COMMANDS.items():
        yield f"## {command}\n\n{summary[0].upper()}{summary[1:]}.\n"
        actions = parser_of(command)._actions
        if actions:
            yield "\n".join(["| argument | meaning |", "| --- | --- |", *map(argument, actions)]) + "\n"


def argument(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    shown = ", ".join(action.option_strings) or str(value)
    if action.option_strings and action.nargs != 0:
        shown += f" {value}"
    meaning = (action.help or "") % {"default": action.default, "prog": "slurm-topology"}
    return f"| `{cell(shown)}` | {cell(meaning)} |"


def cell(text: str) -> str:
    """Text for a cell of a table: bars end cells, braces would be taken for attributes."""
    return text.replace("|", "\\|").replace("\n", " ").replace("{", "&#123;")


def metrics() -> Iterator[str]:
    yield f"{GENERATED}# Metrics\n"
    yield f"## CloudWatch\n\nNamespace `{NAMESPACE}`, dimension `{DIMENSION}`; sent with the instance role.\n"
    rows = [f"| `{metric.name}` | {metric.unit} | {cell(metric.meaning)} |" for metric in METRICS]
    yield "\n".join(["| metric | unit | meaning |", "| --- | --- | --- |", *rows]) + "\n"
    yield "## Prometheus\n\nA text file for node_exporter's textfile collector (`metrics_textfile` in `agent.json`).\n"
    rows = [f"| `slurm_topology_{name}_total` | {cell(meaning)} |" for name, meaning in COUNTERS.items()]
    rows += [f"| `slurm_topology_{name}` | {cell(meaning)} |" for name, meaning in GAUGES.items()]
    yield "\n".join(["| counter (`_total`) or gauge | meaning |", "| --- | --- |", *rows]) + "\n"


def write(name: str, pieces: Iterator[str]) -> None:
    REFERENCE.mkdir(exist_ok=True)
    (REFERENCE / name).write_text("\n".join(pieces))
    print(f"docs/reference/{name}")


def doctor_ids() -> list[str]:
    """The ids that docs/reference/doctor.md has to explain."""
    return [id_ for id_, _, _ in RULES]


if __name__ == "__main__":
    write("commands.md", commands())
    write("metrics.md", metrics())
