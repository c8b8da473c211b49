"""The rule about roles that were brought. Id HPS070. Checked after the grants, unlike the rules of a ClusterSpec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slurm_topology.core.model import Finding

from ._rules import warning

__all__ = ["RoleSpec", "grants_land"]


class RoleSpec(NamedTuple):
    """A role that was brought: whether CDK can change it, and what instances need of it."""

    path: str
    takes_policies: bool
    needs: tuple[str, ...]  # policy statements


def grants_land(roles: Sequence[RoleSpec]) -> Iterator[Finding]:
    for role in roles:
        if not role.takes_policies:
            yield warning(
                "HPS070",
                role.path,
                "this role takes no policies from CDK (mutable=False, without_policy_updates, another account's), so "
                f"whoever keeps it has to allow what instances need: {', '.join(role.needs)}",
                "Add these statements to it, then acknowledge this warning; or import it with mutable=True.",
            )
