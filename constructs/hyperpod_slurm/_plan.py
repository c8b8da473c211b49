"""The topology plan at synth, by the same function that the deployment and the agent use."""

from __future__ import annotations

from collections.abc import Sequence

from slurm_topology.core.choose import make_plan
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Capability, Group, Partition, Plan
from slurm_topology.core.read_template import ASSUMED_SPARES
from slurm_topology.core.slurm_version import SlurmVersion

from ._spec import ClusterSpec, facts
from ._tokens import is_known, known_number, known_text
from .instance_group import ComputeGroup, InstanceGroup

__all__ = ["synth_groups", "synth_plan"]


def synth_plan(spec: ClusterSpec) -> Plan | None:
    """The plan as far as it can be known now; None when `synth_groups` gives none.

    Spares of a training plan are not known before the deployment asks for them: its default of one is taken.
    """
    groups = synth_groups(spec)
    if groups is None:
        return None
    return make_plan(
        groups,
        _partitions(groups),
        _version(spec.slurm_version),
        wanted=spec.topology.kind,
        block_sizes=spec.topology.block_sizes,
    )


def synth_groups(spec: ClusterSpec) -> list[Group] | None:
    """The groups as the plan sees them; None when a compute group's name, type or partition is not known yet.

    Controllers and login nodes take no part in a plan.
    """
    for group in spec.compute_groups:
        if not all(map(is_known, (group.name, group.type_name, group.partition_name))):
            return None
    return [_group(group) for group in spec.groups if is_known(group.name) and is_known(group.type_name)]


def _group(group: InstanceGroup) -> Group:
    known = facts(group)
    reserved = isinstance(group, ComputeGroup) and group.capacity.training_plan_arn is not None
    return Group(
        name=group.name,
        instance_type=group.type_name,
        role=group.role,
        capability=known.capability if known else Capability.NONE,
        partitions=(group.partition_name,) if isinstance(group, ComputeGroup) else (),
        count=int(group.count) if known_number(group.count) else None,
        spare_instances=ASSUMED_SPARES if reserved else 0,
    )


def _partitions(groups: Sequence[Group]) -> list[Partition]:
    names = dict.fromkeys(name for group in groups for name in group.partitions)
    return [Partition(name, tuple(group.name for group in groups if name in group.partitions)) for name in names]


def _version(text: str | None) -> SlurmVersion | None:
    if not known_text(text):
        return None
    try:
        return SlurmVersion.parse(text)
    except InputError:  # HPS013 says so
        return None
