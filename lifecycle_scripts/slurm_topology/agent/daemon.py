"""The slurmctld process of this machine, as the kernel and systemd know it."""

from __future__ import annotations

import contextlib
from pathlib import Path

from slurm_topology.agent.files import SCRATCH, Files
from slurm_topology.agent.observation import Daemon
from slurm_topology.agent.shell import Shell
from slurm_topology.core.errors import CommandError

__all__ = ["find_daemon", "restart_failed", "systemd_runs", "unit_active", "unit_state"]

SYSTEMCTL_SECONDS = 10.0
PROC = Path("/proc")


def find_daemon(files: Files, shell: Shell, unit: str, pid_file: str | None) -> Daemon | None:
    """The running slurmctld, or None.

    The pid file may be stale or missing (with --systemd there is none): then all are asked.
    """
    hinted = (files.read_text(Path(pid_file)) or "").strip() if pid_file else ""
    if hinted.isdigit() and (daemon := _daemon(files, int(hinted))):
        return daemon
    main = _property(shell, unit, "MainPID")
    if main.isdigit() and int(main) and (daemon := _daemon(files, int(main))):
        return daemon
    pids = (int(name) for name in files.names(PROC) if name.isdigit())
    return next((daemon for pid in pids if (daemon := _daemon(files, pid)) is not None), None)


def _daemon(files: Files, pid: int) -> Daemon | None:
    """The process if it is a slurmctld (not its script runner, which has the same program, nor a rehearsal).

    By what it was called as: the kernel's name for it (comm) is Debian's slurmctld-wlm after a reconfigure.
    """
    try:
        line = files.read_text(PROC / str(pid) / "cmdline") or ""
    except OSError:
        return None  # it ended while we looked, or isn't ours to see
    arguments = tuple(word for word in line.split("\0") if word)
    if not arguments or Path(arguments[0]).name != "slurmctld" or "slurmscriptd" in line or f"/{SCRATCH}." in line:
        return None
    return Daemon(pid, arguments, _binary(files, pid, arguments[0]))


def _binary(files: Files, pid: int, called: str) -> str:
    """What a reconfigure executes: argv[0] when that is a path (slurmctld's own rule), else the program that runs."""
    if called.startswith("/") and files.signature(Path(called)) is not None:
        return called
    running = str(files.resolve(PROC / str(pid) / "exe"))
    return running if files.signature(Path(running)) is not None else "slurmctld"


def unit_state(shell: Shell, unit: str) -> str:
    """systemd's ActiveState of a unit ("active", "failed" …); "" without systemd."""
    return _property(shell, unit, "ActiveState")


def unit_active(shell: Shell, unit: str) -> bool:
    return unit_state(shell, unit) in ("active", "activating", "reloading")


def restart_failed(shell: Shell, unit: str) -> None:
    """systemd restarts what crashed until it gives up: then it is told to try again. What was stopped stays stopped."""
    if unit_state(shell, unit) != "failed":
        return
    for action in (["reset-failed"], ["start", "--no-block"]):
        with contextlib.suppress(CommandError):  # whoever runs slurmctld here will start it
            shell.check(["systemctl", *action, unit], timeout=SYSTEMCTL_SECONDS)


def _property(shell: Shell, unit: str, name: str) -> str:
    try:
        done = shell.run(["systemctl", "show", "--property", name, "--value", unit], timeout=SYSTEMCTL_SECONDS)
    except CommandError:
        return ""
    return done.stdout.strip() if done.ok else ""


def systemd_runs(files: Files) -> bool:
    """True when systemd is this machine's init (sd_booted(3))."""
    return files.signature(Path("/run/systemd/system")) is not None
