"""Slurm's commands as functions: what is asked, what is done, and nothing decided.

Everything is asked with the shortest output that holds the answer (10,000 nodes have to be cheap), in UTC, and parsed
here or by the core's readers. ``scontrol show config`` hangs for a minute when slurmctld is away, ``scontrol ping``
never: so ping first.
"""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from slurm_topology.agent.shell import Completed, Shell

__all__ = ["ControllerLine", "PendingJob", "Slurm", "parse_config", "parse_jobs", "parse_ping"]

PING_SECONDS = 30.0  # it gives up by itself after MessageTimeout (10 s by default) per controller
LOCAL_SECONDS = 20.0  # `slurmctld -V` and the like touch no network
# `slurmctld -V` says "slurm 25.11.4" or, on Debian, "slurm-wlm 24.11.5".
PING_LINE = re.compile(r"^Slurmctld\((\w+)\) at (\S+) is (UP|DOWN)", re.MULTILINE)
RELEASE_BATCH = 200  # job ids on one command line


class ControllerLine(NamedTuple):
    """One line of `scontrol ping`: the primary first, then backups in the order in which they would take over."""

    role: str  # "primary", "backup", "backup1" …
    host: str
    up: bool


class PendingJob(NamedTuple):
    """A pending job as Slurm names it (an array's waiting tasks are one such: "12_[3-9]")."""

    id: str
    reasons: tuple[str, ...]
    submitted: float  # seconds since 1970

    @property
    def bad_constraints(self) -> bool:
        """Slurm has given up on it: priority 0, and it stays so until somebody releases it."""
        return "BadConstraints" in self.reasons


@dataclass(frozen=True)
class Slurm:
    """Slurm's commands. ``timeout`` bounds each command that talks to slurmctld, in seconds."""

    shell: Shell
    timeout: float

    # ---- asking

    def ping(self) -> tuple[ControllerLine, ...]:
        """All controllers; empty when nothing could be understood. Raises CommandError when it hangs or isn't there."""
        seconds = min(PING_SECONDS, self.timeout)
        return parse_ping(self.shell.run(["scontrol", "ping"], timeout=seconds).stdout)

    def config(self) -> Mapping[str, str]:
        return parse_config(self._ask("scontrol", "show", "config"))

    def nodes(self) -> str:
        return self._ask("scontrol", "--oneliner", "show", "nodes")

    def node_names(self) -> str:
        """All nodes, folded: short even for 10,000 of them."""
        return self._ask("sinfo", "--noheader", "--format=%N")

    def partitions(self) -> str:
        return self._ask("scontrol", "--oneliner", "show", "partitions")

    def topology(self) -> str:
        """What `scontrol show topology` prints; "" when it can't say (it exits 0 for some errors, and 1 for flat)."""
        done = self._run("scontrol", "show", "topology")
        return "" if not done.ok or "error" in done.stdout[:80] else done.stdout

    def topology_configuration(self) -> str:
        """`scontrol show topoconf` (25.05 and newer): the configuration in force as YAML; "" where that isn't known."""
        done = self._run("scontrol", "show", "topoconf")
        return done.stdout if done.ok else ""

    def pending_jobs(self) -> tuple[PendingJob, ...]:
        return parse_jobs(self._ask("squeue", "--noheader", "--states=PENDING", "--format=%i|%r|%V"))

    def version_of(self, binary: str) -> str:
        return self.shell.check([binary, "-V"], timeout=LOCAL_SECONDS).strip()

    def triggers(self) -> str:
        return self._ask("strigger", "--get")

    # ---- doing

    def reconfigure(self) -> Completed:
        """Every daemon reads its configuration again.

        Its exit status alone proves nothing: ping and read back afterwards.
        """
        return self._run("scontrol", "reconfigure")

    def assign(self, partition: str, topology: str) -> None:
        """Give a partition its topology, live (25.05+).

        The next reconfigure or restart forgets it. Raises CommandError.
        """
        self._ask("scontrol", "update", f"PartitionName={partition}", f"Topology={topology}")

    def set_trigger(self, event: str, program: str, slurm_user: str) -> None:
        """Let slurmctld run a program at each such event of any node, for good. Raises CommandError.

        Only SlurmUser may, root neither (trigger_mgr.c: "Attempt to set trigger by uid 0 != SlurmUser").
        """
        argv = ["strigger", "--set", "--node", event, "--flags=PERM", f"--program={program}"]
        self.shell.check(argv, timeout=self.timeout, user=slurm_user)

    def clear_triggers(self, program: str, slurm_user: str) -> None:
        """Forget the triggers that run a program. Raises CommandError."""
        lines = (line.split() for line in self.triggers().splitlines() if line.rstrip().endswith(program))
        for words in lines:
            self.shell.check(["strigger", "--clear", f"--id={words[0]}"], timeout=self.timeout, user=slurm_user)

    def release(self, jobs: Iterable[str]) -> tuple[str, ...]:
        """Make held jobs eligible again. Returns those that Slurm refused to release (gone by now, for instance)."""
        wanted, refused = list(jobs), []
        for start in range(0, len(wanted), RELEASE_BATCH):
            batch = wanted[start : start + RELEASE_BATCH]
            if not self._run("scontrol", "release", *batch).ok:
                refused += [job for job in batch if len(batch) == 1 or not self._run("scontrol", "release", job).ok]
        return tuple(refused)

    def _run(self, *argv: str) -> Completed:
        return self.shell.run(argv, timeout=self.timeout)

    def _ask(self, *argv: str) -> str:
        return self.shell.check(argv, timeout=self.timeout)


def parse_ping(text: str) -> tuple[ControllerLine, ...]:
    return tuple(ControllerLine(match[1], match[2], match[3] == "UP") for match in PING_LINE.finditer(text))


def parse_config(text: str) -> dict[str, str]:
    """`scontrol show config` as a map; "(null)" and "N/A" are left out, the "(uid)" behind a user's name too."""
    pairs = (line.partition("=") for line in text.splitlines())
    found = {key.strip(): value.strip() for key, sign, value in pairs if sign}
    return {
        key: re.sub(r"^(\w[\w-]*)\(\d+\)$", r"\1", value)
        for key, value in found.items()
        if value not in ("(null)", "N/A", "")
    }


def parse_jobs(text: str) -> tuple[PendingJob, ...]:
    """Lines of id|reasons|submit time. A line that isn't one is skipped: squeue may warn in between."""
    jobs = []
    for line in text.splitlines():
        parts = line.split("|")
        if len(parts) == 3:
            jobs.append(PendingJob(parts[0], tuple(parts[1].split(",")), _seconds(parts[2])))
    return tuple(jobs)


def _seconds(text: str) -> float:
    try:
        return float(calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return 0.0
