"""Taking the agent away: no pass in between, nothing half-done left behind, and all as before when it fails."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent.agent_lab import STATE, AgentLab, tree_of
from agent.offline import SettableClock, make_world
from slurm_lab import Level, make_nodes
from slurm_topology.agent.install import Installer
from slurm_topology.agent.shell import Completed, Shell
from slurm_topology.agent.watch import watch
from slurm_topology.cli import uninstall
from slurm_topology.core.errors import ApplyError

Make = Callable[..., AgentLab]


@pytest.mark.slurm
def test_a_change_that_was_killed_is_undone_even_if_the_topology_is_kept(make_agent_lab: Make) -> None:
    """Stopping the units may kill a pass, and nobody would come after it."""
    lab = make_agent_lab("24.11", level=Level.CONTROLLER)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    right = lab.conf_files()
    before = {"topology.conf": right["topology.conf"], "topology.yaml": None, "TopologyPlugin": "topology/tree"}
    journal = {
        "format": 1, "started_at": 1.0, "conf_path": lab.lab.path("slurm.conf"), "slurm_version": "24.11.5",
        "before": before, "after": {**before, "TopologyPlugin": "topology/block", "topology.conf": "BlockName=b"},
    }  # fmt: skip
    lab.lab.box.write_text(f"{STATE}/transaction.json", json.dumps(journal))
    text = right["slurm.conf"].replace("topology/tree", "topology/default")
    lab.lab.box.write_text(lab.lab.path("slurm.conf"), text)
    done = lab.run("uninstall", "--keep-topology", "--prefix", "/tmp/nothing-installed")
    assert done.returncode == 0, done.stderr
    assert lab.conf_files() == right
    assert not lab.lab.box.exists(f"{STATE}/transaction.json")


REMOVED = ("uninstall", "--prefix", "/tmp/nothing-installed")


def original(version: str, nodes: tuple[str, ...]) -> str:
    names = ",".join(nodes)
    if version == "24.11":
        return f"SwitchName=root Nodes={names}\n"
    return f"- topology: x\n  cluster_default: true\n  tree:\n    switches:\n      - {{switch: s, nodes: '{names}'}}\n"


@pytest.mark.slurm
def test_what_was_there_is_not_put_back_over_nodes_that_it_lacks(make_agent_lab: Make, slurm_version: str) -> None:
    """Nobody would be left to place them, and to release the jobs that need them. Likewise a rollback, which pauses."""
    every = make_nodes(6)
    text = original(slurm_version, tuple(node.name for node in every[:4]))
    lab = make_agent_lab(slurm_version, nodes=4, topology=text, plugin="topology/tree")
    lab.write_members(tree_of(every[:4], 2))
    lab.settle()
    assert lab.lab.scale(every).accepted
    lab.write_members(tree_of(every, 2))
    lab.settle()
    assert lab.lab.jobs.where(lab.lab.jobs.submit(1))
    large = lab.lab.jobs.submit(6)
    before = lab.conf_files()

    refused = lab.run("rollback", "1")
    assert (refused.returncode, lab.conf_files()) == (2, before)
    assert f"lacks 2 nodes that Slurm has now ({every[4].name}, {every[5].name})" in refused.stderr

    done = lab.run(*REMOVED)
    assert done.returncode == 0, done.stderr
    assert "AGENT031" in done.stderr
    assert "the topology is flat" in done.stderr
    assert not lab.unit_of()
    waiting = lab.lab.jobs.get(large)
    assert waiting.state == "PENDING"
    assert waiting.priority > 0, "it waits for the node that is in use, and isn't held"
    lab.lab.jobs.cancel(large)
    assert len(lab.lab.jobs.where(lab.lab.jobs.submit(5))) == 5, "the nodes that came later are among them"
    assert lab.rehearse_disk() == "starts"
    assert text in json.loads(lab.lab.box.read_text(f"{STATE}/original.json"))["disk"].values()


@pytest.mark.slurm
@pytest.mark.parametrize(("version", "text"), [("24.11", None), ("26.05", "[]\n")], ids=["no file", "empty list"])
def test_what_slurmctld_would_not_start_with_is_not_put_back(
    make_agent_lab: Make, version: str, text: str | None
) -> None:
    """HyperPod's own faults at first boot, mended by the agent. The agent can be taken away nevertheless."""
    lab = make_agent_lab(version, level=Level.CONTROLLER, start=False, topology=text, plugin="topology/tree")
    lab.configure(slurmctld_wait_seconds=0)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    assert lab.reconcile(failed=True)["action"] == "rescue", "nobody starts slurmctld here"
    lab.configure()
    lab.lab.controller.start()
    lab.settle()
    done = lab.run(*REMOVED)
    assert done.returncode == 0, done.stderr
    assert "slurmctld would refuse it" in done.stderr
    assert lab.rehearse_disk() == "starts"
    assert not lab.unit_of()


