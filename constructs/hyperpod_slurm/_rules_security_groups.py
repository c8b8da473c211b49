"""The rule about rules of security groups that were brought. Id HPS068. Checked at the end of a synthesis, because
rules may be added until then, unlike the rules of a ClusterSpec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jsii
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IConstruct, IValidation

from slurm_topology.core.model import Finding

from ._report import report
from ._rules import warning

__all__ = ["check_at_synth"]

_ALL = "-1"  # every protocol (EC2 API, IpPermission)


def check_at_synth(construct: Construct, sets: Mapping[str, Sequence[ec2.ISecurityGroup]]) -> None:
    """Warn at ``construct`` about sets of security groups whose members may not reach each other.

    ``sets``: whose they are → those that its nodes have. A set with an imported one is not judged: nobody knows its
    rules.
    """
    known = {
        user: [group for group in groups if isinstance(group, ec2.SecurityGroup)]
        for user, groups in sets.items()
        if groups and all(isinstance(group, ec2.SecurityGroup) for group in groups)
    }
    if known:
        construct.node.add_validation(_AtSynth(construct, known))


@jsii.implements(IValidation)
class _AtSynth:
    """A validation that finds no errors: CDK asks it once all rules are there, and shows the warnings it adds."""

    def __init__(self, construct: Construct, sets: Mapping[str, Sequence[ec2.SecurityGroup]]) -> None:
        self._construct = construct
        self._sets = sets

    def validate(self) -> list[str]:
        report(self._construct, list(_members_reach_each_other(self._sets)), None)
        self._sets = {}  # once is enough, however often the app is synthesized
        return []


def _members_reach_each_other(sets: Mapping[str, Sequence[ec2.SecurityGroup]]) -> Iterator[Finding]:
    for user, groups in sets.items():
        missing = [word for word, open_ in (("in", _lets_in), ("out", _lets_out)) if not any(map(open_, groups))]
        if missing:
            yield warning(
                "HPS068",
                user,
                "EFA and Slurm need all traffic between nodes, in and out; got no such rule for "
                f"{' nor '.join(missing)} from {', '.join(group.node.path for group in groups)} to itself",
                "Add one: group.connections.allow_internally(ec2.Port.all_traffic()).",
            )


def _lets_in(group: ec2.SecurityGroup) -> bool:
    rules = _rules(group, ec2.CfnSecurityGroupIngress)
    return any(rule.ip_protocol == _ALL and _is(group, rule.source_security_group_id) for rule in rules)


def _lets_out(group: ec2.SecurityGroup) -> bool:
    rules = _rules(group, ec2.CfnSecurityGroupEgress)
    return group.allow_all_outbound or any(
        rule.ip_protocol == _ALL and _is(group, rule.destination_security_group_id) for rule in rules
    )


def _rules(group: ec2.SecurityGroup, kind: type[Any]) -> Iterator[Any]:
    """Rules of this group: CDK makes those that name a group as resources below one of the two; others anywhere."""
    seen = set()
    places: tuple[IConstruct, ...] = (group, Stack.of(group))
    for place in places:
        for node in place.node.find_all():
            if isinstance(node, kind) and node.node.path not in seen and _is(group, node.group_id):
                seen.add(node.node.path)
                yield node


def _is(group: ec2.SecurityGroup, id: str | None) -> bool:  # noqa: A002 - CDK's name for it
    stack = Stack.of(group)
    return id is not None and stack.resolve(id) == stack.resolve(group.security_group_id)
