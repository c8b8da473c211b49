"""Bad world, HyperPod: its known faults at first boot, a second writer, nodes and labels that come one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.agent_lab import AgentLab, Member, tree_of
from slurm_lab import Level, StartedBy, make_nodes, wait_for
from slurm_topology.core.model import Flat, Tree

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]


def unlabelled(members: list[Member]) -> list[Member]:
    return [replace(member, path=()) for member in members]


def test_tree_plugin_and_no_file(make_agent_lab: Make) -> None:
    """24.11 at first boot: the plugin is on, its file is missing, slurmctld doesn't start; no labels yet."""
    lab = make_agent_lab("24.11", plugin="topology/tree", level=Level.CLOUD, start=False)
    members = tree_of(lab.lab.nodes, 4)
    lab.write_members(unlabelled(members))
    lab.configure(slurmctld_wait_seconds=0.1)
    record = lab.reconcile(failed=True)  # nobody starts slurmctld here
    assert (record["action"], record["reason"]) == ("rescue", "down-by-topology")
    lab.lab.controller.start()
    lab.configure()
    job = lab.lab.jobs.submit(8)
    assert len(lab.lab.jobs.where(job)) == 8
    assert lab.reconcile()["reason"] == "in-force", "as long as nothing is known of any place, flat is right"
    lab.write_members(members)
    lab.settle()
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}
    assert lab.lab.jobs.get(job).placed


def test_nodes_outside_the_tree_at_first_boot(make_agent_lab: Make, slurm_version: str) -> None:
    """A tree that lacks nodes makes them unusable: until all places are known, the cluster is flat."""
    lab = make_agent_lab(slurm_version, level=Level.CLOUD)
    names = [node.name for node in lab.lab.nodes]
    lab.lab.write_topology(f"SwitchName=x Nodes={','.join(names[:4])}\n", "topology.conf")
    lab.lab.plugin = "topology/tree"
    lab.lab.write_slurm_conf()
    assert lab.lab.reconfigure().accepted
    members = tree_of(lab.lab.nodes, 4)
    lab.write_members([*members[:6], *unlabelled(members[6:])])
    assert lab.reconcile()["reason"] == "seeded"
    assert len(lab.lab.jobs.where(lab.lab.jobs.submit(8))) == 8
    assert lab.reconcile()["reason"] == "waiting-for-places"
    lab.write_members(members)
    lab.settle()
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}


def test_empty_list_in_a_crash_loop(make_agent_lab: Make) -> None:
    """26.05: topology.yaml is `[]`, slurmctld crashes at each start, and systemd has given up on it."""
    restart = "Restart=on-failure\nRestartSec=100ms"
    lab = make_agent_lab("26.05", started_by=StartedBy.SYSTEMD, unit=restart, level=Level.CONTROLLER)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.lab.controller.stop()
    lab.lab.write_topology("[]\n")
    lab.lab.controller.launch()
    wait_for(
        lambda: lab.lab.run("systemctl", "is-failed", "--quiet", "slurmctld").returncode == 0,
        "systemd gives up",
        seconds=30,
    )
    record = lab.reconcile()
    assert (record["action"], record["reason"]) == ("rescue", "down-by-topology")
    assert {"AGENT016", "AGENT025"} <= {finding["id"] for finding in record["findings"]}
    assert lab.lab.controller.answers()
    lab.settle()
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}


@pytest.mark.parametrize("killed_at", [3, 6, 10, 14])
def test_down_by_a_refused_file_even_when_the_rescue_is_killed(
    make_agent_lab: Make, slurm_version: str, killed_at: int
) -> None:
    lab = make_agent_lab(slurm_version, level=Level.CONTROLLER)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    lab.lab.controller.stop()
    lab.lab.write_topology("SwitchName=a Switches=a\n")
    assert lab.ask(kill_at=killed_at).get("killed")
    lab.configure(slurmctld_wait_seconds=0.1)
    lab.reconcile(failed=True)  # nobody restarts it here
    lab.lab.controller.start()
    lab.configure()
    lab.settle()
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}


def test_observing_a_slurmctld_that_is_down_by_its_file(make_agent_lab: Make) -> None:
    lab = make_agent_lab("24.11", start=False, settings={"mode": "observe"}, plugin="topology/tree")
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.lab.write_topology("SwitchName=a Switches=a\n")
    before = lab.conf_files()
    record = lab.reconcile()
    assert (record["action"], record["reason"]) == ("nothing", "observing")
    assert "AGENT016" in [finding["id"] for finding in record["findings"]]
    assert lab.conf_files() == before


def test_nodes_and_labels_come_one_by_one(make_agent_lab: Make, slurm_version: str) -> None:
    """First boot, a node or a label every 20 s: jobs run all the time, and there is one change, at the end."""
    every = make_nodes(6)
    lab = make_agent_lab(slurm_version, nodes=1, level=Level.CLOUD)
    members = tree_of(every, 3)
    jobs, changes, now = [], 0, 0.0
    for count in range(1, 7):
        assert lab.lab.scale(every[:count]).accepted
        lab.write_members(unlabelled(members))
        now += 20
        record = lab.reconcile(clock_offset=now)
        changes += record["action"] != "nothing"
        jobs.append(lab.lab.jobs.submit(1))
        lab.lab.jobs.where(jobs[-1])
    for count in range(1, 7):
        lab.write_members([*members[:count], *unlabelled(members[count:])])
        now += 20
        record = lab.reconcile(clock_offset=now)
        changes += record["action"] != "nothing"
        assert record["reason"] == ("waiting-for-places" if count < 6 else "changed")
    assert changes == 1
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}
    assert all(lab.lab.jobs.get(job).placed for job in jobs)


