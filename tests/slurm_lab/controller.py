"""slurmctld in a box: start it as HyperPod or a test wants, look at it, reconfigure it."""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import dataclass
from enum import Enum

from .box import Box, BoxError, Inner
from .slurm_conf import CONF_FOLDER, LOG
from .wait import wait_for

__all__ = ["Controller", "Reconfigured", "StartedBy"]

CONF = f"{CONF_FOLDER}/slurm.conf"
UNIT = "slurmctld.service"
DROP_IN = f"/etc/systemd/system/{UNIT}.d/lab.conf"
OPTIONS = "/etc/default/slurmctld"


class StartedBy(str, Enum):
    """How slurmctld is run; a reconfigure that fails keeps a daemon alive and kills one in the foreground."""

    DAEMON = "daemon"  # it puts itself into the background
    FOREGROUND = "foreground"  # slurmctld -D
    SYSTEMD = "systemd"  # slurmctld.service, `slurmctld --systemd`, as Debian's unit does
    SYSTEMD_FOREGROUND = "systemd-foreground"  # slurmctld.service, `slurmctld -D`, as older units do

    @property
    def is_systemd(self) -> bool:
        return self in (StartedBy.SYSTEMD, StartedBy.SYSTEMD_FOREGROUND)

    @property
    def is_foreground(self) -> bool:
        return self in (StartedBy.FOREGROUND, StartedBy.SYSTEMD_FOREGROUND)


@dataclass(frozen=True)
class Reconfigured:
    """What came of a ``scontrol reconfigure``."""

    accepted: bool  # scontrol said so, and slurmctld lives
    returncode: int
    output: str
    seconds: float
    pid_before: int
    pid_after: int  # 0: dead
    log: tuple[str, ...]  # what slurmctld logged meanwhile


class Controller:
    """The slurmctld of one box."""

    def __init__(self, box: Box, started_by: StartedBy, unit: str = "") -> None:
        """``unit``: more lines of the unit's [Service] section, such as "Restart=on-failure"."""
        self.started_by = started_by
        self._box = box
        self._unit = unit
        self._foreground: Inner | None = None
        self._launch_errors = ""

    # ---- running

    def start(self, *arguments: str, seconds: float = 60) -> None:
        """Start and wait until it answers ("-c" throws the saved state away). Raises BoxError when it dies."""
        self.launch(*arguments)
        wait_for(self._answers_or_died, "slurmctld answers", seconds=seconds, explain=self.last_words)
        if not self.alive():
            raise BoxError(f"slurmctld didn't start:\n{self.last_words()}")

    def launch(self, *arguments: str) -> None:
        """Start without waiting: for files that it should refuse, and first boots that are not ready."""
        command = ("slurmctld", "-f", CONF, *arguments)
        if self.started_by.is_systemd:
            self._box.write_text(OPTIONS, f"SLURMCTLD_OPTIONS='{' '.join(arguments)}'\n")
            self._box.write_text(DROP_IN, self._drop_in())
            self._box.run("systemctl", "daemon-reload", check=True)
            self._box.run("systemctl", "reset-failed", UNIT)
            self._box.run("systemctl", "start", "--no-block", UNIT, check=True)
        elif self.started_by is StartedBy.FOREGROUND:
            self._foreground = self._box.popen(*command, "-D", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        else:
            self._launch_errors = self._box.run(*command).stderr

    def _drop_in(self) -> str:
        """Debian's unit, but with HyperPod's paths."""
        kind, how = ("simple", "-D") if self.started_by.is_foreground else ("notify", "--systemd")
        start = f"/opt/slurm/sbin/slurmctld {how} -f {CONF} $SLURMCTLD_OPTIONS"
        return f"[Unit]\nConditionPathExists=\n[Service]\nType={kind}\nExecStart=\nExecStart={start}\n{self._unit}\n"

    def stop(self, signal_name: str = "TERM", seconds: float = 60) -> None:
        """End it with a signal and wait until it is gone: TERM is an orderly end, KILL a crash."""
        if self.started_by.is_systemd and signal_name == "TERM":
            self._box.run("systemctl", "stop", UNIT, check=True)
        elif pid := self.pid():
            self._box.run("kill", f"-{signal_name}", str(pid))
            wait_for(lambda: self.pid() != pid, "slurmctld ends", seconds=seconds)

    def restart(self, *arguments: str) -> None:
        self.stop()
        self.start(*arguments)

    # ---- looking

    def pid(self) -> int:
        """Its process id inside the box, 0 when it isn't running.

        Not by its pid file, which a reconfigure leaves stale. While a successor is being started there are two: the old
        one counts. A rehearsal's slurmctld has another configuration file, so it doesn't.
        """
        said = self._box.run("pgrep", "--oldest", "--full", rf"^(\S*/)?slurmctld( .*)? -f {CONF}( |$)").stdout
        return int(said or 0)

    def alive(self) -> bool:
        return self.pid() != 0

    def answers(self) -> bool:
        return " UP" in self._box.run("scontrol", "ping").stdout

    def _answers_or_died(self) -> bool:
        return self.answers() or self._died()

    def _died(self) -> bool:
        if self.alive():
            return False
        if self.started_by.is_systemd:
            return self._box.run("systemctl", "is-failed", "--quiet", UNIT).returncode == 0
        if self._foreground is not None:
            return self._foreground.poll() is not None
        return not self.answers()

    def mark(self) -> int:
        """A place in the log, for ``log(since=mark)``."""
        return len(self._log_text())

    def log(self, since: int = 0, pattern: str = "") -> tuple[str, ...]:
        """Lines of the log without their time stamps, from a mark on, matching a regular expression."""
        lines = (re.sub(r"^\[[^\]]*\]\s*", "", line) for line in self._log_text()[since:].splitlines())
        return tuple(line for line in lines if re.search(pattern, line))

    def _log_text(self) -> str:
        try:
            return self._box.read_text(LOG)
        except FileNotFoundError:
            return ""

    def last_words(self) -> str:
        """The end of the log, and what was said before there was one, for messages."""
        return "\n".join((*self.log()[-20:], self._launch_errors.strip()))

    # ---- reconfiguring

    def reconfigure(self, timeout: float = 120) -> Reconfigured:
        """``scontrol reconfigure``, then wait until slurmctld answers again or is seen to be dead."""
        mark, before, started = self.mark(), self.pid(), time.monotonic()
        done = self._box.run("scontrol", "reconfigure", timeout=timeout)
        seconds = time.monotonic() - started
        succeeded = done.returncode == 0 and not self.started_by.is_foreground
        if succeeded:
            wait_for(lambda: self.pid() != before, "slurmctld's successor takes over", explain=self.last_words)
        wait_for(self._answers_or_died, "slurmctld after a reconfigure", explain=self.last_words)
        after = self.pid()
        return Reconfigured(
            accepted=done.returncode == 0 and after != 0,
            returncode=done.returncode,
            output=(done.stdout + done.stderr).strip(),
            seconds=seconds,
            pid_before=before,
            pid_after=after,
            log=self.log(mark),
        )
