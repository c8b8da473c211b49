"""Runs in the box: passes on demand, each in a forked process, killed or hindered at any chosen point.

Reads one JSON request a line, writes one JSON answer a line. A *point* is a step of the agent's doors: every
creation, write, take-over of owner and mode, fsync, rename and removal of a file, and every program (before it is
started, and while it runs). A request
``{"kill_at": n}`` ends the pass with SIGKILL right before its n-th point; half of a write is done when a write is the
point.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from slurm_topology.agent.clock import Clock
from slurm_topology.agent.files import Files
from slurm_topology.agent.observe import disk_state
from slurm_topology.agent.reconcile import reconcile
from slurm_topology.agent.shell import Completed, Shell
from slurm_topology.agent.slurm_conf import read_slurm_conf
from slurm_topology.agent.world import World, open_world


class Points:
    """Counts the points and dies at the chosen one."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at = kill_at
        self.names: list[str] = []

    def reached(self, name: str) -> bool:
        """True when this is the chosen point; the caller may do half of its work before ``die``."""
        self.names.append(name)
        return len(self.names) == self.kill_at

    def pass_or_die(self, name: str) -> None:
        if self.reached(name):
            self.die()

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class FragileFiles(Files):
    """The real door, with a point at each step."""

    def __init__(self, points: Points, full_disk: Sequence[str]) -> None:
        self._points = points
        self._full_disk = tuple(full_disk)

    def _create(self, path: Path) -> int:
        self._points.pass_or_die(f"create {path.name}")
        return super()._create(path)

    def _write(self, descriptor: int, content: bytes) -> None:
        target = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        if target.startswith(self._full_disk):
            super()._write(descriptor, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self._points.reached(f"write {Path(target).name}"):
            super()._write(descriptor, content[: len(content) // 2])
            self._points.die()
        super()._write(descriptor, content)

    def _take_over(self, descriptor: int, before: os.stat_result | None, mode: int | None) -> None:
        self._points.pass_or_die("take over owner and mode")
        super()._take_over(descriptor, before, mode)

    def _sync(self, descriptor: int) -> None:
        self._points.pass_or_die(f"fsync {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
        super()._sync(descriptor)

    def _rename(self, old: Path, new: Path) -> None:
        self._points.pass_or_die(f"rename to {new.name}")
        super()._rename(old, new)

    def _unlink(self, path: Path) -> None:
        self._points.pass_or_die(f"remove {path.name}")
        super()._unlink(path)


@dataclass(frozen=True)
class FragileShell(Shell):
    """The real door, with two points at each program: before it starts, and while it runs (on without us)."""

    points: Points = field(default_factory=lambda: Points(0))

    def run(self, argv: Sequence[str], *, timeout: float, user: str | None = None) -> Completed:
        name = " ".join(Path(word).name for word in argv[:3])
        self.points.pass_or_die(f"start {name}")
        if self.points.reached(f"during {name}"):
            self.launch(argv)
            self.points.die()
        return super().run(argv, timeout=timeout, user=user)


class JumpingClock(Clock):
    """The wall clock is off by ``offset`` seconds."""

    def __init__(self, offset: float) -> None:
        self._offset = offset

    def now(self) -> float:
        return super().now() + self._offset


def world_for(request: dict[str, Any], points: Points) -> World:
    world = open_world(Path(request["settings"]))
    shell = FragileShell(world.shell.extra, points)
    files = FragileFiles(points, request.get("full_disk", ()))
    return replace(world, shell=shell, files=files, clock=JumpingClock(request.get("clock_offset", 0.0)))


def run_pass(request: dict[str, Any]) -> dict[str, Any]:
    """In the child."""
    points = Points(request.get("kill_at", 0))
    try:
        record = reconcile(world_for(request, points))
    except Exception as error:
        return {
            "error": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exc(),
            "points": points.names,
        }
    if record is None:
        return {"record": None, "points": points.names}
    document = asdict(record)
    document["action"], document["reason"] = record.action.value, record.reason.value
    document["findings"] = [{**asdict(finding), "severity": finding.severity.value} for finding in record.findings]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"record": document, "points": points.names, "memory_kilobytes": memory}


def rehearse(request: dict[str, Any]) -> dict[str, Any]:
    """In the child: would slurmctld start with what is on disk?"""
    world = open_world(Path(request["settings"]))
    conf = read_slurm_conf("/opt/slurm/etc/slurm.conf", lambda path: world.files.read_text(Path(path)))
    rehearsal = world.rehearser.rehearse(disk_state(world.files, conf.path, conf), conf, "slurmctld")
    return {"verdict": rehearsal.verdict.value if not rehearsal.reasons else "; ".join(rehearsal.reasons)}


def in_child(request: dict[str, Any]) -> dict[str, Any]:
    """Fork, run the pass, give back what it said; "killed" when it died at its point."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as answer:
            json.dump(OPERATIONS[request.get("op", "pass")](request), answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {"killed": True} if status == -signal.SIGKILL else json.loads(said)


OPERATIONS = {"pass": run_pass, "rehearse": rehearse}


def main() -> None:
    importlib.import_module("slurm_topology.agent.full_pass")  # once, before the forks
    # findings and passes are logged to standard error, which nobody reads here
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for line in sys.stdin:
        print(json.dumps(in_child(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
