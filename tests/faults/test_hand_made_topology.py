"""A topology made by hand: not touched by an agent that may only look, and not lost to one that may act."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.agent_lab import AgentLab, tree_of
from slurm_lab import make_nodes
from slurm_topology.core.hostlist import fold

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]

NODES = make_nodes(8)
HAND_MADE = f"# by hand, in March\nSwitchName=mine Nodes={fold(node.name for node in NODES)} LinkSpeed=7\n"


def lab_with_hand_made_topology(make_agent_lab: Make, mode: str) -> AgentLab:
    """Slurm runs with it, it is good, and the network has another one."""
    lab = make_agent_lab("24.11", plugin="topology/tree", topology=HAND_MADE, settings={"mode": mode})
    lab.write_members(tree_of(NODES, 4))
    return lab


@pytest.mark.parametrize(("mode", "reason"), [("observe", "observing"), ("repair", "not-ours")])
def test_an_agent_that_was_not_asked_leaves_a_hand_made_topology_alone(
    make_agent_lab: Make, mode: str, reason: str
) -> None:
    lab = lab_with_hand_made_topology(make_agent_lab, mode)
    before, pid = lab.conf_files(), lab.lab.controller.pid()
    assert lab.reconcile()["reason"] == reason
    assert lab.conf_files() == before
    assert lab.lab.controller.pid() == pid, "no reconfigure"


def test_a_hand_made_topology_that_was_replaced_comes_back_with_uninstall(make_agent_lab: Make) -> None:
    """`own` replaces it, which is what it is for; every byte is kept, and comes back into force."""
    lab = lab_with_hand_made_topology(make_agent_lab, "own")
    before = lab.conf_files()
    lab.settle()
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}
    assert "edits get lost" in lab.conf_files()["topology.conf"], "it says so where an editor sees it"
    done = lab.run("uninstall", "--prefix", "/tmp/nothing-installed")
    assert done.returncode == 0, done.stderr
    assert lab.conf_files() == before
    assert set(lab.unit_of().values()) == {"mine"}
