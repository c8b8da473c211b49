"""All sources → one inventory: nodes with types and placements, groups, partitions.

Slurm decides which nodes exist and how they are called; AWS's sources decide what they are and where (instances.py has
the precedence). Node and instance are joined by address: NodeAddr, the address in NodeHostName or in NodeName, then by
names, then by instance id.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from .groups import merge_groups, with_partitions, with_ultraserver_sizes
from .instance import Instance
from .instance_types import InstanceType
from .instances import merge_instances
from .model import Finding, Group, Inventory, Node, NodeRole, Partition, Severity
from .read_cluster_nodes import ClusterNodes
from .read_instance_topology import InstanceTopology
from .read_resource_config import ResourceConfig
from .read_scontrol import SlurmNode
from .read_ultraservers import UltraServers

__all__ = ["build"]

_IP_NAME = re.compile(r"ip-(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})(?:\..*)?")
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
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

    ``slurm_nodes`` None means that Slurm wasn't asked: then every instance of a compute group is a node
    ``ip-A-B-C-D``. ``groups`` are those of the plan document, when there is one; they know the roles. A partition
    has the groups of its nodes too. Nothing is raised: what can't be used is an error finding.
    """
    instances, findings = merge_instances(resource_config, cluster_nodes, instance_topology, ultraservers)
    for source in (resource_config, cluster_nodes, instance_topology):
        findings += source.findings if source else ()
    findings += _shared_addresses(resource_config)
    joined = None if slurm_nodes is None else _join(slurm_nodes, instances, findings)
    in_slurm = None if joined is None else list(joined.values())
    merged, more = merge_groups(groups, resource_config, instances, in_slurm, partitions, ec2_types)
    findings += more
    if slurm_nodes is None or joined is None:
        nodes = _from_instances(instances, merged, findings)
    else:
        nodes = _from_slurm(slurm_nodes, joined)
        findings += _only_on_one_side(slurm_nodes, joined, instances, merged)
    findings += _bad_names(nodes)
    full_partitions = _with_groups(partitions, merged, nodes, findings)
    facts = ultraservers.ultraservers if ultraservers else ()
    sized = with_ultraserver_sizes(with_partitions(merged, full_partitions), instances, facts)
    return Inventory(tuple(nodes), tuple(sized), full_partitions, facts), tuple(sorted(set(findings)))


def _join(
    slurm_nodes: Sequence[SlurmNode], instances: Sequence[Instance], findings: list[Finding]
) -> dict[str, Instance]:
    """Node name → its instance, for every node that has one."""
    by_address = {instance.address: instance for instance in instances if instance.address}
    by_name = {name: instance for instance in instances for name in (instance.name, instance.node_name) if name}
    joined: dict[str, Instance] = {}
    owner: dict[int, str] = {}
    for node in slurm_nodes:
        instance = (
            by_address.get(node.address or "")
            or by_address.get(_address_in(node.host_name))
            or by_address.get(_address_in(node.name))
            or by_name.get(node.name)
            or by_name.get(node.host_name or "")
        )
        if instance is not None:
            joined[node.name] = instance
            first = owner.setdefault(id(instance), node.name)
            if first != node.name:
                findings.append(_two_nodes(first, node.name, instance))
    _join_by_id(slurm_nodes, instances, joined)
    return joined


def _join_by_id(slurm_nodes: Iterable[SlurmNode], instances: Iterable[Instance], joined: dict[str, Instance]) -> None:
    """Join what is left by the instance id that Slurm was told: the weakest word, as nobody updates it."""
    taken = {id(instance) for instance in joined.values()}
    free = {each.instance_id: each for each in instances if each.instance_id and id(each) not in taken}
    for node in slurm_nodes:
        if node.name not in joined and node.instance_id in free:
            joined[node.name] = free.pop(node.instance_id)


def _address_in(host_name: str | None) -> str:
    """10.1.2.3 of ip-10-1-2-3 with or without a domain; "" of any other name."""
    match = _IP_NAME.fullmatch(host_name) if host_name else None
    return ".".join(match.groups()) if match else ""


def _from_slurm(slurm_nodes: Iterable[SlurmNode], joined: Mapping[str, Instance]) -> list[Node]:
    nodes: dict[str, Node] = {}
    for node in slurm_nodes:
        instance = joined.get(node.name)
        if instance is None:
            nodes[node.name] = Node(node.name, node.instance_id, node.instance_type)
        else:
            nodes[node.name] = _node(node.name, instance)
    return [nodes[name] for name in sorted(nodes)]


def _node(name: str, instance: Instance) -> Node:
    return Node(name, instance.instance_id, instance.instance_type, instance.group, instance.placement)


def _from_instances(instances: Iterable[Instance], groups: Iterable[Group], findings: list[Finding]) -> list[Node]:
    """A node for every instance of a compute group, named as HyperPod names them."""
    compute = {group.name for group in groups if group.role is NodeRole.COMPUTE}
    nodes: dict[str, Node] = {}
    nameless: list[Instance] = []
    for instance in instances:
        if instance.group not in compute:
            continue
        name = _default_name(instance)
        if name is None:
            nameless.append(instance)
            continue
        other = nodes.setdefault(name, _node(name, instance))
        if other.instance_id != instance.instance_id:
            findings.append(_two_nodes(other.instance_id or name, instance.instance_id or name, instance))
    findings += _left_out(nameless)
    return [nodes[name] for name in sorted(nodes)]


