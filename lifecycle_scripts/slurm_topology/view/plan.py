"""A plan as a picture: what each partition will get and why, before any node exists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slurm_topology.core.model import Group, Plan

__all__ = ["PlanPicture", "plan_picture"]


@dataclass(frozen=True)
class PlanPicture:
    plan: Plan
    groups: tuple[Group, ...]
    title: str


def plan_picture(plan: Plan, groups: Sequence[Group], *, title: str = "") -> PlanPicture:
    return PlanPicture(plan, tuple(groups), title)
