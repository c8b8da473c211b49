"""slurm-topology check: what slurmctld would refuse, crash on or quietly mangle in a topology file. Needs no Slurm."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from slurm_topology.core.check import check_text
from slurm_topology.core.model import Finding, Severity
from slurm_topology.core.slurm_version import SlurmVersion

from ._files import read_any_text
from ._nodes import known_nodes
from ._report import exit_code, finding_lines, findings_json

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="*.yaml, *.yml, *.json: topology.yaml; else topology.conf"
    )
    parser.add_argument("--slurm-version", required=True, metavar="V", help="such as 24.11 or 25.11.4")
    parser.add_argument(
        "--nodes",
        metavar="F|HOSTLIST",
        help='the nodes that Slurm has: a host list, a file of host lists, or the output of "scontrol show nodes"',
    )
    parser.add_argument(
        "--partition-topologies",
        default="",
        metavar="NAMES",
        help="names that partitions of slurm.conf have as Topology=, with commas between",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Exit code: 0 no errors, 1 errors. Raises InputError (2)."""
    version = SlurmVersion.parse(arguments.slurm_version)
    nodes = None if arguments.nodes is None else known_nodes(arguments.nodes)
    used = [name for name in arguments.partition_topologies.split(",") if name]
    findings = check_text(read_any_text(arguments.file), arguments.file.name, version, nodes, used)
    if arguments.json:
        document = {"file": str(arguments.file), "slurm_version": str(version), "findings": findings_json(findings)}
        print(json.dumps(document, indent=1, sort_keys=True))
    else:
        print("\n".join([*finding_lines(findings), _verdict(arguments.file, version, findings, nodes)]))
    return exit_code(findings)


def _verdict(path: Path, version: SlurmVersion, findings: tuple[Finding, ...], nodes: Collection[str] | None) -> str:
    counts = Counter(finding.severity for finding in findings)
    found = [
        f"{counts[severity]} {severity.value}{'s' * (counts[severity] > 1)}"
        for severity in Severity
        if counts[severity]
    ]
    compared = "" if nodes is None else f", {len(nodes)} nodes compared"
    return f"{path}: {', '.join(found) or 'no findings'} (Slurm {version}{compared})"
