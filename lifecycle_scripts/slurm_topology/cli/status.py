"""slurm-topology status: the agent on one screen."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from slurm_topology.agent.status import Status, look
from slurm_topology.cli._agent import add_settings, when, world_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    status = look(world_of(arguments))
    if arguments.json:
        print(json.dumps(status.as_json(), indent=1, sort_keys=True))
    else:
        print(as_text(status))
    return 0


def as_text(status: Status) -> str:
    lines = [
        (
            "mode",
            status.mode + (f", paused since {when(status.pause.since)}: {status.pause.reason}" if status.pause else ""),
        ),
        ("slurmctld", status.slurm),
        ("would do", f"{status.action} ({status.reason})"),
        ("in force", status.in_force),
        ("files", status.files),
        ("written", "\n           ".join(_written(status)) or "nothing is there"),
        ("yielding", f"until {when(status.yield_until)}" if status.yield_until else "no"),
        ("next look", status.next_look),
    ]
    text = "\n".join(f"{name:<10} {value}" for name, value in lines)
    findings = "\n".join(
        f"  {each.id} {each.severity.value}: {each.message}" + (f" → {each.remedy}" if each.remedy else "")
        for each in status.findings
    )
    passes = "\n".join(map(_pass, reversed(status.passes)))
    return f"{text}\nfindings\n{findings or '  none'}\nlast passes\n{passes or '  none yet'}"


def _written(status: Status) -> Iterator[str]:
    other = "another writer" + (" (HyperPod's topology manager runs here)" if status.manager_active else "")
    for each in status.written:
        said = f"{each.what} by {'the agent' if each.by_agent else other}"
        yield said if each.at is None else f"{said}, {when(each.at)}"


def _pass(each: dict[str, Any]) -> str:
    failed = f"  FAILED: {each['failed']}" if each["failed"] else ""
    return f"  {when(each['at'])}  {each['seconds']:>7.2f} s  {each['action']} ({each['reason']}){failed}"
