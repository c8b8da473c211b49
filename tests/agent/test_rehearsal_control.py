"""A refusal counts only where a slurmctld without any topology does start: else it has other reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.agent_lab import CODE, AgentLab, tree_of
from slurm_lab import Level
from slurm_topology.agent import rehearsal_runner
from slurm_topology.agent.disk import DiskState
from slurm_topology.agent.files import Files
from slurm_topology.agent.rehearse import Rehearser, Verdict, judge
from slurm_topology.agent.shell import Completed, Shell
from slurm_topology.agent.slurm_conf import SlurmConf, read_slurm_conf

Make = Callable[..., AgentLab]
GOOD = DiskState("SwitchName=a Nodes=n1\n", None, "topology/tree")
BAD = DiskState("SwitchName=a Switches=a\n", None, "topology/tree")


@dataclass(frozen=True)
class Judging(Shell):
    """A slurmctld that has only ``auths``, and refuses a switch below itself and a node named broken."""

    auths: tuple[str, ...] = ()
    tried: list[str] = field(default_factory=list)

    def run(self, argv: Sequence[str], *, timeout: float, user: str | None = None) -> Completed:
        folder = Path(argv[-1]).parent
        conf, topology = (folder / "slurm.conf").read_text(), folder / "topology.conf"
        self.tried.append(conf)
        said = ""
        if not any(f"AuthType=auth/{auth}\n" in conf for auth in self.auths):
            said = "fatal: failed to initialize auth plugin"
        elif topology.exists() and "Switches=a" in topology.read_text():
            said = "fatal: Switch configuration is not a tree"
        elif "nodename=broken" in conf:
            said = "fatal: Unable to process configuration file"
        return Completed(tuple(argv), rehearsal_runner.DIED if said else rehearsal_runner.STARTED, said, "")


def rehearser(folder: Path, *auths: str) -> Rehearser:
    return Rehearser(Judging(auths=auths), Files(), folder, 1)


def conf(text: str = "") -> SlurmConf:
    whole = f"NodeName=n1\nPartitionName=all Nodes=ALL Topology=tree\n{text}"
    return read_slurm_conf("/e/slurm.conf", lambda _: whole)


@pytest.mark.parametrize(
    ("disk", "auths", "expected"),
    [
        (GOOD, ("none",), Verdict.STARTS),
        (BAD, ("none",), Verdict.REFUSED),
        # SchedMD's packages lack auth/none: the cluster's munge does as well
        (GOOD, ("munge",), Verdict.STARTS),
        (BAD, ("munge",), Verdict.REFUSED),
        (GOOD, (), Verdict.UNKNOWN),
        (BAD, (), Verdict.UNKNOWN),
    ],
)
def test_verdict_by_what_can_be_loaded(
    tmp_path: Path, disk: DiskState, auths: tuple[str, ...], expected: Verdict
) -> None:
    rehearsal = rehearser(tmp_path, *auths).rehearse(disk, conf(), "slurmctld")
    assert rehearsal.verdict is expected
    if expected is Verdict.UNKNOWN:
        assert "failed to initialize auth plugin" in "; ".join(rehearsal.reasons)


def test_the_live_credentials_of_auth_slurm_are_not_touched(tmp_path: Path) -> None:
    """A second slurmctld with auth/slurm would take over the live one's socket in /run."""
    alone = rehearser(tmp_path)
    assert alone.rehearse(GOOD, conf("AuthType=auth/slurm\n"), "slurmctld").verdict is Verdict.UNKNOWN
    assert isinstance(alone.shell, Judging)
    assert {line for text in alone.shell.tried for line in text.splitlines() if "AuthType" in line} == {
        "AuthType=auth/none"
    }


def test_a_broken_slurm_conf_is_not_the_topologys_fault(tmp_path: Path) -> None:
    """For a publication it is a refusal all the same: slurmctld wouldn't start."""
    tried, broken = rehearser(tmp_path, "none"), conf("NodeName=broken\n")
    assert tried.rehearse(GOOD, broken, "slurmctld").verdict is Verdict.REFUSED
    assert tried.blames_topology(broken, "slurmctld") is False
    assert tried.blames_topology(conf(), "slurmctld") is True


