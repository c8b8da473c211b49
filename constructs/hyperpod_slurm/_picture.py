"""The plan's picture beside the template, for a pull request: ``cdk.out/<Stack>.<Cluster>.topology.html``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jsii
from aws_cdk import Stack, Stage
from constructs import Construct, IValidation

from slurm_topology.core.model import Group, Plan

__all__ = ["draw_at_synth"]


def draw_at_synth(construct: Construct, plan: Plan, groups: Sequence[Group]) -> None:
    """Let synthesis write the picture into the cloud assembly.

    CDK has no public hook for more files in an assembly, but asks every validation once per synthesis, before it writes
    the templates.
    """
    construct.node.add_validation(_Picture(construct, plan, groups))


@jsii.implements(IValidation)
class _Picture:
    """A validation that finds nothing: it writes the page, the same bytes for the same plan."""

    def __init__(self, construct: Construct, plan: Plan, groups: Sequence[Group]) -> None:
        self._construct = construct
        self._plan = plan
        self._groups = groups

    def validate(self) -> list[str]:
        from slurm_topology.view import plan_picture  # the views are needed in no other part of a synthesis

        stage, stack = Stage.of(self._construct), Stack.of(self._construct)
        if stage is None:
            return []
        title = f"{self._construct.node.path}: what each partition will get"
        place = self._construct.node.path.removeprefix(f"{stack.node.path}/").replace("/", ".")
        page = plan_picture(self._plan, self._groups, title=title).html()
        Path(stage.outdir, f"{stack.artifact_id}.{place}.topology.html").write_text(page)
        return []
