"""What the rules need to know of a network: subnets, security groups, and who takes addresses there."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ._rules_network import node_claims
from ._spec import Claim, ClusterSpec, NetworkSpec, SubnetSpec
from .instance_group import InstanceGroup
from .network import ClusterNetwork, subnet_cidr, subnet_zone
from .storage import NewLustre, NewOpenZfs, SharedStorage

__all__ = ["brought_security_groups", "claim_addresses", "network_spec"]

# Each file server has a network interface: Lustre has one for metadata and one for data at least, a highly available
# OpenZFS two (FSx user guides, "File system access control with Amazon VPC").
_FILE_SERVERS = 2


def network_spec(
    network: ClusterNetwork, groups: Sequence[InstanceGroup], storage: Sequence[SharedStorage]
) -> NetworkSpec:
    """``network`` as a new cluster of these groups finds it."""
    subnets = _subnet_specs(network.subnets, network.subnet_cidrs)
    everyone = [*network.security_groups, *(one for group in groups for one in group.security_groups)]
    new = sum(isinstance(one, (NewLustre, NewOpenZfs)) for one in storage)
    file_systems = [Claim("new file systems", subnets[:1], new * _FILE_SERVERS)] if new else []
    endpoints = [Claim("endpoints", subnets, network._endpoint_count)] if network._endpoint_count else []
    return NetworkSpec(
        subnets=subnets,
        security_groups=_ids(network.security_groups),
        open_security_groups=_open_groups(everyone),
        group_subnets=tuple(_subnet_specs(group.subnets) for group in groups),
        group_security_groups=tuple(_ids(group.security_groups) for group in groups),
        claims=(*endpoints, *network._claims),
        new_file_systems=tuple(file_systems),
    )


def brought_security_groups(
    network: ClusterNetwork, groups: Sequence[InstanceGroup]
) -> dict[str, Sequence[ec2.ISecurityGroup]]:
    """Whose → what its nodes have, for the cluster ("") and for groups with security groups of their own."""
    of_cluster = {"": network.security_groups} if network._has_own_security_groups else {}
    return {**of_cluster, **{group.name: group.security_groups for group in groups if group.security_groups}}


def claim_addresses(cluster: Construct, network: ClusterNetwork, spec: ClusterSpec) -> None:
    """Let the next cluster in ``network`` know what is taken."""
    path = cluster.node.path
    claims = (*node_claims(spec), *spec.network.new_file_systems)
    network._claims += [Claim(f"{one.user} of {path}", one.subnets, one.addresses) for one in claims]


def _subnet_specs(subnets: Sequence[ec2.ISubnet], cidrs: Sequence[str | None] | None = None) -> tuple[SubnetSpec, ...]:
    known = cidrs if cidrs is not None else [subnet_cidr(subnet) for subnet in subnets]
    return tuple(
        SubnetSpec(subnet.node.path, subnet_zone(subnet), cidr) for subnet, cidr in zip(subnets, known, strict=True)
    )


def _ids(groups: Sequence[ec2.ISecurityGroup]) -> tuple[str, ...]:
    return tuple(group.security_group_id for group in groups)


def _open_groups(groups: Sequence[ec2.ISecurityGroup]) -> tuple[str, ...]:
    """Those made in this app that let everything out; of imported ones nobody knows."""
    made = {group.node.path: group for group in groups if isinstance(group, ec2.SecurityGroup)}
    return tuple(path for path, group in made.items() if group.allow_all_outbound)
