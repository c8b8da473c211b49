"""Two controllers with one configuration folder: one acts, the other takes over, and no fight comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from agent.agent_lab import AgentLab, tree_of
from slurm_lab import Lab, Level, wait_for
from slurm_lab.second import TWO_CONTROLLERS, SecondBox, second_lab

pytestmark = pytest.mark.slurm

LEAVES = {"nn-leaf0", "nn-leaf1"}


class Pair(NamedTuple):
    """The same cluster, from its first controller and from its second one."""

    first: AgentLab
    second: AgentLab

    def second_is_up(self) -> bool:
        return "backup) at standby is UP" in self.first.lab.run("scontrol", "ping").stdout

    def first_is_back(self) -> None:
        """In this order: a first one that starts waits half a minute for a second one that has ever reconfigured."""
        self.second.lab.controller.stop()
        self.first.lab.controller.start()
        self.second.lab.controller.launch()
        wait_for(self.second_is_up, "the second stands by", explain=self.second.lab.controller.last_words)

    def wait_for_the_second(self) -> None:
        wait_for(self.second_in_charge, "the second takes over", explain=self.second.lab.controller.last_words)

    def second_in_charge(self) -> bool:
        return self.second.lab.run("scontrol", "show", "config").returncode == 0

    def move(self, number: int, leaf: int) -> str:
        """HyperPod's file: a node is under another leaf now."""
        members = tree_of(self.first.lab.nodes, 4)
        members[number] = members[number].moved_to(leaf)
        self.first.write_members(members)
        return self.first.lab.nodes[number].name


@pytest.fixture
def pair(make_agent_lab: Callable[..., AgentLab], slurm_version: str) -> Iterator[Pair]:
    """Both run, nothing is published yet."""
    first = make_agent_lab(slurm_version, level=Level.SLURMD, start=False, conf=TWO_CONTROLLERS)
    with SecondBox(first.lab.box) as box:
        first.lab.controller.start()
        first.lab.start_slurmds(first.lab.nodes)
        lab: Lab = second_lab(first.lab, box)
        second = AgentLab(lab, slurmctld_wait_seconds=1.0)
        lab.controller.launch()
        both = Pair(first, second)
        wait_for(both.second_is_up, "the second controller stands by", explain=lab.controller.last_words)
        first.write_members(tree_of(first.lab.nodes, 4))
        yield both
        second.close()


def test_one_acts_and_the_other_takes_over(pair: Pair) -> None:
    first, second = pair
    assert second.reconcile()["reason"] == "standby"
    first.settle()
    assert set(first.unit_of().values()) == LEAVES
    assert second.reconcile()["reason"] == "standby"
    job = first.lab.jobs.submit(3)
    first.lab.jobs.wait_running(job)

    # `scontrol ping` calls the second one up long before it is in charge: it refuses everything until then
    first.lab.controller.stop()
    assert second.reconcile()["action"] == "nothing"
    pair.wait_for_the_second()
    # while nobody watched the first, a node was replaced
    moved = pair.move(7, 0)
    second.settle()
    assert second.unit_of()[moved] == "nn-leaf0"
    assert second.lab.jobs.get(job).state == "RUNNING"

    # the first comes back, and finds a file that it didn't write: it is right, so there is nothing to fight about
    pair.first_is_back()
    assert first.reconcile()["reason"] == "in-force"
    assert first.unit_of()[moved] == "nn-leaf0"
    assert second.reconcile()["action"] == "nothing"
    for lab in pair:
        assert not lab.state()["counters"].get("reverts"), lab.state()["counters"]
    moved = pair.move(6, 0)
    first.settle()
    assert first.unit_of()[moved] == "nn-leaf0"
    assert first.lab.jobs.get(job).state == "RUNNING"


def test_both_are_down_because_of_the_topology(pair: Pair) -> None:
    """One mends the shared folder, the first one by preference."""
    first, second = pair
    first.settle()
    job = first.lab.jobs.submit(3)
    first.lab.jobs.wait_running(job)
    second.lab.controller.stop()
    first.lab.controller.stop()
    bad = "[]\n" if first.lab.topology_file == "topology.yaml" else "SwitchName=a Switches=nothing\n"
    first.lab.write_topology(bad)
    first.configure(slurmctld_wait_seconds=0.1)

    record = second.reconcile()
    assert (record["action"], record["reason"]) == ("nothing", "slurm-down"), "it isn't its turn yet"
    record = first.reconcile(failed=True)  # nobody starts slurmctld here
    assert (record["action"], record["reason"]) == ("rescue", "down-by-topology")
    first.lab.controller.start()
    second.lab.controller.launch()
    first.settle()
    assert set(first.unit_of().values()) == LEAVES
    assert first.lab.jobs.get(job).state == "RUNNING"
