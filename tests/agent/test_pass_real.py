"""Whole passes against real slurmctld: the ordinary life of a cluster."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.agent_lab import GB200, AgentLab, blocks_of, tree_of
from slurm_lab import Level, Partition, make_nodes
from slurm_topology.core.model import Blocks, Flat, Tree

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]


def test_first_pass_publishes_and_the_second_finds_nothing_to_do(make_agent_lab: Make, slurm_version: str) -> None:
    lab = make_agent_lab(slurm_version)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    assert lab.reconcile()["reason"] == "changed"
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}
    assert set(lab.unit_of()) == {node.name for node in lab.lab.nodes}
    before = lab.conf_files()
    pid = lab.lab.controller.pid()
    assert [lab.reconcile()["reason"] for _ in range(3)] == ["in-force"] * 3
    assert lab.conf_files() == before
    assert lab.lab.controller.pid() == pid, "no reconfigure: a successful one changes the process"


def test_a_replaced_node_moves_and_running_and_pending_jobs_stay(make_agent_lab: Make, slurm_version: str) -> None:
    """Same name, same address, another instance under another leaf."""
    lab = make_agent_lab(slurm_version, level=Level.SLURMD)
    members = tree_of(lab.lab.nodes, 4)
    lab.write_members(members)
    lab.settle()
    running = lab.lab.jobs.wait_running(lab.lab.jobs.submit(6))
    pending = lab.lab.jobs.submit(8)
    members[7] = members[7].moved_to(0)
    lab.write_members(members)
    assert lab.reconcile()["reason"] == "changed"
    assert lab.unit_of()[lab.lab.nodes[7].name] == "nn-leaf0"
    assert lab.lab.jobs.get(running.id).state == "RUNNING"
    waiting = lab.lab.jobs.get(pending)
    assert (waiting.state, waiting.priority > 0) == ("PENDING", True), waiting


def test_scale_up_and_down(make_agent_lab: Make, slurm_version: str) -> None:
    lab = make_agent_lab(slurm_version, nodes=8)
    every = make_nodes(16)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    assert lab.lab.scale(every).accepted
    lab.write_members(tree_of(every, 4))
    lab.settle()
    assert set(lab.unit_of()) == {node.name for node in every}
    assert lab.lab.scale(every[:4]).accepted
    lab.write_members(tree_of(every[:4], 4))
    lab.settle()
    assert set(lab.unit_of()) == {node.name for node in every[:4]}


def test_another_plugin_on_a_live_controller(make_agent_lab: Make, slurm_version: str) -> None:
    """flat → tree → block → tree → flat, with a job that runs and one that waits; neither notices."""
    lab = make_agent_lab(slurm_version, nodes=36, level=Level.SLURMD)
    nodes = lab.lab.nodes
    running = lab.lab.jobs.wait_running(lab.lab.jobs.submit(36))
    pending = lab.lab.jobs.submit(36)
    for members, types, kind in (
        (tree_of(nodes, 4), None, Tree),
        (blocks_of(nodes, 18), {"train": GB200}, Blocks),
        (tree_of(nodes, 2), None, Tree),
        (tree_of(nodes, 2), {"train": "ml.m5.xlarge"}, Flat),
    ):
        lab.write_members(members, types)
        lab.settle()
        shown = {type(each.body) for each in lab.in_force().topologies}
        assert shown == {kind} or (kind is Flat and not shown), "24.11 shows nothing when it is flat"
        assert lab.lab.jobs.get(running.id).state == "RUNNING"
        assert lab.lab.jobs.get(pending).priority > 0
    lab.lab.jobs.cancel(running.id)
    assert lab.lab.jobs.wait_running(pending).nodes


def test_partitions_get_their_own_topology_and_keep_it_through_reconfigures(make_agent_lab: Make) -> None:
    """26.05: a reconfigure forgets what `scontrol update` set, so it is set again."""
    nodes = make_nodes(8)
    names = tuple(node.name for node in nodes)
    lab = make_agent_lab(
        "26.05",
        partitions=(Partition("dev", default=True), Partition("train", names[:4]), Partition("block", names[4:])),
    )
    members = tree_of(nodes[:4], 2) + [
        each.__class__(each.address, each.instance_id, each.path, each.ultraserver, "gb")
        for each in blocks_of(nodes[4:], 2)
    ]
    lab.write_members(members, {"train": "ml.p5.48xlarge", "gb": GB200})
    lab.settle()
    shown = lab.lab.scontrol("--oneliner", "show", "partition", "block")
    assert "Topology=block" in shown
    assert lab.lab.reconfigure().accepted
    assert "Topology=" not in lab.lab.scontrol("--oneliner", "show", "partition", "block")
    assert lab.reconcile()["action"] == "assign"
    assert "Topology=block" in lab.lab.scontrol("--oneliner", "show", "partition", "block")


def test_a_file_that_was_never_loaded_is_loaded(make_agent_lab: Make, slurm_version: str) -> None:
    lab = make_agent_lab(slurm_version)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    right = lab.conf_files()
    lab.write_members(tree_of(lab.lab.nodes, 2))
    lab.settle()
    # Slurm runs with leaves of 2; the file says leaves of 4 again, and so does HyperPod
    lab.lab.write_topology(right[lab.lab.topology_file])
    lab.write_members(tree_of(lab.lab.nodes, 4))
    assert lab.reconcile()["reason"] == "not-loaded"
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}


def test_a_file_that_was_changed_but_not_loaded_is_put_back_without_a_reconfigure(
    make_agent_lab: Make, slurm_version: str
) -> None:
    """A time bomb: the next start would take it, or die of it."""
    lab = make_agent_lab(slurm_version)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    right = lab.conf_files()
    lab.lab.write_topology("SwitchName=x Switches=nowhere\n")
    pid = lab.lab.controller.pid()
    assert lab.reconcile()["reason"] == "file-wrong"
    assert lab.conf_files() == right
    assert lab.lab.controller.pid() == pid
