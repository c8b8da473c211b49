"""`make local KEEP=1`: the run gives the terminal back and stays, until `make local-stop` ends it."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

__all__ = ["in_background", "stop_kept", "wait_for_the_end"]

PID_FILE = "keeper.pid"
LOG_FILE = "keeper.log"
STOP_SECONDS = 90
LED_INTO_IT = ("enter", "topology.html", PID_FILE)
_report: int | None = None


def in_background(folder: Path) -> None:
    """Fork: the child goes on with the run; the parent waits for its first word and leaves with its exit code."""
    global _report
    if _running(folder):
        sys.exit("an earlier `make local KEEP=1` still runs; end it with `make local-stop`")
    folder.mkdir(parents=True, exist_ok=True)
    listen, _report = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(listen)
        return
    os.close(_report)
    try:
        said = os.read(listen, 1)
    except KeyboardInterrupt:
        said = b""  # the child got it too, and cleans up
    sys.exit(0 if said else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def wait_for_the_end(folder: Path) -> None:
    """In the child: give the terminal back, then sleep until told to end."""
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    (folder / PID_FILE).write_text(f"{os.getpid()}\n")
    log = os.open(folder / LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.setsid()
    for stream in (1, 2):
        os.dup2(log, stream)
    if _report is not None:
        os.write(_report, b"k")
        os.close(_report)
    while not ended:
        signal.pause()
    (folder / PID_FILE).unlink(missing_ok=True)


def stop_kept(folder: Path) -> int:
    """End a kept run and wait until it has taken everything down."""
    pid = _running(folder)
    if not pid:
        print("nothing is kept running")
        return 0
    print(f"ending the kept run (pid {pid}; log: {folder / LOG_FILE})")
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while Path(f"/proc/{pid}").exists():
        if time.monotonic() > deadline:
            print(f"it still runs after {STOP_SECONDS} s; see the log", file=sys.stderr)
            return 1
        time.sleep(0.1)
    for name in LED_INTO_IT:
        (folder / name).unlink(missing_ok=True)
    return 0


def _running(folder: Path) -> int:
    """Pid of the kept run; 0 when there is none (a stale file, or another program's pid, counts as none)."""
    try:
        pid = int((folder / PID_FILE).read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return 0
    return pid if b"main_job" in command else 0