class Queue(Shell):
    """Slurm's answers to squeue, one after the other (the last one stays); what was released."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers, self.released = list(answers), list[str]()

    def run(self, argv: Sequence[str], *, timeout: float, user: str | None = None) -> Completed:
        said = ""
        if argv[0] == "squeue":
            said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        elif argv[1] == "release":
            self.released += argv[2:]
        elif argv[1] == "show":
            said = "SchedulerParameters = bf_interval=3,bf_window=60\n"
        return Completed(tuple(argv), 0, said, "")


class Ticking(SettableClock):
    """Sleeping moves it."""

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def job(number: int, reason: str) -> str:
    return f"{number}|{reason}|1970-01-01T00:00:10\n"


FITS, HELD = job(7, "Resources"), job(7, "BadConstraints")


@pytest.mark.parametrize(
    ("answers", "released", "stuck", "seconds"),
    [
        ([""], [], False, 0),
        ([FITS], [], False, 6),
        ([FITS, HELD, FITS, ""], ["7"], False, 3),
        ([HELD, FITS, HELD], ["7"], True, 2),
        ([job(3, "BadConstraints")], [], False, 0),
        (["8|BadConstraints|2100-01-01T00:00:00\n"], [], False, 0),
    ],
    ids=["no job", "a job that waits", "held late", "held again", "held before", "submitted later"],
)
def test_jobs_are_watched_until_the_scheduler_has_looked(
    tmp_path: Path, answers: list[str], released: list[str], stuck: bool, seconds: int
) -> None:
    """No pass comes after a rollback or a removal. The wait is backfill's interval and 3 s, none without a job."""
    world, _ = make_world(tmp_path)
    queue, clock = Queue(*answers), Ticking()
    found = watch(replace(world, shell=queue, clock=clock), {"3"}, ())
    assert (queue.released, [each.id for each in found]) == (released, ["AGENT027"] if stuck else [])
    assert clock.now() - SettableClock().now() == seconds


def test_an_agent_whose_topology_cannot_be_put_back_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither gone nor silently stopped: the topology would be nobody's."""
    done: list[str] = []

    def refuse(_: object) -> str:
        done.append("put back")
        raise ApplyError("no slurmctld answers here: nothing can be put in force", "observe")

    monkeypatch.setattr(uninstall, "put_back_original", refuse)

    def noted(name: str) -> Callable[[Installer], bool]:
        def call(_: Installer) -> bool:
            done.append(name)
            return True

        return call

    for name in ("stop", "start", "remove"):
        monkeypatch.setattr(Installer, name, noted(name))
    settings = tmp_path / "agent.json"
    settings.write_text(json.dumps({"state_folder": str(tmp_path / "state"), "run_folder": str(tmp_path / "run")}))
    with pytest.raises(ApplyError, match=r"no slurmctld .* uninstall --keep-topology"):
        uninstall.run(Namespace(settings=settings, prefix=tmp_path, keep_topology=False))
    assert done == ["stop", "put back", "start"]
