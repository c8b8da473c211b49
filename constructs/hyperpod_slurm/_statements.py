"""Policy statements as values, and how they get to a role. Which ones there are: permissions.py."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from ._interfaces import implements
from ._nag import acknowledge_wildcards
from ._tokens import resolved_text

__all__ = ["Holder", "Statement", "allow", "arn_of", "holder_of", "own_policy", "use_key", "with_key"]


Holder = iam.IRole | iam.Policy
"""What statements are added to: a role, or a policy that is attached to one."""


class Statement(NamedTuple):
    """``why`` says why a resource has to be a pattern, where one is."""

    sid: str
    actions: Sequence[str]
    resources: Sequence[str]
    conditions: Mapping[str, Any] | None = None
    why: str = ""

    def as_json(self, stack: Stack) -> str:
        """For a policy that people write: references to resources of ``stack`` as ``<LogicalId>``."""
        resources = [resolved_text(one) for one in stack.resolve(list(self.resources))]
        document = {"Sid": self.sid, "Effect": "Allow", "Action": list(self.actions), "Resource": resources}
        return json.dumps({**document, **({"Condition": dict(self.conditions)} if self.conditions else {})})


def holder_of(scope: Construct, role: iam.IRole, id: str) -> Holder:  # noqa: A002 - CDK's name for it
    """What holds a role's statements about the cluster ``scope``: the role; of another stack, a policy in this one.

    The cluster names its roles, and their statements name what is in the cluster's stack: two stacks that name each
    other can't be deployed.
    """
    return role if Stack.of(role).node.path == Stack.of(scope).node.path else own_policy(scope, id, role)


def own_policy(scope: Construct, id: str, role: iam.IRole) -> iam.Policy:  # noqa: A002 - CDK's name for it
    """A policy of ``role`` that is no part of the role, made when it is first needed."""
    made = scope.node.try_find_child(id)
    if isinstance(made, iam.Policy):
        return made
    policy = iam.Policy(scope, id)
    role.attach_inline_policy(policy)  # asks the role, unlike the policy's own methods: it may take none
    return policy


def use_key(role: Holder, key: kms.IKey, sid: str, *actions: str) -> list[Statement]:
    needed = with_key(role, key, Statement(sid, actions, []))
    if needed.conditions:
        return allow(role, needed)
    _key_itself(key).grant(role, *actions)
    return [needed]


def with_key(role: Holder, key: kms.IKey, statement: Statement) -> Statement:
    """``statement`` about a key. Requests name keys, never aliases, so an alias is a condition on all keys (KMS
    developer guide, "Use aliases to control access to KMS keys")."""
    known = _key_itself(key)
    if not implements(known, kms.IAlias):
        return statement._replace(resources=[known.key_arn])
    alias = {"ForAnyValue:StringEquals": {"kms:ResourceAliases": cast(kms.IAlias, known).alias_name}}
    keys = arn_of(Stack.of(role), "kms", "key/*")
    why = "whose alias it is, KMS alone knows; the condition names the one alias"
    return statement._replace(resources=[keys], conditions={**alias, **(statement.conditions or {})}, why=why)


def _key_itself(key: kms.IKey) -> kms.IKey:
    """The key behind an alias; the alias itself where it is known by its name alone."""
    if not implements(key, kms.IAlias):
        return key
    try:
        return cast(kms.IAlias, key).alias_target_key
    except RuntimeError:  # Alias.from_alias_name knows none
        return key


def allow(role: Holder, *statements: Statement) -> list[Statement]:
    for one in statements:
        made = iam.PolicyStatement(
            sid=one.sid, actions=list(one.actions), resources=list(one.resources), conditions=one.conditions
        )
        if isinstance(role, iam.Policy):
            role.add_statements(made)
        else:
            role.add_to_principal_policy(made)
    acknowledge_wildcards(role, {arn: one.why for one in statements if one.why for arn in one.resources})
    return list(statements)


def arn_of(stack: Stack, service: str, resource: str, account: str | None = None) -> str:
    return stack.format_arn(service=service, resource=resource, account=account, arn_format=ArnFormat.NO_RESOURCE_NAME)
