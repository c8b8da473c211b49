"""All sources → one inventory: nodes with types and placements, groups, partitions.

Slurm decides which nodes exist and how they are called; AWS's sources decide what they are and where (instances.py has the precedence).
Node and instance are joined by address: NodeAddr, the address in NodeHostName or NodeName, then by names and instance id.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from .instance_types import InstanceType, lookup
from .instances import Instance, merge_instances
from .model import Capability, Finding, Group, Inventory, Node, NodeRole, Partition, Severity, UltraServer
from .read_cluster_nodes import ClusterNodes
from .read_instance_topology import InstanceTopology
from .read_resource_config import ResourceConfig
from .read_scontrol import SlurmNode
from .read_ultraservers import UltraServers
from .roles import guess_roles

__all__ = ["UNKNOWN_TYPE", "build"]

UNKNOWN_TYPE = "TOPO104"  # the finding about an instance type that neither the catalogue nor EC2's facts have

_IP_NAME = re.compile(r"ip-(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})(?:\..*)?")
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_NODE_NAME = re.compile(r"[A-Za-z0-9_.-]+")  # what NodeName takes and a host list can hold


def build(
    *,
    resource_config: ResourceConfig | None = None,
    slurm_nodes: Sequence[SlurmNode] | None = None,
    cluster_nodes: ClusterNodes | None = None,
    instance_topology: InstanceTopology | None = None,
    ultraservers: UltraServers | None = None,
    groups: Sequence[Group] = (),
    partitions: Sequence[Partition] = (),
    ec2_types: Mapping[str, InstanceType] | None = None,
) -> tuple[Inventory, tuple[Finding, ...]]:
    """Merge what the readers gave. Nodes, groups and partitions are sorted by name.

    ``slurm_nodes`` None means that Slurm wasn't asked: then every instance of a compute group is a node ``ip-A-B-C-D``. ``groups``
    are those of the plan document, when there is one; they know the roles. Nothing is raised: what can't be used is an error finding.
    """
    instances, findings = merge_instances(resource_config, cluster_nodes, instance_topology, ultraservers)
    for source in (resource_config, cluster_nodes, instance_topology):
        findings += source.findings if source else ()
    findings += _shared_addresses(resource_config)
    joined = None if slurm_nodes is None else _join(slurm_nodes, instances, findings)
    facts = ultraservers.ultraservers if ultraservers else ()
    merged_groups = _groups(groups, resource_config, instances, partitions, joined, facts, ec2_types, findings)
    nodes = (
        _from_slurm(slurm_nodes or (), joined)
        if joined is not None
        else _from_instances(instances, merged_groups, findings)
    )
    findings += _bad_names(nodes)
    merged_partitions = _partitions(partitions, merged_groups, nodes, findings)
    inventory = Inventory(tuple(nodes), _named_partitions(merged_groups, merged_partitions), merged_partitions, facts)
    return inventory, tuple(sorted(findings))


def _join(
    slurm_nodes: Sequence[SlurmNode], instances: Sequence[Instance], findings: list[Finding]
) -> dict[str, Instance]:
    """Node name → its instance, for every node that has one."""
    by_address = {instance.address: instance for instance in instances if instance.address}
    by_name = {name: instance for instance in instances for name in (instance.name, instance.node_name) if name}
    by_id = {instance.instance_id: instance for instance in instances if instance.instance_id}
    joined: dict[str, Instance] = {}
    owner: dict[int, str] = {}
    for node in slurm_nodes:
        instance = (
            by_address.get(node.address)
            or by_address.get(_address_in(node.host_name))
            or by_address.get(_address_in(node.name))
            or by_name.get(node.name)
            or by_name.get(node.host_name)
            or by_id.get(node.instance_id)
        )
        if instance is None:
            continue
        first = owner.setdefault(id(instance), node.name)
        if first != node.name:
            findings.append(_two_nodes(first, node.name, instance))
        joined[node.name] = instance
    return joined


def _address_in(host_name: str | None) -> str | None:
    match = _IP_NAME.fullmatch(host_name) if host_name else None
    return ".".join(match.groups()) if match else None


def _from_slurm(slurm_nodes: Sequence[SlurmNode], joined: Mapping[str, Instance]) -> list[Node]:
    nodes = {}
    for slurm_node in slurm_nodes:
        instance = joined.get(slurm_node.name)
        if instance is None:
            nodes[slurm_node.name] = Node(slurm_node.name, slurm_node.instance_id, slurm_node.instance_type)
        else:
            nodes[slurm_node.name] = _node(slurm_node.name, instance)
    return [nodes[name] for name in sorted(nodes)]


def _node(name: str, instance: Instance) -> Node:
    return Node(name, instance.instance_id, instance.instance_type, instance.group, instance.placement)


def _from_instances(instances: Sequence[Instance], groups: Sequence[Group], findings: list[Finding]) -> list[Node]:
    """A node for every instance of a compute group, named as HyperPod names them."""
    compute = {group.name for group in groups if group.role is NodeRole.COMPUTE}
    nodes: dict[str, Node] = {}
    for instance in instances:
        if instance.group not in compute:
            continue
        name = _default_name(instance)
        if name is None:
            continue
        if name in nodes:
            findings.append(_two_nodes(nodes[name].instance_id or name, instance.instance_id or name, instance))
        nodes[name] = _node(name, instance)
    return [nodes[name] for name in sorted(nodes)]


def _default_name(instance: Instance) -> str | None:
    if instance.node_name is not None:
        return instance.node_name
    if instance.address and _IPV4.fullmatch(instance.address):
        return "ip-" + instance.address.replace(".", "-")
    return None


def _groups(
    given: Sequence[Group],
    config: ResourceConfig | None,
    instances: Sequence[Instance],
    partitions: Sequence[Partition],
    joined: Mapping[str, Instance] | None,
    facts: Sequence[UltraServer],
    ec2_types: Mapping[str, InstanceType] | None,
    findings: list[Finding],
) -> list[Group]:
    """All groups, sorted by name: the given ones as they are, others with a role and capability found out."""
    types = {group.name: group.instance_type for group in config.groups} if config else {}
    for instance in instances:
        types.setdefault(instance.group, instance.instance_type or "")
    known = {group.name: group for group in given}
    addresses = set(config.controller_addresses) if config else set()
    roles = guess_roles(
        [name for name in types if name not in known],
        in_partitions={group for partition in partitions for group in partition.groups} or None,
        with_controller_address={instance.group for instance in instances if instance.address in addresses},
        with_slurm_nodes=Counter(instance.group for instance in joined.values()) if joined is not None else None,
    )
    counts = Counter(instance.group for instance in instances)
    result = {name: _with_ec2_facts(group, ec2_types, findings) for name, group in known.items()}
    for name, role in roles.items():
        capability = _capability(name, types[name], role, ec2_types, findings)
        result[name] = Group(name, types[name], role, capability, count=counts[name])
    return [_with_ultraserver_size(result[name], instances, facts) for name in sorted(result)]


def _capability(
    group: str,
    instance_type: str,
    role: NodeRole,
    ec2_types: Mapping[str, InstanceType] | None,
    findings: list[Finding],
) -> Capability:
    if not instance_type:  # DescribeInstanceTopology without types: whoever is in its answer has a network path
        return Capability.TREE
    facts = lookup(instance_type, ec2_types)
    if facts is not None:
        return facts.capability
    if role is NodeRole.COMPUTE:
        findings.append(_unknown_type(group, instance_type))
    return Capability.NONE


def _with_ec2_facts(group: Group, ec2_types: Mapping[str, InstanceType] | None, findings: list[Finding]) -> Group:
    """A given group whose type was not known when it was given."""
    if group.capability is not Capability.NONE or lookup(group.instance_type) is not None:
        return group
    return group._replace(capability=_capability(group.name, group.instance_type, group.role, ec2_types, findings))


def _with_ultraserver_size(group: Group, instances: Sequence[Instance], facts: Sequence[UltraServer]) -> Group:
    """The group with the size of the UltraServers that its instances are in, as far as anybody says it."""
    if group.capability is not Capability.BLOCK:
        return group
    mine = [instance for instance in instances if instance.group == group.name and instance.placement.ultraserver_id]
    ids = {instance.placement.ultraserver_id for instance in mine}
    sizes = [
        (each.total_instances, each.spare_instances or 0) for each in facts if each.id in ids and each.total_instances
    ]
    if sizes:
        total, spare = min(sizes, key=lambda size: (size[0] - size[1], size))
        return group._replace(ultraserver_instances=total, spare_instances=spare)
    type_facts = lookup(group.instance_type)
    by_type = dict(type_facts.ultraservers) if type_facts else {}
    named = [by_type[instance.ultraserver_type] for instance in mine if instance.ultraserver_type in by_type]
    return group._replace(ultraserver_instances=min(named)) if named and group.ultraserver_instances is None else group


def _partitions(
    partitions: Sequence[Partition], groups: Sequence[Group], nodes: Sequence[Node], findings: list[Finding]
) -> tuple[Partition, ...]:
    names = {group.name for group in groups}
    group_of = {node.name: node.group for node in nodes}
    result = []
    for partition in sorted(partitions):
        for group in partition.groups:
            if group not in names:
                findings.append(_unknown_group(partition.name, group, names))
        if not partition.groups and partition.nodes:
            found = {group_of.get(node) for node in partition.nodes}
            partition = partition._replace(groups=tuple(sorted(group for group in found if group)))
        result.append(partition)
    return tuple(result)


def _named_partitions(groups: Iterable[Group], partitions: Iterable[Partition]) -> tuple[Group, ...]:
    """The groups, each with the partitions that name it."""
    of_group: defaultdict[str, list[str]] = defaultdict(list)
    for partition in partitions:
        for group in partition.groups:
            of_group[group].append(partition.name)
    return tuple(
        group._replace(partitions=tuple(of_group[group.name])) if of_group.get(group.name) else group
        for group in groups
    )


def _shared_addresses(config: ResourceConfig | None) -> Iterable[Finding]:
    by_address: defaultdict[str, list[str]] = defaultdict(list)
    for instance in config.instances if config else ():
        if instance.address:
            by_address[instance.address].append(instance.name or instance.instance_id or instance.group)
    for address, owners in sorted(by_address.items()):
        if len(owners) > 1:
            yield Finding(
                "TOPO105",
                Severity.ERROR,
                address,
                f"address {address} belongs to {len(owners)} instances ({', '.join(sorted(owners))}), expected one: no telling which of them a node is",
                "take a fresh copy of resource_config.json from the controller",
            )


def _two_nodes(first: str, second: str, instance: Instance) -> Finding:
    return Finding(
        "TOPO105",
        Severity.ERROR,
        instance.address or instance.instance_id or first,
        f"{first} and {second} are both at address {instance.address} ({instance.instance_id}), expected one node per instance",
        "compare NodeAddr and NodeHostName of the two in slurm.conf with resource_config.json",
    )


def _bad_names(nodes: Iterable[Node]) -> Iterable[Finding]:
    for node in nodes:
        if not _NODE_NAME.fullmatch(node.name):
            yield Finding(
                "TOPO106",
                Severity.ERROR,
                node.name,
                f"node name {node.name!r} cannot stand in a topology file: expected letters, digits, '.', '_' and '-'",
                "rename the node",
            )


def _unknown_type(group: str, instance_type: str) -> Finding:
    return Finding(
        UNKNOWN_TYPE,
        Severity.WARNING,
        group,
        f"group {group}: nothing is known about instance type {instance_type!r}; it is taken for one without network topology",
        "check the spelling; for a new type, give EC2's answer to DescribeInstanceTypes",
    )


def _unknown_group(partition: str, group: str, groups: Iterable[str]) -> Finding:
    return Finding(
        "TOPO112",
        Severity.ERROR,
        partition,
        f"partition {partition} names group {group!r}, which doesn't exist; groups: {', '.join(sorted(groups)) or 'none'}",
        "correct the name",
    )
