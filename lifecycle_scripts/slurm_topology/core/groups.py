"""Instance groups: type, role, capability and UltraServer size, from the plan's groups and from what the instances
show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from .instance import Instance
from .instance_types import InstanceType, lookup
from .model import Capability, Finding, Group, NodeRole, Partition, Severity, UltraServer
from .read_resource_config import ResourceConfig
from .roles import guess_roles

__all__ = ["UNKNOWN_TYPE", "merge_groups", "with_partitions", "with_ultraserver_sizes"]

UNKNOWN_TYPE = "TOPO104"  # the finding about an instance type that neither the catalogue nor EC2's facts have


def merge_groups(
    given: Sequence[Group],
    config: ResourceConfig | None,
    instances: Sequence[Instance],
    in_slurm: Iterable[Instance] | None,
    partitions: Sequence[Partition],
    ec2_types: Mapping[str, InstanceType] | None,
) -> tuple[list[Group], list[Finding]]:
    """All groups, sorted by name: the given ones, and those that only instances show, with a role found out.

    ``in_slurm``: the instances that Slurm has nodes for, None when Slurm wasn't asked.
    """
    types = {group.name: group.instance_type for group in config.groups} if config else {}
    for instance in instances:
        types.setdefault(instance.group, instance.instance_type or "")
    counts = Counter(instance.group for instance in instances)
    addresses = set(config.controller_addresses) if config else set()
    groups = {group.name: group for group in given}
    roles = guess_roles(
        {name: counts[name] for name in types if name not in groups},
        in_partitions={group for partition in partitions for group in partition.groups} or None,
        with_controller_address={instance.group for instance in instances if instance.address in addresses},
        in_slurm=None if in_slurm is None else Counter(instance.group for instance in in_slurm),
    )
    for name, role in roles.items():
        groups[name] = Group(name, types[name], role, count=counts[name])
    capable = [_with_capability(groups[name], ec2_types) for name in sorted(groups)]
    unknown = [group for group in capable if _is_unknown(group, ec2_types)]
    return capable, [_unknown_type(group) for group in unknown if group.role is NodeRole.COMPUTE]


def _with_capability(group: Group, ec2_types: Mapping[str, InstanceType] | None) -> Group:
    """The group with its type's capability, unless it brought one of its own."""
    if group.capability is not Capability.NONE:
        return group
    if not group.instance_type:  # DescribeInstanceTopology without types: whoever is in its answer has a network path
        return group._replace(capability=Capability.TREE)
    facts = lookup(group.instance_type, ec2_types)
    return group._replace(capability=facts.capability) if facts else group


def _is_unknown(group: Group, ec2_types: Mapping[str, InstanceType] | None) -> bool:
    return group.capability is Capability.NONE and lookup(group.instance_type, ec2_types) is None


def with_ultraserver_sizes(
    groups: Iterable[Group], instances: Iterable[Instance], facts: Iterable[UltraServer]
) -> list[Group]:
    """The groups, each with the size of the UltraServers that its instances are in, as far as anybody tells it."""
    by_id = {each.id: each for each in facts}
    seen: defaultdict[str, set[tuple[str, str | None]]] = defaultdict(set)
    for instance in instances:
        if instance.placement.ultraserver_id is not None:
            seen[instance.group].add((instance.placement.ultraserver_id, instance.ultraserver_type))
    return [_with_size(group, seen[group.name], by_id) if group.name in seen else group for group in groups]


def _with_size(group: Group, seen: set[tuple[str, str | None]], facts: Mapping[str, UltraServer]) -> Group:
    """The smallest usable size: with two training plans of different spares, it is the one that both can fill."""
    if group.capability is not Capability.BLOCK:
        return group
    listed = [facts[ultraserver] for ultraserver, _ in seen if ultraserver in facts]
    sizes = [(each.total_instances, each.spare_instances or 0) for each in listed if each.total_instances]
    if sizes:
        total, spare = min(sizes, key=lambda size: (size[0] - size[1], size))
        return group._replace(ultraserver_instances=total, spare_instances=spare)
    if group.ultraserver_instances is not None:
        return group
    type_facts = lookup(group.instance_type)
    size_of_type = dict(type_facts.ultraservers) if type_facts else {}
    by_type = [size_of_type[kind] for _, kind in seen if kind in size_of_type]
    return group._replace(ultraserver_instances=min(by_type, default=None))


def with_partitions(groups: Iterable[Group], partitions: Iterable[Partition]) -> tuple[Group, ...]:
    """The groups, each with the partitions that name it."""
    naming: defaultdict[str, list[str]] = defaultdict(list)
    for partition in partitions:
        for group in partition.groups:
            naming[group].append(partition.name)
    return tuple(
        group._replace(partitions=tuple(naming[group.name])) if group.name in naming else group for group in groups
    )


def _unknown_type(group: Group) -> Finding:
    return Finding(
        UNKNOWN_TYPE,
        Severity.WARNING,
        group.name,
        f"group {group.name}: nothing is known about instance type {group.instance_type!r}; it is taken for one "
        "without "
        "network topology",
        "check the spelling; for a new type, give EC2's answer to DescribeInstanceTypes",
    )
