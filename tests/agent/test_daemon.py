"""Which process is the cluster's slurmctld."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
        if path.name == "comm":
            return "slurmctld\n"
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
