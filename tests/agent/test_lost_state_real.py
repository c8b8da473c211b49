"""An agent without memory (a wiped disk, a controller that stood by until now) isn't in the cluster's first boot."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.agent_lab import STATE, AgentLab, tree_of
from slurm_lab import Level, make_nodes

pytestmark = pytest.mark.slurm


def test_a_change_is_published_at_once_though_an_instance_is_still_to_come(
    make_agent_lab: Callable[..., AgentLab], slurm_version: str
) -> None:
    lab = make_agent_lab(slurm_version, level=Level.CONTROLLER)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    lab.lab.run("sh", "-c", f"rm -r {STATE}/*", check=True)
    members = tree_of(make_nodes(9), 4)  # the ninth isn't a node yet
    members[7] = members[7].moved_to(0)
    lab.write_members(members)
    assert lab.reconcile()["reason"] == "changed"
    assert lab.unit_of()[lab.lab.nodes[7].name] == "nn-leaf0"