def _left_out(nameless: Iterable[Instance]) -> Iterable[Finding]:
    """No node gets lost without a word. Instances of resource_config.json (they have a name of SageMaker's) that lack
    an address were told by its reader."""
    unknown: list[str] = []
    for instance in nameless:
        subject = instance.name or instance.instance_id or instance.group
        if instance.address:
            yield Finding(
                "TOPO111",
                Severity.WARNING,
                subject,
                f"an instance of group {instance.group} has the address {instance.address!r}, expected an IPv4 address "
                "such as 10.1.2.3: nobody can tell how its Slurm node is called, so it is left out",
                "give Slurm's own nodes (scontrol show nodes), or a fresh copy of resource_config.json",
            )
        elif instance.name is None:
            unknown.append(subject)
    if unknown:
        yield Finding(
            "TOPO120",
            Severity.WARNING,
            min(unknown),
            f"no source tells name or address of {len(unknown)} instances, so they are left out: "
            f"{', '.join(sorted(unknown)[:5])}",
            "give Slurm's own nodes (scontrol show nodes); the agent gets their names from Slurm by itself",
        )


def _default_name(instance: Instance) -> str | None:
    if instance.node_name is not None:
        return instance.node_name
    if instance.address and _IPV4.fullmatch(instance.address):
        return "ip-" + instance.address.replace(".", "-")
    return None


def _with_groups(
    partitions: Iterable[Partition], groups: Iterable[Group], nodes: Iterable[Node], findings: list[Finding]
) -> tuple[Partition, ...]:
    """The partitions, sorted, each with the groups that it names and those of the nodes that it lists."""
    known = {group.name for group in groups}
    group_of = {node.name: node.group for node in nodes}
    complete = []
    for partition in sorted(partitions):
        findings.extend(_unknown_group(partition, name, known) for name in partition.groups if name not in known)
        of_nodes = set(filter(None, {group_of.get(node) for node in partition.nodes or ()}))
        more = of_nodes - set(partition.groups)
        complete.append(partition._replace(groups=tuple(sorted({*partition.groups, *more}))) if more else partition)
    return tuple(complete)


def _shared_addresses(config: ResourceConfig | None) -> Iterable[Finding]:
    instances = [instance for instance in config.instances if instance.address] if config else []
    if len({instance.address for instance in instances}) == len(instances):
        return
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for instance in instances:
        if instance.address:
            owners[instance.address].append(instance.name or instance.instance_id or instance.group)
    for address, names in sorted(owners.items()):
        if len(names) > 1:
            yield Finding(
                "TOPO105",
                Severity.ERROR,
                address,
                f"address {address} belongs to {len(names)} instances ({', '.join(sorted(names))}), expected one: no "
                "telling which of them a node is",
                "take a fresh copy of resource_config.json from the controller",
            )


def _two_nodes(first: str, second: str, instance: Instance) -> Finding:
    return Finding(
        "TOPO105",
        Severity.ERROR,
        instance.address or instance.instance_id or first,
        f"{first} and {second} are both at address {instance.address} ({instance.instance_id}), expected one node per "
        "instance",
        "compare NodeAddr and NodeHostName of the two in slurm.conf with resource_config.json",
    )


def _only_on_one_side(
    slurm_nodes: Iterable[SlurmNode],
    joined: Mapping[str, Instance],
    instances: Iterable[Instance],
    groups: Iterable[Group],
) -> Iterable[Finding]:
    lonely = sorted(node.name for node in slurm_nodes if node.name not in joined)
    if lonely:
        yield Finding(
            "TOPO108",
            Severity.WARNING,
            lonely[0],
            f"no instance is known for {len(lonely)} of Slurm's nodes, beginning with {lonely[0]}",
            "nothing to do while HyperPod replaces nodes; else compare NodeAddr with the instances' addresses",
        )
    compute = {group.name for group in groups if group.role is NodeRole.COMPUTE}
    used = {id(instance) for instance in joined.values()}
    waiting = [instance for instance in instances if instance.group in compute and id(instance) not in used]
    if waiting:
        first = min(instance.address or instance.instance_id or "" for instance in waiting)
        yield Finding(
            "TOPO107",
            Severity.INFO,
            first,
            f"{len(waiting)} instance(s), beginning with {first}, aren't nodes of Slurm (yet): they are left out",
            "HyperPod adds them to slurm.conf minutes after launch",
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


def _unknown_group(partition: Partition, group: str, groups: Iterable[str]) -> Finding:
    return Finding(
        "TOPO112",
        Severity.ERROR,
        partition.name,
        f"partition {partition.name} names group {group!r}, which doesn't exist; groups: "
        f"{', '.join(sorted(groups)) or 'none'}",
        "correct the name",
    )