def test_a_missing_file_is_mended_even_where_nothing_can_be_tried(tmp_path: Path) -> None:
    """With the plugin on, that needs no trial."""
    untried, missing = rehearser(tmp_path), DiskState(None, None, "topology/tree")
    assert untried.rehearse(missing, conf(), "slurmctld").verdict is Verdict.REFUSED
    assert untried.blames_topology(conf(), "slurmctld") is True


@pytest.mark.parametrize("status", [1, 2, 120, 127, rehearsal_runner.NO_VERDICT, rehearsal_runner.CANNOT_ISOLATE])
def test_what_the_runner_did_not_see_die_is_unknown(status: int) -> None:
    """1 and 2 are an exception and an unknown argument of the runner itself."""
    assert judge(status, "Traceback (most recent call last):").verdict is Verdict.UNKNOWN


@pytest.mark.slurm
def test_a_binary_that_is_not_there_is_no_refusal(make_agent_lab: Make) -> None:
    lab = make_agent_lab("24.11", level=Level.CONTROLLER)
    runner = ("python3", f"{CODE}/slurm_topology/agent/rehearsal_runner.py", "5")
    assert lab.lab.run(*runner, "/nowhere/slurmctld").returncode == rehearsal_runner.NO_VERDICT
    assert lab.lab.run(*runner, "/usr/bin/false").returncode == rehearsal_runner.DIED


@pytest.mark.slurm
def test_munge_does_where_auth_none_is_not_installed(make_agent_lab: Make) -> None:
    """As SchedMD's packages have it, and with a refusal that is one."""
    lab = make_agent_lab("24.11", level=Level.CONTROLLER)
    lab.lab.controller.stop()
    key = "mkdir -p /etc/munge /run/munge /var/lib/munge /var/log/munge; head -c 64 /dev/urandom > /etc/munge/munge.key"
    lab.lab.run("sh", "-c", f"{key}; chmod 600 /etc/munge/munge.key; munged --force", check=True)
    text = lab.conf_files()["slurm.conf"].replace("auth/none", "auth/munge").replace("cred/none", "cred/munge")
    lab.lab.box.write_text(lab.lab.path("slurm.conf"), text)
    lab.lab.run("sh", "-c", "rm $(find / -xdev -name auth_none.so -o -xdev -name cred_none.so)", check=True)
    lab.lab.controller.start()
    lab.write_members(tree_of(lab.lab.nodes, 4))
    record = lab.reconcile()
    assert record["reason"] == "changed"
    assert "AGENT018" not in [finding["id"] for finding in record["findings"]]
    lab.lab.write_topology("SwitchName=a Switches=a\n")
    assert "fatal" in lab.rehearse_disk()


@pytest.mark.slurm
def test_slurmctld_that_is_down_for_another_reason_is_left_alone(make_agent_lab: Make) -> None:
    """slurm.conf has a line that it doesn't take: no topology helps, and none is blamed."""
    lab = make_agent_lab("24.11", level=Level.CONTROLLER)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    lab.lab.controller.stop()
    text = lab.conf_files()["slurm.conf"]
    lab.lab.box.write_text(lab.lab.path("slurm.conf"), f"{text}NodeName={lab.lab.nodes[0].name} CPUs=2\n")
    before = lab.conf_files()
    record = lab.reconcile()
    assert record["reason"] == "slurm-down"
    assert "AGENT016" not in [finding["id"] for finding in record["findings"]]
    assert lab.conf_files() == before


def test_nodes_that_have_only_names_cost_no_time(make_agent_lab: Make, slurm_version: str) -> None:
    """slurmctld tries each name that it can't resolve for 10 s, and in a rehearsal it can resolve none."""
    lab = make_agent_lab(slurm_version, start=False)
    text = lab.conf_files()["slurm.conf"]
    more = "NodeName=DEFAULT NodeHostname=nobody\nNodeName=far[1-300] NodeHostname=away[1-300]\nNodeName=named[1-300]\n"
    lab.lab.box.write_text(lab.lab.path("slurm.conf"), text + more)
    lab.configure(rehearsal_timeout_seconds=8)  # one name would take longer
    assert lab.rehearse_disk() == "starts"
