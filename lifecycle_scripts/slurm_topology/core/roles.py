"""Which instance group is the controller, which is for logins, which computes.

resource_config.json doesn't say it. With the plan's groups it is known; without, it is told from what is at hand, most
certain first: the partitions that name the group, a login group's name, the controllers' addresses, the nodes that
Slurm has (a controller runs no slurmd), the partitions that don't name it (a Compute group is in one), and the name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from .model import NodeRole

__all__ = ["guess_roles"]

_CONTROLLER_NAME = re.compile(
    r"(?:^|.*[-_])(?:slurm)?(?:controller|ctld|head|headnode|master)(?:[-_\d].*)?", re.IGNORECASE
)
_LOGIN_NAME = re.compile(r"(?:^|.*[-_])login(?:node|s)?(?:[-_\d].*)?", re.IGNORECASE)


def guess_roles(
    instances_in_group: Mapping[str, int],
    *,
    in_partitions: Collection[str] | None,
    with_controller_address: Collection[str],
    in_slurm: Mapping[str, int] | None,
) -> dict[str, NodeRole]:
    """Group name → role, for every group in ``instances_in_group``.

    ``in_partitions``: the groups that partitions name, None when nobody knows the partitions. ``in_slurm``: group
    name → its nodes in Slurm, None when Slurm wasn't asked.
    """
    roles: dict[str, NodeRole] = {}
    for group, instances in instances_in_group.items():
        nodes = in_slurm.get(group, 0) if in_slurm else None
        if in_partitions is not None and group in in_partitions:
            roles[group] = NodeRole.COMPUTE
        elif _LOGIN_NAME.fullmatch(group):
            roles[group] = NodeRole.LOGIN
        elif group in with_controller_address:
            roles[group] = NodeRole.CONTROLLER
        elif nodes:
            roles[group] = NodeRole.COMPUTE
        elif in_partitions is not None:
            roles[group] = NodeRole.CONTROLLER
        elif nodes is None or not instances:
            roles[group] = NodeRole.CONTROLLER if _CONTROLLER_NAME.fullmatch(group) else NodeRole.COMPUTE
        else:
            roles[group] = NodeRole.CONTROLLER
    return roles
