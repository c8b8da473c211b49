"""Which process is the cluster's slurmctld."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agent.agent_lab import AgentLab
from slurm_lab import Level, StartedBy
from slurm_topology.agent.daemon import find_daemon
from slurm_topology.agent.files import Files, Signature
from slurm_topology.agent.shell import Completed, Shell


class Processes(Files):
    """/proc with these slurmctld processes: pid → command line."""

    def __init__(self, processes: Mapping[int, str]) -> None:
        self.processes = processes

    def names(self, folder: Path) -> list[str]:
        return [str(pid) for pid in self.processes] if str(folder) == "/proc" else []

    def read_text(self, path: Path) -> str | None:
        if path.name != "cmdline":
            return None
        return self.processes[int(path.parent.name)].replace(" ", "\0")

    def signature(self, path: Path) -> Signature | None:
        return Signature(1, 1, 1) if path.parent.name == "sbin" else None


class NoSystemd(Shell):
    def run(self, argv: object, *, timeout: float, user: str | None = None) -> Completed:
        return Completed((), 1, "", "")


def test_a_throw_away_slurmctld_of_a_rehearsal_is_not_the_clusters() -> None:
    """It may outlive a killed pass for a moment, and its slurm.conf is not where the cluster's is."""
    rehearsal = "slurmctld -D -f /run/slurm-topology/scratch.77.abcdefgh/slurm.conf"
    assert find_daemon(Processes({11: rehearsal}), NoSystemd(), "slurmctld.service", None) is None
    both = Processes({11: rehearsal, 12: "/usr/sbin/slurmctld -f /opt/slurm/etc/slurm.conf"})
    found = find_daemon(both, NoSystemd(), "slurmctld.service", None)
    assert found is not None
    assert (found.pid, found.binary) == (12, "/usr/sbin/slurmctld")


@pytest.mark.slurm
@pytest.mark.parametrize("started_by", [StartedBy.DAEMON, StartedBy.FOREGROUND])
def test_it_is_found_before_and_after_a_reconfigure(
    make_agent_lab: Callable[..., AgentLab], slurm_version: str, started_by: StartedBy
) -> None:
    """Its pid file is stale then, and its program has another name where /usr/sbin/slurmctld is a link."""
    lab = make_agent_lab(slurm_version, nodes=2, level=Level.CONTROLLER, started_by=started_by)
    for _ in range(2):
        said = json.loads(lab.run("doctor", "--json").stdout)
        answer = next(check for check in said if check["id"] == "DOC004")
        assert "no slurmctld process" not in str(answer), answer
        assert lab.lab.controller.alive()
        if started_by is StartedBy.DAEMON:
            assert lab.lab.reconfigure().accepted
