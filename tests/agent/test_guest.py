"""Mode `repair`: a guest mends what doesn't work, and leaves alone what only the checker would have otherwise."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.agent_lab import AgentLab, tree_of
from slurm_lab import Level

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]

# TOPO005 (a key twice, the last one wins) and TOPO046 (a node under two leaves): slurmctld runs with both
ODD = "SwitchName=mine Nodes=nobody Nodes={every}\nSwitchName=also Nodes={first}\nSwitchName=top Switches=mine,also\n"


def lab_with(make: Make, text: str, mode: str) -> AgentLab:
    lab = make("24.11", level=Level.CONTROLLER, settings={"mode": mode})
    names = [node.name for node in lab.lab.nodes]
    lab.lab.plugin = "topology/tree"
    lab.lab.write_topology(text.format(every=",".join(names), first=names[0]))
    lab.lab.write_slurm_conf()
    assert lab.lab.reconfigure().accepted
    lab.write_members(tree_of(lab.lab.nodes, 4))
    return lab


def test_a_file_that_slurmctld_takes_is_not_broken_because_the_checker_is_stricter(make_agent_lab: Make) -> None:
    lab = lab_with(make_agent_lab, ODD, "repair")
    before = lab.conf_files()
    assert lab.reconcile()["reason"] == "not-ours"
    assert lab.conf_files() == before


def test_without_a_rehearsal_a_guest_leaves_it_alone(make_agent_lab: Make) -> None:
    lab = lab_with(make_agent_lab, ODD, "repair")
    before = lab.conf_files()
    done = lab.lab.run(
        "setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "env", "PYTHONPATH=/opt/agent-under-test",
        "python3", "-m", "slurm_topology", "reconcile", "--now",
    )  # fmt: skip
    assert "reason=not-ours" in done.stderr
    assert lab.conf_files() == before


def test_a_file_that_slurmctld_would_refuse_at_its_next_start_is_mended(make_agent_lab: Make) -> None:
    lab = lab_with(make_agent_lab, ODD, "repair")
    lab.lab.write_topology("SwitchName=a Switches=a\n")
    assert lab.reconcile()["action"] == "publish"
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}
