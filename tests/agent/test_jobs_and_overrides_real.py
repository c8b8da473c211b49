"""Pending jobs stay eligible, and overrides on nodes are found before they do harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.agent_lab import STATE, AgentLab, tree_of
from slurm_lab import Level, make_nodes, wait_for

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]


def partial_topology(lab: AgentLab, missing: str) -> str:
    """The file that is there, without one node: what a careless writer publishes."""
    text = lab.conf_files()[lab.lab.topology_file]
    last = missing.rsplit("-", 1)[1]
    return text.replace(f"-{last}]", f"-{int(last) - 1}]") if f"-{last}]" in text else text.replace(missing, "nobody")


def held(lab: AgentLab, job: int) -> bool:
    seen = lab.lab.jobs.get(job)
    return seen.state == "PENDING" and seen.priority == 0


def test_a_job_as_large_as_the_cluster_outlives_a_careless_writer(make_agent_lab: Make, slurm_version: str) -> None:
    """Another writer publishes a topology without one node; the job is held as BadConstraints; we publish, and free it.

    A job that its user holds, and one that was BadConstraints before, stay as they are.
    """
    lab = make_agent_lab(slurm_version, level=Level.SLURMD)
    nodes = lab.lab.nodes
    lab.write_members(tree_of(nodes, 4))
    lab.settle()
    blocker = lab.lab.jobs.submit(1)
    lab.lab.jobs.wait_running(blocker)
    whole, users = lab.lab.jobs.submit(8), lab.lab.jobs.submit(8, "--hold")
    lab.lab.write_topology(partial_topology(lab, nodes[7].name))
    assert lab.lab.reconfigure().accepted
    lab.lab.jobs.cancel(blocker)
    wait_for(lambda: held(lab, whole), "the careless writer's topology holds the job", seconds=40)
    record = lab.reconcile()
    assert record["action"] == "publish"
    assert str(whole) in record["released"], record
    assert len(lab.lab.jobs.wait_running(whole).nodes) == 8
    assert lab.lab.jobs.get(users).reason == "JobHeldUser"


@pytest.mark.parametrize("looked_between", [False, True])
def test_a_job_that_one_change_holds_is_freed_by_the_next(
    make_agent_lab: Make, slurm_version: str, looked_between: bool
) -> None:
    """Two zones don't hold a job of the cluster's size; then the nodes turn out to be in one."""
    lab = make_agent_lab(slurm_version, level=Level.SLURMD, nodes=4)
    one = tree_of(lab.lab.nodes, 2)
    lab.write_members(one)
    lab.settle()
    blocker = lab.lab.jobs.submit(1)
    lab.lab.jobs.wait_running(blocker)
    whole = lab.lab.jobs.submit(4)
    two = [*one[:2], *(replace(member, path=("nn-z", "nn-y", "nn-x"), instance_id="i-z") for member in one[2:])]
    zones = {two[0].instance_id: ["usw2-az1", None, None, None], "i-z": ["usw2-az2", None, None, None]}
    lab.lab.box.write_text(f"{STATE}/instances.json", json.dumps({"format": 1, "instances": zones}))
    lab.write_members(two)
    record = lab.reconcile()
    assert record["reason"] == "changed"
    said = next(finding["message"] for finding in record["findings"] if finding["id"] == "AGENT032")
    assert "partition all can have 2 nodes from now on, before it was 4" in said
    wait_for(lambda: held(lab, whole), "the change holds the job", seconds=40)
    if looked_between:
        assert lab.reconcile()["released"] == [str(whole)]
        wait_for(lambda: held(lab, whole), "it doesn't fit: it is held again", seconds=40)
    lab.lab.box.write_text(f"{STATE}/instances.json", json.dumps({"format": 1, "instances": {}}))
    lab.write_members(one)
    record = lab.reconcile()
    assert record["reason"] == "changed"
    assert record["released"] == [str(whole)]
    lab.lab.jobs.cancel(blocker)
    assert len(lab.lab.jobs.wait_running(whole).nodes) == 4


def test_a_job_that_was_held_before_stays_held(make_agent_lab: Make) -> None:
    """BadConstraints when the topology was last right: it isn't our doing, so it isn't ours to release."""
    lab = make_agent_lab("24.11", level=Level.SLURMD)
    nodes = lab.lab.nodes
    lab.write_members(tree_of(nodes, 4))
    lab.settle()
    blocker = lab.lab.jobs.submit(1)
    lab.lab.jobs.wait_running(blocker)
    whole = lab.lab.jobs.submit(8)
    careless = partial_topology(lab, nodes[7].name)
    right = lab.conf_files()["topology.conf"]
    lab.lab.write_topology(careless)
    assert lab.lab.reconfigure().accepted
    lab.lab.jobs.cancel(blocker)
    wait_for(lambda: held(lab, whole), "the job is held", seconds=40)
    # somebody else puts it right, and leaves the job held, perhaps on purpose
    lab.lab.write_topology(right)
    assert lab.lab.reconfigure().accepted
    assert lab.reconcile()["reason"] == "in-force"
    lab.write_members(tree_of(nodes, 2))
    assert lab.reconcile()["released"] == []
    assert held(lab, whole)


def test_jobs_of_a_killed_pass_are_released_even_when_slurmctld_is_down_at_the_next_one(make_agent_lab: Make) -> None:
    """The journal is the only one who knows these jobs: it stays until they are free."""
    lab = make_agent_lab("24.11", level=Level.SLURMD)
    nodes = lab.lab.nodes
    lab.write_members(tree_of(nodes, 4))
    lab.settle()
    blocker = lab.lab.jobs.submit(1)
    lab.lab.jobs.wait_running(blocker)
    whole = lab.lab.jobs.submit(8)
    right = lab.conf_files()["topology.conf"]
    lab.lab.write_topology(partial_topology(lab, nodes[7].name))
    assert lab.lab.reconfigure().accepted
    lab.lab.jobs.cancel(blocker)
    wait_for(lambda: held(lab, whole), "the topology holds the job", seconds=40)
    lab.lab.write_topology(right)
    assert lab.lab.reconfigure().accepted
    after = {"topology.conf": right, "topology.yaml": None, "TopologyPlugin": "topology/tree"}
    journal = {
        "format": 1, "started_at": 1.0, "conf_path": lab.lab.path("slurm.conf"), "slurm_version": "24.11.5",
        "before": {**after, "topology.conf": "SwitchName=x Nodes=y\n"}, "after": after,
    }  # fmt: skip
    lab.lab.box.write_text(f"{STATE}/transaction.json", json.dumps(journal))
    lab.lab.controller.stop()
    assert lab.reconcile()["reason"] == "slurm-down"
    lab.lab.controller.start()
    record = lab.reconcile()
    assert (record["reason"], record["released"]) == ("in-force", [str(whole)])
    assert len(lab.lab.jobs.wait_running(whole).nodes) == 8
    assert not lab.lab.box.exists(f"{STATE}/transaction.json")
    assert lab.state()["held_jobs"] == []


def test_replacement_with_a_pending_job_of_cluster_size(make_agent_lab: Make, slurm_version: str) -> None:
    """HyperPod takes the node out of slurm.conf and puts it back later, forgetting the topology both times."""
    every = make_nodes(8)
    lab = make_agent_lab(slurm_version, level=Level.SLURMD)
    members = tree_of(every, 4)
    lab.write_members(members)
    lab.settle()
    lab.lab.plugin = "topology/tree" if slurm_version == "24.11" else "topology/flat"
    small = lab.lab.jobs.submit(2)
    lab.lab.jobs.wait_running(small)
    whole = lab.lab.jobs.submit(8)
    assert lab.lab.scale(every[:7]).accepted
    lab.write_members(members[:7])
    lab.settle()
    assert lab.lab.scale(every).accepted
    members[7] = members[7].moved_to(0)
    lab.write_members(members)
    lab.settle()
    assert lab.unit_of()[every[7].name] == "nn-leaf0"
    assert lab.lab.jobs.get(small).state == "RUNNING"
    assert lab.lab.jobs.get(whole).priority > 0, lab.lab.jobs.get(whole)
    lab.lab.jobs.cancel(small)
    assert len(lab.lab.jobs.wait_running(whole, seconds=60).nodes) == 8


def with_override(make: Make) -> tuple[AgentLab, str]:
    """26.05, CLOUD nodes that are up, one with an override that is saved; all settled."""
    lab = make("26.05", level=Level.CLOUD)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    job = lab.lab.jobs.submit(8)
    lab.lab.jobs.where(job)
    node = lab.lab.nodes[0].name
    lab.lab.scontrol("update", f"NodeName={node}", "Topology=tree:nn-leaf1")
    return lab, node


def test_an_override_is_reported_and_not_fought(make_agent_lab: Make) -> None:
    lab, node = with_override(make_agent_lab)
    records = [lab.reconcile() for _ in range(3)]
    assert [record["reason"] for record in records] == ["in-force"] * 3
    assert lab.unit_of()[node] == "nn-leaf1"
    finding = next(each for each in records[0]["findings"] if each["id"] == "AGENT029")
    assert finding["remedy"] == f"scontrol update NodeName={node} Topology="


def test_a_unit_that_an_override_names_is_not_taken_away(make_agent_lab: Make) -> None:
    """Publishing would be refused, and slurmctld wouldn't start any more."""
    lab, node = with_override(make_agent_lab)
    before = lab.conf_files()
    lab.write_members(tree_of(lab.lab.nodes, 8))
    record = lab.reconcile()
    assert record["reason"] == "overrides"
    assert "AGENT022" in [finding["id"] for finding in record["findings"]]
    assert lab.conf_files() == before
    lab.lab.scontrol("update", f"NodeName={node}", "Topology=")
    assert lab.reconcile()["reason"] == "changed"


def test_slurmctld_that_is_down_because_an_override_lost_its_leaf_is_brought_back(make_agent_lab: Make) -> None:
    """The rehearsal sees the override, because it has a copy of slurmctld's node state."""
    lab, node = with_override(make_agent_lab)
    lab.lab.controller.stop()
    text = lab.conf_files()["topology.yaml"].replace("nn-leaf1", "nn-other")
    lab.lab.write_topology(text)
    lab.lab.controller.launch()
    wait_for(lambda: not lab.lab.controller.alive(), "slurmctld dies of the override")
    lab.configure(slurmctld_wait_seconds=0.1)
    record = lab.reconcile(failed=True)
    assert record["action"] == "rescue"
    lab.lab.controller.start()
    assert lab.unit_of()[node] == "nn-leaf1"
