"""The lab against real Slurm: that it starts, that what it reports is so, and that nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slurm_lab import BoxError, Lab, Level, Node, StartedBy, make_nodes, wait_for

pytestmark = pytest.mark.slurm


def tree(nodes: tuple[Node, ...], leaf: int, version: str) -> str:
    """Leaves of ``leaf`` nodes under one root, in the file format of this version."""
    groups = [nodes[start : start + leaf] for start in range(0, len(nodes), leaf)]
    switches = [
        (f"leaf{number}", "nodes", ",".join(node.name for node in group)) for number, group in enumerate(groups)
    ]
    switches.append(("root", "children", f"leaf[0-{len(groups) - 1}]"))
    if version == "24.11":
        words = {"nodes": "Nodes", "children": "Switches"}
        return "".join(f"SwitchName={name} {words[kind]}={what}\n" for name, kind, what in switches)
    body = "".join(f'    - {{switch: {name}, {kind}: "{what}"}}\n' for name, kind, what in switches)
    return f"- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n{body}"


def test_jobs_run_on_neighbours_and_outlive_a_reconfigure(make_lab: Callable[..., Lab], slurm_version: str) -> None:
    nodes = make_nodes(8)
    lab = make_lab(slurm_version, nodes=nodes, topology=tree(nodes, 4, slurm_version))
    assert set(lab.node_states().values()) == {"idle"}
    first, second = lab.jobs.submit(4), lab.jobs.submit(3)
    places = {lab.jobs.wait_running(job).nodes for job in (first, second)}
    assert places == {tuple(node.name for node in nodes[:4]), tuple(node.name for node in nodes[4:7])}

    lab.write_topology(tree(nodes, 8, slurm_version))
    done = lab.reconfigure()
    assert done.accepted
    assert done.pid_after != done.pid_before
    assert lab.controller.pid() == done.pid_after
    assert lab.scontrol("show", "topology").count("Level=0") == 1
    assert lab.jobs.get(first).state == "RUNNING"
    lab.jobs.cancel(second)
    assert set(lab.jobs.all()) == {first}
    assert lab.jobs.get(second).state == "GONE"


def test_a_refused_file_leaves_slurmctld_as_it_was(make_lab: Callable[..., Lab], slurm_version: str) -> None:
    nodes = make_nodes(4)
    good = tree(nodes, 4, slurm_version)
    lab = make_lab(slurm_version, nodes=nodes, level=Level.CONTROLLER, topology=good)
    lab.write_topology(good.replace("leaf[0-0]", "nowhere"))
    done = lab.reconfigure()
    assert not done.accepted
    assert done.pid_after == done.pid_before == lab.controller.pid()
    assert [line for line in done.log if "nowhere" in line]


def test_in_the_foreground_a_refused_file_kills_it(make_lab: Callable[..., Lab], slurm_version: str) -> None:
    """Why the agent asks how slurmctld was started: scontrol says 0, and slurmctld is dead."""
    nodes = make_nodes(4)
    good = tree(nodes, 4, slurm_version)
    lab = make_lab(slurm_version, nodes=nodes, level=Level.CONTROLLER, topology=good, started_by=StartedBy.FOREGROUND)
    lab.write_topology(good.replace("leaf[0-0]", "nowhere"))
    done = lab.reconfigure()
    assert not done.accepted
    assert done.pid_after == 0
    lab.write_topology(good)
    lab.controller.start()
    assert lab.controller.alive()


def test_scale_and_replace(make_lab: Callable[..., Lab], slurm_version: str) -> None:
    nodes = make_nodes(6)
    lab = make_lab(slurm_version, nodes=nodes[:4], topology=tree(nodes, 3, slurm_version))
    assert lab.scale(nodes[1:]).accepted
    assert set(lab.node_states()) == {node.name for node in nodes[1:]}
    job = lab.jobs.submit(5)
    lab.jobs.wait_running(job)

    lab.replace_node(nodes[2].name, "i-new")
    assert "InstanceId=i-new" in lab.scontrol("show", "node", nodes[2].name)
    assert lab.jobs.get(job).state != "RUNNING"


def test_cloud_nodes_take_jobs_without_any_slurmd(make_lab: Callable[..., Lab], slurm_version: str) -> None:
    nodes = make_nodes(512)
    lab = make_lab(slurm_version, nodes=nodes, level=Level.CLOUD, topology=tree(nodes, 16, slurm_version))
    job = lab.jobs.submit(16)
    assert lab.jobs.where(job) == tuple(node.name for node in nodes[:16])
    assert lab.jobs.get(job).state == "CONFIGURING"
    lab.replace_node(nodes[40].name, "i-new")
    assert "InstanceId=i-new" in lab.scontrol("show", "node", nodes[40].name)


@pytest.mark.parametrize("started_by", [StartedBy.SYSTEMD, StartedBy.SYSTEMD_FOREGROUND])
def test_systemd_runs_slurmctld(make_lab: Callable[..., Lab], slurm_version: str, started_by: StartedBy) -> None:
    """Its pid is the unit's, before and after a reconfigure; a crash is healed by the unit when it says so."""
    nodes = make_nodes(2)
    lab = make_lab(slurm_version, nodes=nodes, started_by=started_by, unit="Restart=on-failure\nRestartSec=100ms")
    assert lab.reconfigure().accepted
    assert main_pid(lab) == lab.controller.pid() != 0
    killed = lab.controller.pid()
    lab.controller.stop("KILL")
    wait_for(lab.controller.answers, "systemd has started slurmctld again")
    assert main_pid(lab) == lab.controller.pid() != killed
    lab.wait_nodes_up()


def main_pid(lab: Lab) -> int:
    return int(lab.run("systemctl", "show", "--property=MainPID", "--value", "slurmctld").stdout)


def test_a_slurmctld_that_does_not_start_says_why(make_lab: Callable[..., Lab], slurm_version: str) -> None:
    nodes = make_nodes(2)
    bad = tree(nodes, 2, slurm_version).replace("leaf[0-0]", "nowhere")
    lab = make_lab(slurm_version, nodes=nodes, level=Level.CONTROLLER, topology=bad, start=False)
    lab.start_box()
    with pytest.raises(BoxError, match="nowhere"):
        lab.controller.start()
    assert not lab.controller.alive()
