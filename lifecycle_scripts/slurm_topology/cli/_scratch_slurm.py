"""A throw-away slurmctld that answers one question: where would a job of N nodes go, were only these nodes free?

The binary is the live one, the network namespace empty, the configuration made for the purpose: nodes without slurmd,
one partition, one topology. Busy nodes are drained, and ``sbatch --test-only`` asks the scheduler. Nothing of the live
Slurm is touched.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slurm_topology.agent import rehearsal_runner
from slurm_topology.agent.files import Files
from slurm_topology.agent.shell import Shell
from slurm_topology.core import render_conf, render_yaml
from slurm_topology.core.errors import CommandError
from slurm_topology.core.hostlist import expand, fold
from slurm_topology.core.model import ClusterTopology, Flat, NamedTopology
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = ["ScratchSlurm", "isolated", "scratch_slurm", "slurm_version"]

COMMAND_SECONDS = 60.0
START_SECONDS = 120.0
NODES_A_LINE = 16
WHERE = re.compile(r" on nodes (\S+) in partition")
SETTINGS = """\
ClusterName=scratch
SlurmctldHost=localhost(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmctldDebug=info
SlurmctldSyslogDebug=quiet
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=86400
MailProg=/bin/true
ReturnToService=2
"""


def slurm_version(shell: Shell) -> SlurmVersion | None:
    """The version of the slurmctld that this machine has; None without one."""
    try:
        return SlurmVersion.parse(shell.check(["slurmctld", "-V"], timeout=COMMAND_SECONDS))
    except CommandError:
        return None


def isolated() -> bool:
    """Leave the network for good, if we may: this process and what it starts reach only themselves afterwards."""
    try:
        rehearsal_runner.isolate()
    except OSError:
        return False
    return True


@dataclass
class ScratchSlurm:
    """One slurmctld with one topology. Remembers who is drained, so that a question costs two commands at most."""

    shell: Shell
    everyone: Sequence[str]
    _drained: set[str] = field(default_factory=set)

    def place(self, free: Collection[str], count: int) -> tuple[str, ...] | None:
        """The nodes that Slurm would give to a job now; None when it can't start now. Raises CommandError."""
        self._show_as_free(set(free))
        done = self.shell.run(["sbatch", "--test-only", f"--nodes={count}", "--wrap", "true"], timeout=COMMAND_SECONDS)
        found = WHERE.search(done.stderr + done.stdout)
        return tuple(expand(found[1])) if found else None

    def _show_as_free(self, free: set[str]) -> None:
        wanted = set(self.everyone) - free
        for state, nodes in (("RESUME", self._drained - wanted), ("DRAIN", wanted - self._drained)):
            if nodes:
                command = ["scontrol", "update", f"NodeName={fold(nodes)}", f"State={state}", "Reason=busy"]
                self.shell.check(command, timeout=COMMAND_SECONDS)
        self._drained = wanted


@contextlib.contextmanager
def scratch_slurm(
    files: Files, parent: Path, topology: NamedTopology, everyone: Sequence[str], version: SlurmVersion
) -> Iterator[ScratchSlurm]:
    """Start it, and end it with the block. Call ``isolated`` before. Raises CommandError when it doesn't start."""
    with files.scratch(parent) as folder:
        _write(files, folder, topology, everyone, version)
        shell = Shell({"SLURM_CONF": str(folder / "slurm.conf")})
        pid, reading = rehearsal_runner.start(["slurmctld", "-D", "-f", str(folder / "slurm.conf")])
        try:
            verdict, said = rehearsal_runner.watch(reading, START_SECONDS)
            if verdict != rehearsal_runner.STARTED:
                last_words = said.decode("utf-8", "replace")[-400:]
                raise CommandError(f"the throw-away slurmctld didn't start: {last_words}", ["slurmctld"])
            _wait_for_answer(shell)
            shell.check(["scontrol", "setdebug", "quiet"], timeout=COMMAND_SECONDS)  # nobody reads its pipe any more
            yield ScratchSlurm(shell, everyone)
        finally:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(reading)


def _wait_for_answer(shell: Shell) -> None:
    end = time.monotonic() + START_SECONDS
    while not re.search(r" is UP", shell.run(["scontrol", "ping"], timeout=COMMAND_SECONDS).stdout):
        if time.monotonic() > end:
            raise CommandError("the throw-away slurmctld doesn't answer", ["scontrol", "ping"])
        time.sleep(0.05)


def _write(files: Files, folder: Path, topology: NamedTopology, everyone: Sequence[str], version: SlurmVersion) -> None:
    files.make_folder(folder / "state")
    lines = [SETTINGS, f"StateSaveLocation={folder}/state\nSlurmctldPidFile={folder}/pid\n"]
    flat = isinstance(topology.body, Flat)
    whole = ClusterTopology((topology,))
    if version.has_topology_yaml:
        files.write_scratch(folder / "topology.yaml", render_yaml.render(whole))
    elif not flat:
        files.write_scratch(folder / "topology.conf", render_conf.render(whole))
        kind = type(topology.body).__name__.lower().rstrip("s")
        lines.append(f"TopologyPlugin=topology/{kind}\n")
    runs = (everyone[start : start + NODES_A_LINE] for start in range(0, len(everyone), NODES_A_LINE))
    lines += [f"NodeName={fold(nodes)} CPUs=1 State=CLOUD\n" for nodes in runs]
    lines.append("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
    files.write_scratch(folder / "slurm.conf", "".join(lines))
    files.write_scratch(folder / "cgroup.conf", "CgroupPlugin=disabled\n")
