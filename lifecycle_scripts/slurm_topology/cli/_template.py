"""The plans of a synthesized template, for a look at it, or a gate, before it is deployed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from slurm_topology.core.choose import make_plan
from slurm_topology.core.model import Finding, Plan
from slurm_topology.core.read_template import TemplateCluster, read_template
from slurm_topology.view import plan_picture

from ._files import read_json
from ._picture import write_picture
from ._report import choice_lines, exit_code, finding_lines, findings_json, plan_json

__all__ = ["plan_template"]


def plan_template(path: Path, as_json: bool, picture: Path | None = None, *, strict: bool = False) -> int:
    """Print what each cluster of the template will get. Exit code: 0, or 1 when a plan has errors (or warnings)."""
    planned = [(cluster, *_plan(cluster)) for cluster in read_template(read_json(path))]
    if picture:
        drawn = [
            plan_picture(plan, cluster.groups, title=f"Topology plan of {cluster.name}")
            for cluster, plan, _ in planned
            if plan
        ]
        write_picture(picture, drawn)
    if as_json:
        print(
            json.dumps({cluster.name: _json(plan, found) for cluster, plan, found in planned}, indent=1, sort_keys=True)
        )
    else:
        lines = (line for cluster, plan, found in planned for line in [f"{cluster.name}:", *_indented(plan, found)])
        print("\n".join(lines))
    return exit_code((finding for _, _, found in planned for finding in found), strict=strict)


def _plan(cluster: TemplateCluster) -> tuple[Plan | None, Sequence[Finding]]:
    if cluster.findings:
        return None, cluster.findings
    plan = make_plan(
        cluster.groups, cluster.partitions, cluster.version, wanted=cluster.wanted, block_sizes=cluster.block_sizes
    )
    return plan, plan.findings


def _json(plan: Plan | None, findings: Sequence[Finding]) -> dict[str, object]:
    return {**(plan_json(plan) if plan else {}), "findings": findings_json(findings)}


def _indented(plan: Plan | None, findings: Sequence[Finding]) -> list[str]:
    return [f"  {line}" for line in [*(choice_lines(plan) if plan else []), *finding_lines(findings)]]
