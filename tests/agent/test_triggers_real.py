"""Slurm's node triggers carry the word from other nodes to the controller: kept armed, and what fires them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.agent_lab import AgentLab, tree_of
from slurm_lab import Level, make_nodes, wait_for
from slurm_lab.slurmds import kill_node
from slurm_topology.agent.install import NOTIFIER
from slurm_topology.agent.triggers import NOTIFIER as NOTIFIER_PATH

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]

FIRED = "/run/slurm-topology/fired"
# the real one, which also notes the nodes that Slurm names
NOTING = NOTIFIER.replace("exec", f'echo "$*" >>{FIRED}\nexec')
AS_SLURM = ("setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups")


def armed(lab: AgentLab) -> list[str]:
    lines = lab.lab.run("strigger", "--get").stdout.splitlines()
    return [line.split()[0] for line in lines if line.rstrip().endswith(NOTIFIER_PATH)]


def request_time(lab: AgentLab) -> str:
    return lab.lab.run("stat", "-c", "%y", "/run/slurm-topology/request").stdout


def test_triggers_are_kept_armed_and_fire_when_a_node_goes_and_comes_back(make_agent_lab: Make) -> None:
    lab = make_agent_lab("26.05", level=Level.SLURMD, nodes=2)
    lab.lab.box.write_text(NOTIFIER_PATH, NOTING, 0o755)
    lab.write_members(tree_of(lab.lab.nodes, 1))
    lab.settle()
    assert len(armed(lab)) == 2

    # all is well, so the passes are glances; then Slurm forgets the triggers, and nothing else changes
    wait_for(lambda: "start slurmctld -V" not in lab.ask()["points"], "a pass is a glance")
    for number in armed(lab):
        lab.lab.run(*AS_SLURM, "strigger", "--clear", f"--id={number}", check=True)
    assert armed(lab) == []
    assert lab.reconcile()["reason"] == "in-force"
    assert len(armed(lab)) == 2

    # a new node is no event for Slurm's triggers; one that goes down and registers again is two
    every = make_nodes(3)
    lab.lab.run("install", "-o", "slurm", "/dev/null", FIRED, check=True)
    before = request_time(lab)
    assert lab.lab.scale(every).accepted
    lab.lab.scontrol("update", f"NodeName={every[0].name}", "State=DOWN", "Reason=test")
    kill_node(lab.lab.box, every[0].name)
    lab.lab.start_slurmds([lab.lab.nodes[0]], "-b")

    def fired() -> list[str]:
        return lab.lab.box.read_text(FIRED).split()

    wait_for(lambda: len(fired()) >= 2, "Slurm runs its triggers", seconds=40, explain=lambda: str(fired()))
    assert fired() == [every[0].name] * 2
    assert request_time(lab) > before