def test_labels_that_never_come_are_not_waited_for_for_ever(make_agent_lab: Make) -> None:
    lab = make_agent_lab("24.11", level=Level.CONTROLLER)
    members = tree_of(lab.lab.nodes, 4)
    lab.write_members([*members[:7], *unlabelled(members[7:])])
    assert lab.reconcile()["reason"] == "waiting-for-places"
    assert lab.reconcile(clock_offset=1000)["reason"] == "changed"
    assert set(lab.unit_of()) == {node.name for node in lab.lab.nodes}


def test_a_second_writer_is_yielded_to(make_agent_lab: Make, slurm_version: str) -> None:
    """Another file after each of our passes: we put ours back three times, then leave the other one, and say so."""
    lab = make_agent_lab(slurm_version, level=Level.CONTROLLER)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    ours = lab.conf_files()
    lab.write_members(tree_of(lab.lab.nodes, 2))
    lab.settle()
    reasons = []
    for round_ in range(6):
        # a file that slurmctld takes, with every node in it, but not the one that is wanted
        for name, text in ours.items():
            lab.lab.box.write_text(lab.lab.path(name), text)
        assert lab.lab.reconfigure().accepted
        record = lab.reconcile(clock_offset=round_ * 30.0)
        reasons.append(record["reason"])
    assert reasons == ["reverted", "reverted", "reverted", "yielding", "yielding", "yielding"]
    finding = next(each for each in record["findings"] if each["id"] == "AGENT024")
    assert finding["severity"] == "error"
    assert lab.state()["counters"]["yields"] == 3
    assert lab.lab.controller.answers()
    # half an hour later it is tried again, and yielded for twice as long when that is undone, too
    assert lab.reconcile(clock_offset=2200.0)["reason"] == "reverted"
    assert lab.reconcile(clock_offset=2210.0)["reason"] == "in-force"


def test_a_second_writer_whose_file_would_kill_slurmctld_is_not_yielded_to(make_agent_lab: Make) -> None:
    lab = make_agent_lab("24.11", level=Level.CONTROLLER)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    right = lab.conf_files()
    said = []
    for round_ in range(6):
        lab.lab.write_topology("SwitchName=a Switches=a\n")
        record = lab.reconcile(clock_offset=round_ * 30.0)
        assert record["reason"] == "file-wrong"
        assert lab.conf_files() == right
        said.append("AGENT028" in {finding["id"] for finding in record["findings"]})
    assert said == [False] * 3 + [True] * 3, "said from the third time on, when it would have yielded"


def test_repair_steps_in_only_where_something_is_broken(make_agent_lab: Make, slurm_version: str) -> None:
    lab = make_agent_lab(slurm_version, level=Level.CONTROLLER)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    lab.configure(mode="repair")
    lab.write_members(tree_of(lab.lab.nodes, 2))
    before = lab.conf_files()
    assert lab.reconcile()["reason"] == "not-ours"
    assert lab.conf_files() == before
    # HyperPod adds a node and forgets it in the topology
    lab.lab.plugin = "topology/tree" if slurm_version == "24.11" else "topology/flat"
    assert lab.lab.scale(make_nodes(9)).accepted
    lab.write_members(tree_of(make_nodes(9), 4))
    record = lab.reconcile()
    assert (record["action"], record["reason"]) == ("publish", "repaired")
    assert len(lab.unit_of()) == 9


def test_observe_never_writes(make_agent_lab: Make, slurm_version: str) -> None:
    lab = make_agent_lab(slurm_version, level=Level.CONTROLLER, settings={"mode": "observe"})
    before = lab.conf_files()
    lab.write_members(tree_of(lab.lab.nodes, 4))
    assert lab.reconcile()["reason"] == "observing"
    assert lab.conf_files() == before
    assert not [topology for topology in lab.in_force().topologies if isinstance(topology.body, Tree)]


def test_the_manager_is_opted_out_of_in_own_mode(make_agent_lab: Make) -> None:
    """26.05 beside HyperPod's manager: topology.yaml is ours, and TopologyPlugin=topology/flat tells it to keep out."""
    lab = make_agent_lab("26.05", started_by=StartedBy.SYSTEMD, level=Level.CONTROLLER)
    lab.lab.write_topology(f"SwitchName=x Nodes={','.join(node.name for node in lab.lab.nodes)}\n", "topology.conf")
    lab.lab.plugin = "topology/tree"
    lab.lab.write_slurm_conf()
    assert lab.lab.reconfigure().accepted
    unit = "[Service]\nExecStart=/usr/bin/sleep infinity\n"
    lab.lab.box.write_text("/etc/systemd/system/sagemaker-cluster-agent.service", unit)
    lab.lab.run("systemctl", "daemon-reload", check=True)
    lab.lab.run("systemctl", "start", "sagemaker-cluster-agent.service", check=True)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    assert "TopologyPlugin=topology/flat" in lab.conf_files()["slurm.conf"]
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}


def test_flat_cluster_needs_nothing(make_agent_lab: Make, slurm_version: str) -> None:
    """No type with a network topology: nothing is written, nothing is done."""
    lab = make_agent_lab(slurm_version, level=Level.CONTROLLER)
    before = lab.conf_files()
    lab.write_members(unlabelled(tree_of(lab.lab.nodes, 4)), {"train": "ml.m5.xlarge"})
    assert lab.reconcile()["reason"] == "in-force"
    assert lab.conf_files() == before
    assert [type(each.body) for each in lab.in_force().topologies] in ([], [Flat])
