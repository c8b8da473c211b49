"""What of the plan still counts. Pure.

The plan is as old as the last deployment; HyperPod's file says which groups the cluster has now, empty ones too. A
group that was deleted doesn't count any more; one that the plan doesn't know yet is found by its nodes (``core.groups``
and ``core.inventory``).
"""

from __future__ import annotations

from slurm_topology.core.model import Group
from slurm_topology.core.plan_document import PlanDocument
from slurm_topology.core.read_resource_config import ResourceConfig

__all__ = ["groups_of_partitions", "planned_groups"]


def planned_groups(plan: PlanDocument | None, config: ResourceConfig) -> tuple[Group, ...]:
    """The plan's groups that the cluster has."""
    present = {group.name for group in config.groups}
    return tuple(group for group in plan.groups if group.name in present) if plan else ()


def groups_of_partitions(plan: PlanDocument | None, config: ResourceConfig) -> dict[str, tuple[str, ...]]:
    """Partition → the groups that the plan gives it, as far as the cluster has them."""
    present = {group.name for group in config.groups}
    partitions = plan.partitions if plan else ()
    return {each.name: tuple(group for group in each.groups if group in present) for each in partitions}
