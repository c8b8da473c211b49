"""slurm-topology plan: which topology each partition will get, and why, before any node exists."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from slurm_topology.core.choose import make_plan
from slurm_topology.core.slurm_version import SlurmVersion
from slurm_topology.view import plan_picture

from ._picture import write_picture
from ._report import choice_lines, exit_code, finding_lines, findings_json, plan_json
from ._sources import add_source_options, add_wish_options, read_sources
from ._template import plan_template

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--resource-config", type=Path, metavar="F", help="resource_config.json of the controller")
    source.add_argument(
        "--template", type=Path, metavar="F", help="a template that cdk synth wrote: each cluster in it"
    )
    source.add_argument("--plan", type=Path, metavar="F", help="topology_plan.json, or any JSON with its Groups")
    parser.add_argument("--slurm-version", metavar="V", help="such as 24.11 or 25.11.4 (default: not known yet)")
    add_source_options(parser)
    add_wish_options(parser)
    parser.add_argument("--strict", action="store_true", help="exit code 1 with warnings, too: for gates")
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")
    parser.add_argument("--picture", type=Path, metavar="F", help="also write a picture of it, .html or .svg")


def run(arguments: argparse.Namespace) -> int:
    """Exit code: 0, or 1 with errors (``--strict``: or warnings). Raises InputError (2)."""
    if arguments.template:
        return plan_template(arguments)
    version = SlurmVersion.parse(arguments.slurm_version) if arguments.slurm_version else None
    inventory, found, wanted, sizes = read_sources(arguments)
    plan = make_plan(inventory.groups, inventory.partitions, version, wanted=wanted, block_sizes=sizes)
    findings = tuple(sorted({*found, *plan.findings}))
    if arguments.picture:
        write_picture(arguments.picture, [plan_picture(replace(plan, findings=findings), inventory.groups)])
    if arguments.json:
        print(json.dumps({**plan_json(plan), "findings": findings_json(findings)}, indent=1, sort_keys=True))
    else:
        print("\n".join([*choice_lines(plan), *finding_lines(findings)]))
    return exit_code(findings, strict=arguments.strict)
