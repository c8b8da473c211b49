"""show, explain, simulate and doctor on a running Slurm of two versions, with real jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agent.agent_lab import CODE, AgentLab, tree_of
from slurm_lab import Lab, Level, make_nodes
from slurm_lab.wait import wait_for

pytestmark = pytest.mark.slurm
NODES = make_nodes(16)
NAMES = [node.name for node in NODES]


@pytest.fixture
def make(slurm_version: str, make_lab: Callable[..., Lab]) -> Callable[[Level], AgentLab]:
    """Sixteen nodes, four a leaf, two leaves a spine; the agent's topology is in force, its command on the path."""

    def started(level: Level) -> AgentLab:
        flat = "topology/default" if slurm_version == "24.11" else "topology/flat"
        lab = AgentLab(make_lab(slurm_version, nodes=NODES, level=level, plugin=flat))
        lab.write_members(tree_of(NODES, 4))
        launcher = f'#!/bin/sh\nPYTHONPATH={CODE} exec python3 -m slurm_topology "$@"\n'
        lab.lab.box.write_text("/usr/local/bin/slurm-topology", launcher, mode=0o755)
        assert lab.run("reconcile", "--now").returncode == 0
        return lab

    return started


@pytest.fixture
def agent_lab(make: Callable[[Level], AgentLab]) -> AgentLab:
    """Nodes without slurmd: jobs are placed, and never run."""
    return make(Level.CLOUD)


def answer(lab: AgentLab, *words: str) -> Any:
    done = lab.run(*words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_show_and_explain_say_what_slurm_does(agent_lab: AgentLab) -> None:
    lab, jobs = agent_lab.lab, agent_lab.lab.jobs
    lab.scontrol("update", f"NodeName={NAMES[2]}", "State=DRAIN", "Reason=ecc errors")
    small, wide = jobs.submit(3), jobs.submit(9)
    where = {job: jobs.where(job) for job in (small, wide)}
    picky = jobs.submit(2, "--switches=1@10:00")
    picked = jobs.where(picky)

    shown = answer(agent_lab, "show", "--json")
    held = {job["id"]: job for job in shown["jobs"]}
    assert tuple(held[str(wide)]["nodes"]) == where[wide]
    drained = shown["nodes"][NAMES[2]]
    assert (drained["state"], drained["reason"]) == ("drained", "ecc errors")
    assert sum(node["state"] == "allocated" for node in shown["nodes"].values()) == 14
    leaves = {switch["switch"]: switch["nodes"] for switch in shown["topologies"][0]["switches"] if switch["nodes"]}
    assert sorted(map(len, leaves.values())) == [4, 4, 4, 4]

    [placed] = answer(agent_lab, "explain", str(wide), "--json")
    assert set(placed["score"]["leaves"]) == {leaf for leaf, nodes in leaves.items() if set(nodes) & set(where[wide])}
    [near] = answer(agent_lab, "explain", str(picky), "--json")
    assert (near["verdict"], len(picked)) == ("best", 2)

    page = agent_lab.run("show", "--format", "html").stdout
    assert NAMES[0] in page
    assert "window.bad" not in page


def test_a_job_that_waits_for_its_switches_is_explained_and_mended(agent_lab: AgentLab) -> None:
    """Three of four nodes in each leaf are busy: four are free, but not under one leaf. The hint's command frees it."""
    lab, jobs = agent_lab.lab, agent_lab.lab.jobs
    for leaf in range(4):
        jobs.where(jobs.submit(3, f"--nodelist={','.join(NAMES[leaf * 4 : leaf * 4 + 3])}"))
    picky = jobs.submit(4, "--switches=1@60:00")
    wait_for(lambda: jobs.get(picky).reason not in ("", "None"), "the scheduler has looked at the job")
    # others that wait beside it, not for topology: behind it, so that they change nothing for it
    named = jobs.submit(1, f"--nodelist={NAMES[0]}", "--nice=10")
    later, held = jobs.submit(1, "--begin=now+1hour"), jobs.submit(1, "--hold", "--array=1-3")
    after = jobs.submit(1, f"--dependency=afterok:{held}")
    wait_for(lambda: jobs.get(named).reason not in ("", "None"), "the scheduler has looked at the job with a node list")
    expected = {str(named): "nodelist", str(later): "slurm", f"{held}_2": "slurm", str(after): "slurm"}
    answers = {job: answer(agent_lab, "explain", job, "--json")[0]["waiting"] for job in expected}
    assert answers == expected
    [waiting] = answer(agent_lab, "explain", str(picky), "--json")
    assert waiting["waiting"] == "topology"
    command = next(hint for hint in waiting["hints"] if "Switches=4" in hint).partition(": ")[2]
    lab.run("sh", "-c", command, check=True)
    jobs.where(picky, seconds=40)


def grades(lab: AgentLab) -> dict[str, Any]:
    """The doctor's own checks by id."""
    made = json.loads(lab.run("doctor", "--json").stdout)
    return {check["id"]: check for check in made if check["id"].startswith("DOC")}


def mended(lab: AgentLab, check: dict[str, Any]) -> None:
    """Run the command that the doctor gives."""
    done = lab.lab.run("sh", "-c", check["remedy"].partition(", or ")[0])
    assert done.returncode == 0, f"{check['remedy']}: {done.stdout}{done.stderr}"


def test_the_doctor_finds_each_fault_and_its_command_mends_it(make: Callable[[Level], AgentLab]) -> None:
    agent_lab = make(Level.SLURMD)
    lab = agent_lab.lab
    assert {check["id"] for check in grades(agent_lab).values() if check["grade"] in ("error", "warning")} == set()
    path = lab.path(lab.topology_file)
    good = lab.box.read_text(path)
    first, second = (name.rpartition("-")[2] for name in NAMES[:2])

    lab.box.write_text(path, "SwitchName=broken\n")
    broken = grades(agent_lab)["DOC010"]
    assert broken["grade"] == "error"
    assert "scratch." not in broken["evidence"]
    assert agent_lab.run("doctor").returncode == 1
    mended(agent_lab, broken)
    assert grades(agent_lab)["DOC010"]["grade"] == "ok"

    lab.box.write_text(path, good.replace(f"[{first}-", f"[{second}-"))
    lab.scontrol("reconfigure")
    outside = grades(agent_lab)["DOC014"]
    assert (outside["grade"], NAMES[0] in outside["evidence"]) == ("error", True)
    lab.box.write_text(path, good)
    never_loaded = grades(agent_lab)["DOC013"]
    assert never_loaded["grade"] == "error"
    mended(agent_lab, never_loaded)
    healthy = grades(agent_lab)
    assert (healthy["DOC013"]["grade"], healthy["DOC014"]["grade"]) == ("ok", "ok")

    agent_lab.run("pause", "maintenance")
    paused = grades(agent_lab)["DOC032"]
    assert (paused["grade"], "maintenance" in paused["evidence"]) == ("warning", True)
    mended(agent_lab, paused)
    assert grades(agent_lab)["DOC032"]["grade"] == "ok"


def test_simulate_asks_the_real_scheduler_where_there_is_one(agent_lab: AgentLab) -> None:
    document = answer(agent_lab, "simulate", "--group", "ml.p5.48xlarge:32", "--jobs", "8", "--json")
    assert document["scheduler"] == f"Slurm {agent_lab.lab.root.exact_version}"
    assert [outcome["label"] for outcome in document["outcomes"]] == ["no topology", "tree"]
    assert agent_lab.lab.scontrol("ping").count("UP") == 1
