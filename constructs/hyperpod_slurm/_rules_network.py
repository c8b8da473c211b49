"""Rules about subnets and security groups. Ids HPS060 to HPS069."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from slurm_topology.core.model import Capability, Finding

from ._rules import error, plural, warning
from ._spec import Claim, ClusterSpec, SubnetSpec, facts
from ._tokens import known_number, known_text
from .instance_group import ComputeGroup, InstanceGroup, InterfaceType

__all__ = ["RULES", "node_claims"]

_MOST_SUBNETS = 16  # Subnets of VpcConfig
_MOST_SECURITY_GROUPS = 5  # VpcSecurityGroupIds
_RESERVED_ADDRESSES = 5  # of every subnet, by AWS (VPC user guide, "Subnet sizing")


def number_of_subnets(spec: ClusterSpec) -> Iterator[Finding]:
    for name, subnets in _subnets_by_user(spec):
        if not 1 <= len(subnets) <= _MOST_SUBNETS:
            got = plural(len(subnets), "subnet")
            yield error("HPS060", name, f"expected 1 to {_MOST_SUBNETS} subnets; got {got}", "One is best: one zone.")


def number_of_security_groups(spec: ClusterSpec) -> Iterator[Finding]:
    counts = [("", len(spec.network.security_groups))]
    counts += [(group.name, len(group.security_groups)) for group in spec.groups]
    for name, count in counts:
        if count > _MOST_SECURITY_GROUPS:
            yield error(
                "HPS061", name, f"expected 1 to {_MOST_SECURITY_GROUPS} security groups; got {count}", "Merge some."
            )


def room_for_nodes(spec: ClusterSpec) -> Iterator[Finding]:
    """Each network card of a Slurm node takes an address: a P5 instance 32 (HyperPod's prerequisites).

    Whoever may be put into some subnets only has to fit there, beside all who may be put nowhere else.
    """
    own, others = node_claims(spec), (*spec.network.claims, *spec.network.new_file_systems)
    for subnets in dict.fromkeys(claim.subnets for claim in own if claim.subnets):
        room = _addresses(subnets)
        nodes = [claim for claim in own if set(claim.subnets) <= set(subnets)]
        beside = [claim for claim in others if set(claim.subnets) <= set(subnets)]
        needed, taken = (sum(claim.addresses for claim in claims) for claims in (nodes, beside))
        if room is not None and needed + taken > room:
            besides = f" beside the {taken} of {', '.join(claim.user for claim in beside)}" if taken else ""
            yield error(
                "HPS062",
                ", ".join(claim.user for claim in nodes),
                f"these groups need {needed} addresses, one for each network card{besides}; "
                f"got {room} in {', '.join(subnet.name for subnet in subnets)}",
                "Use larger subnets (a new network: cidr), or InterfaceType.EFA_ONLY.",
            )


def node_claims(spec: ClusterSpec) -> tuple[Claim, ...]:
    """Addresses of each group's nodes, in the order of the groups; 0 where the count is not known."""
    return tuple(
        Claim(group.name, spec.network.subnets_of(index), _addresses_needed(group))
        for index, group in enumerate(spec.groups)
    )


def one_zone_for_efa(spec: ClusterSpec) -> Iterator[Finding]:
    for index, group in enumerate(spec.groups):
        zones = _zones(spec.network.subnets_of(index))
        if _has_fabric(group) and len(zones) > 1:
            yield warning(
                "HPS063",
                group.name,
                f"EFA does not cross Availability Zones; got subnets in {', '.join(zones)}, "
                "of which HyperPod takes any",
                "Give subnets of one zone.",
            )


def one_zone_for_a_partition(spec: ClusterSpec) -> Iterator[Finding]:
    zones: dict[str, dict[str, str]] = defaultdict(dict)
    for index, group in enumerate(spec.groups):
        found = _zones(spec.network.subnets_of(index))
        if isinstance(group, ComputeGroup) and _has_fabric(group) and len(found) == 1:
            zones[group.partition_name][group.name] = found[0]
    for partition, by_group in zones.items():
        if len(set(by_group.values())) > 1:
            places = ", ".join(f"{group} in {zone}" for group, zone in by_group.items())
            yield warning(
                "HPS064",
                partition,
                f"a job cannot use EFA across Availability Zones; got {places} in one partition",
                "Give each zone a partition: jobs then stay in one fabric.",
            )


def closed_egress(spec: ClusterSpec) -> Iterator[Finding]:
    for name in spec.network.open_security_groups:
        yield warning(
            "HPS065",
            name,
            "EFA health checks can fail when a security group lets everything out; got one that does",
            "Make it with allow_all_outbound=False and allow all traffic to itself.",
        )


def reach_each_other(spec: ClusterSpec) -> Iterator[Finding]:
    for group, ids in zip(spec.groups, spec.network.group_security_groups, strict=True):
        if ids and not set(ids) & set(spec.network.security_groups):
            yield warning(
                "HPS067",
                group.name,
                "nodes reach the controller and new file systems by the cluster's security groups; got others alone",
                "Add network.security_groups to the group's, or let all traffic through between them, both ways.",
            )


def _subnets_by_user(spec: ClusterSpec) -> Iterator[tuple[str, Sequence[SubnetSpec]]]:
    yield "", spec.network.subnets
    for group, subnets in zip(spec.groups, spec.network.group_subnets, strict=True):
        if subnets:
            yield group.name, subnets


def _addresses(subnets: Sequence[SubnetSpec]) -> int | None:
    """Free addresses in all of them; None when the size of one is not known."""
    try:
        sizes = [ipaddress.ip_network(subnet.cidr, strict=False).num_addresses for subnet in subnets if subnet.cidr]
    except ValueError:  # a token, or whatever an imported subnet was given
        return None
    return sum(sizes) - len(sizes) * _RESERVED_ADDRESSES if len(sizes) == len(subnets) else None


def _addresses_needed(group: InstanceGroup) -> int:
    if not known_number(group.count):
        return 0
    known = facts(group)
    cards = (known.network_cards if known else None) or 1
    if isinstance(group, ComputeGroup) and group.interface_type is InterfaceType.EFA_ONLY:
        cards = 1  # the first card alone has an address
    return int(group.count) * cards


def _zones(subnets: Sequence[SubnetSpec]) -> list[str]:
    return sorted({subnet.zone for subnet in subnets if known_text(subnet.zone)})


def _has_fabric(group: InstanceGroup) -> bool:
    known = facts(group)
    return isinstance(group, ComputeGroup) and known is not None and known.capability is not Capability.NONE


RULES: tuple[Callable[[ClusterSpec], Iterator[Finding]], ...] = (
    number_of_subnets,
    number_of_security_groups,
    room_for_nodes,
    one_zone_for_efa,
    one_zone_for_a_partition,
    closed_egress,
    reach_each_other,
)
