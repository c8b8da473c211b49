"""slurm-topology render: topology.conf or topology.yaml from placement files, anywhere, without Slurm or AWS."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from slurm_topology.agent.files import Files
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Finding, Flat, NamedTopology, Tree
from slurm_topology.core.pipeline import Rendering, compute
from slurm_topology.core.slurm_version import SlurmVersion

from ._report import choice_lines, exit_code, finding_lines, findings_json, has_errors, plan_json
from ._sources import add_source_options, add_wish_options, read_sources

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--resource-config", type=Path, metavar="F", help="resource_config.json of the controller")
    source.add_argument(
        "--instance-topology",
        type=Path,
        metavar="F",
        help='answer of "aws ec2 describe-instance-topology", with an optional "Nodes" map of instance id to node name',
    )
    parser.add_argument("--slurm-version", required=True, metavar="V", help="such as 24.11 or 25.11.4")
    parser.add_argument(
        "--slurm-nodes",
        type=Path,
        metavar="F",
        help='"scontrol show nodes", as text or --json; without it nodes are called ip-A-B-C-D',
    )
    add_source_options(parser)
    parser.add_argument(
        "--plan", type=Path, metavar="F", help="topology_plan.json: roles, partitions, UltraServer sizes"
    )
    add_wish_options(parser)
    parser.add_argument("--output-dir", type=Path, required=True, metavar="D", help="where the file is written")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Exit code: 0 written (or flat, where that means no file), 1 nothing written because of errors. Raises
    InputError (2)."""
    version = SlurmVersion.parse(arguments.slurm_version)
    inventory, found, wanted, sizes = read_sources(arguments)
    rendering = compute(inventory, version, wanted=wanted, block_sizes=sizes)
    findings = tuple(sorted({*found, *rendering.findings}))
    text = None if has_errors(findings) else rendering.text
    path = arguments.output_dir / rendering.file_name
    if text is not None:
        _write(path, text)
    report = _report_json if arguments.json else _report_text
    print(report(rendering, findings, path if text is not None else None))
    return exit_code(findings)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        Files().write_atomically(path.absolute(), text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _report_text(rendering: Rendering, findings: tuple[Finding, ...], written: Path | None) -> str:
    lines = [*choice_lines(rendering.plan), *finding_lines(findings)]
    if has_errors(findings):
        lines.append("nothing written because of the errors above")
    elif written is None:
        lines.append(f"the cluster is flat: no file; TopologyPlugin={rendering.plugin}")
    else:
        lines.append(f"{written}: {', '.join(map(_summary, rendering.topology.topologies))}")
    return "\n".join(lines)


def _summary(topology: NamedTopology) -> str:
    facts = _topology_json(topology)
    counts = [f"{facts[what]} {what}" for what in ("nodes", "switches", "blocks") if what in facts]
    return f"{topology.name} ({', '.join([facts['kind'], *counts])})"


def _report_json(rendering: Rendering, findings: tuple[Finding, ...], written: Path | None) -> str:
    document = {
        "file": str(written) if written else None,
        "plugin": rendering.plugin,
        "plan": plan_json(rendering.plan),
        "topologies": [_topology_json(topology) for topology in rendering.topology.topologies],
        "partitions": dict(sorted(rendering.topology.partitions.items())),
        "findings": findings_json(findings),
    }
    return json.dumps(document, indent=1, sort_keys=True)


def _topology_json(topology: NamedTopology) -> dict[str, Any]:
    body = topology.body
    facts: dict[str, Any] = {"name": topology.name, "cluster_default": topology.cluster_default}
    if isinstance(body, Flat):
        return {**facts, "kind": "flat"}
    if isinstance(body, Tree):
        return {**facts, "kind": "tree", "nodes": _count(body.switches), "switches": len(body.switches)}
    return {
        **facts,
        "kind": "block",
        "nodes": _count(body.blocks),
        "blocks": len(body.blocks),
        "block_sizes": list(body.block_sizes),
    }


def _count(units: Iterable[Any]) -> int:
    return sum(len(unit.nodes) for unit in units)
