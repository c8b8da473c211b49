"""A topology file that SlurmUser can't read: slurmctld dies of it, at its next start or reconfigure."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.agent_lab import AgentLab, tree_of
from slurm_lab import Level

pytestmark = pytest.mark.slurm
LEAVES = {"nn-leaf0", "nn-leaf1"}


@pytest.fixture
def lab(make_agent_lab: Callable[..., AgentLab], slurm_version: str) -> AgentLab:
    made = make_agent_lab(slurm_version, level=Level.CONTROLLER)
    made.write_members(tree_of(made.lab.nodes, 4))
    made.settle()
    return made


def lock_away(lab: AgentLab) -> None:
    """As a tool with a tight umask leaves it."""
    path = lab.lab.path(lab.lab.topology_file)
    lab.lab.run("chown", "root:root", path, check=True)
    lab.lab.run("chmod", "600", path, check=True)


def test_it_is_found_while_slurmctld_still_runs(lab: AgentLab) -> None:
    lock_away(lab)
    record = lab.reconcile()
    assert (record["action"], record["reason"]) == ("restore-file", "file-wrong")
    assert lab.lab.reconfigure().accepted
    assert lab.reconcile()["reason"] == "in-force"


def test_a_slurmctld_that_is_down_because_of_it_is_rescued(lab: AgentLab) -> None:
    lock_away(lab)
    lab.lab.controller.stop()
    lab.lab.controller.launch()
    assert not lab.lab.controller.answers()
    lab.configure(slurmctld_wait_seconds=0.1)
    record = lab.reconcile(failed=True)  # nobody starts slurmctld here
    assert (record["action"], record["reason"]) == ("rescue", "down-by-topology")
    said = next(finding["message"] for finding in record["findings"] if finding["id"] == "AGENT016")
    assert "can't be read by SlurmUser (slurm)" in said
    lab.lab.controller.start()
    lab.configure()
    lab.settle()
    assert set(lab.unit_of().values()) == LEAVES


def test_what_a_group_of_slurmusers_may_read_is_readable(lab: AgentLab) -> None:
    path = lab.lab.path(lab.lab.topology_file)
    lab.lab.run("sh", "-c", "grep -q ^topo: /etc/group || echo topo:x:4711:slurm >>/etc/group", check=True)
    lab.lab.run("chown", "root:topo", path, check=True)
    lab.lab.run("chmod", "640", path, check=True)
    lab.lab.controller.restart()  # it takes its groups when it starts; and it starts, so it can read the file
    assert lab.reconcile()["reason"] == "in-force"
    assert lab.lab.run("stat", "-c", "%a", path).stdout.strip() == "640"


def test_slurm_24_11_leaves_a_topology_yaml_alone(make_agent_lab: Callable[..., AgentLab]) -> None:
    """Prepared for the upgrade; it isn't read before 25.05."""
    lab = make_agent_lab("24.11", level=Level.CONTROLLER)
    lab.lab.write_topology("- topology: prepared\n", "topology.yaml")
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    assert lab.conf_files()["topology.yaml"] == "- topology: prepared\n"
