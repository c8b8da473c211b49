"""Which instance group is the controller, which is for logins, which computes.

resource_config.json doesn't say it. With the plan's groups it is known; without, it is told from what is at hand, most certain
first: the partitions (a Compute group is in one, the others in none), the controllers' addresses, the nodes that Slurm has (a controller
runs no slurmd), and at last the group's name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from .model import NodeRole

__all__ = ["guess_roles"]

_CONTROLLER_NAME = re.compile(
    r"(?:^|[-_])(?:slurm)?(?:controller|ctl|ctld|slurmctld|head|headnode|master)(?:[-_\d]|$)", re.IGNORECASE
)
_LOGIN_NAME = re.compile(r"(?:^|[-_])(?:login|loginnode|submit|bastion)(?:[-_\d]|$)", re.IGNORECASE)


def guess_roles(
    groups: Collection[str],
    *,
    in_partitions: Collection[str] | None,
    with_controller_address: Collection[str],
    with_slurm_nodes: Mapping[str, int] | None,
) -> dict[str, NodeRole]:
    """Group name → role. ``in_partitions`` and ``with_slurm_nodes`` are None when nobody knows."""
    roles: dict[str, NodeRole] = {}
    for group in groups:
        named = _by_name(group)
        if in_partitions is not None:
            outside = NodeRole.LOGIN if named is NodeRole.LOGIN else NodeRole.CONTROLLER
            roles[group] = NodeRole.COMPUTE if group in in_partitions else outside
        elif group in with_controller_address:
            roles[group] = NodeRole.CONTROLLER
        elif named is NodeRole.CONTROLLER and with_slurm_nodes and with_slurm_nodes.get(group):
            roles[group] = NodeRole.COMPUTE
        else:
            roles[group] = named
    return roles


def _by_name(group: str) -> NodeRole:
    if _CONTROLLER_NAME.search(group):
        return NodeRole.CONTROLLER
    return NodeRole.LOGIN if _LOGIN_NAME.search(group) else NodeRole.COMPUTE
