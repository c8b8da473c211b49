"""The plans of a synthesized template, for a look at it, or a gate, before it is deployed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from slurm_topology.core.choose import make_plan
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Finding, Plan, TopologyKind
from slurm_topology.core.read_template import TemplateCluster, read_template
from slurm_topology.core.slurm_version import SlurmVersion
from slurm_topology.view import PlanPicture, plan_picture

from ._files import read_json
from ._picture import write_picture
from ._report import choice_lines, exit_code, finding_lines, findings_json, plan_json
from ._sources import wished_sizes

__all__ = ["plan_template"]

_OTHER_SOURCES = ("partitions", "cluster_nodes", "ultraservers", "instance_types")


def plan_template(arguments: argparse.Namespace) -> int:
    """Print what each cluster of the template will get. Exit code: 0, or 1 when a plan has errors (or warnings).

    Version and wishes on the command line win over those in the template. Raises InputError for other sources: the
    template says all of it itself.
    """
    for name in _OTHER_SOURCES:
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name.replace('_', '-')}: doesn't go with --template, which has all of its own")
    clusters = [_as_wished(cluster, arguments) for cluster in read_template(read_json(arguments.template))]
    planned = [(cluster, *_plan(cluster)) for cluster in clusters]
    if arguments.picture:
        write_picture(arguments.picture, [_picture(cluster, plan) for cluster, plan, _ in planned])
    if arguments.json:
        print(
            json.dumps({cluster.name: _json(plan, found) for cluster, plan, found in planned}, indent=1, sort_keys=True)
        )
    else:
        lines = (line for cluster, plan, found in planned for line in [f"{cluster.title}:", *_indented(plan, found)])
        print("\n".join(lines))
    return exit_code((finding for _, _, found in planned for finding in found), strict=arguments.strict)


def _as_wished(cluster: TemplateCluster, arguments: argparse.Namespace) -> TemplateCluster:
    sizes = wished_sizes(arguments.block_sizes)
    return cluster._replace(
        wanted=cluster.wanted if arguments.kind == "auto" else TopologyKind(arguments.kind),
        block_sizes=sizes or cluster.block_sizes,
        version=SlurmVersion.parse(arguments.slurm_version) if arguments.slurm_version else cluster.version,
    )


def _picture(cluster: TemplateCluster, plan: Plan | None) -> PlanPicture:
    """Of a cluster without a plan: its name, and the findings that say why."""
    title = f"Topology plan of {cluster.title}"
    return plan_picture(plan, cluster.groups, title=title) if plan else PlanPicture(title, (), cluster.findings)


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
