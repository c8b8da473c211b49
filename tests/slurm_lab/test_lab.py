"""The lab against real Slurm: that it starts, that what it reports is so, and that nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slurm_lab import Lab, Level, Node, StartedBy, make_nodes

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
