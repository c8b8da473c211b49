"""The roles of a cluster's instances: made or brought, each with what its instances need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from slurm_topology.core.model import Finding, NodeRole

from . import _rules_roles, permissions
from ._rules_roles import RoleSpec
from ._statements import Holder, Statement, holder_of
from .instance_group import InstanceGroup

__all__ = ["InstanceRoles", "make_roles"]


@dataclass(frozen=True)
class InstanceRoles:
    """``nodes``: of compute and login nodes. ``granted``: roles that were brought, what holds their statements, and
    what they need. ``awaited``: what a node may not start without."""

    nodes: iam.IRole
    controller: iam.IRole
    granted: Sequence[tuple[iam.IRole, Holder, Sequence[Statement]]]
    awaited: Sequence[Holder]

    def findings(self) -> list[Finding]:
        """What to say about them, once something refers to each: a role of ``LazyRole`` is made only then."""
        specs = []
        for role, holder, needs in self.granted:
            texts = tuple(one.as_json(Stack.of(holder)) for one in needs)
            specs.append(RoleSpec(role.node.path, _takes_policies(holder), texts))
        return list(_rules_roles.grants_land(specs))


def make_roles(
    scope: Construct,
    groups: Sequence[InstanceGroup],
    *,
    nodes: iam.IRole | None,
    controller: iam.IRole | None,
    instance: permissions.InstanceScope,
    volume_keys: Sequence[kms.IKey],
    secret: secretsmanager.ISecret | None,
) -> InstanceRoles:
    """``nodes`` and ``controller`` are those that were brought, ``secret`` that of the accounting database."""
    of_groups = [group.execution_role for group in groups if group.execution_role is not None]
    brought = {role.node.path: role for role in (nodes, controller, *of_groups) if role is not None}
    controller = controller or nodes or permissions.make_instance_role(scope, "ControllerRole")
    nodes = nodes or permissions.make_instance_role(scope, "ExecutionRole")
    every = _once(nodes, controller, *of_groups)
    holders = {role.node.path: holder_of(scope, role, f"RolePolicy{role.node.addr[-8:]}") for role in every}
    needs: dict[str, list[Statement]] = defaultdict(list)
    for path, holder in holders.items():
        needs[path] += permissions.allow_instance(holder, instance)
        for key in volume_keys:
            needs[path] += permissions.allow_volumes(holder, key)
    for role in _once(controller, *_controllers_own(groups)):
        path = role.node.path
        needs[path] += permissions.allow_agent(holders[path])
        if secret is not None:
            needs[path] += permissions.allow_accounting(holders[path], role, secret)
    granted = [(role, holders[path], needs[path]) for path, role in brought.items()]
    return InstanceRoles(nodes, controller, granted, [*every, *holders.values()])


def _once(*roles: iam.IRole) -> list[iam.IRole]:
    return list({role.node.path: role for role in roles}.values())


def _controllers_own(groups: Sequence[InstanceGroup]) -> list[iam.IRole]:
    controllers = [group for group in groups if group.role is NodeRole.CONTROLLER]
    return [group.execution_role for group in controllers if group.execution_role is not None]


def _takes_policies(holder: Holder) -> bool:
    """Whether what was granted has become a policy below the role, or one that is attached to it. CDK tells it in no
    other way: the role that ``mutable=False`` gives says "added" to every statement, and drops it."""
    policies = [child for child in holder.node.find_all() if isinstance(child, iam.CfnPolicy)]
    return any(Stack.of(holder).resolve(policy.roles) for policy in policies)
