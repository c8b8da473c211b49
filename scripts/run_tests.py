#!/usr/bin/env python3
"""All tests, in groups side by side: most of them wait (for a scheduler, a time-out, a stack), so the groups overlap.

    python scripts/run_tests.py [pytest's options]

The groups together are the whole of tests/, whatever files come: each later one leaves out what an earlier one has.
Each line of output starts with its group's name. Exit status 0: every group passed.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
# The long ones with a real Slurm, the rest of tests/agent, everything else: about the same time each.
LONG = ("kill_everywhere", "churn", "install_real", "two_controllers", "bad_world_slurm")
GROUPS: dict[str, tuple[str, ...]] = {
    "long": (*(f"tests/agent/test_{name}.py" for name in LONG), "tests/slurmctld"),
    "agent": ("tests/agent",),
    "others": ("tests",),
}
NOTHING_COLLECTED = 5  # pytest's exit status, with -k for instance


def commands(options: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Name and command line of each group."""
    taken: list[str] = []
    for name, paths in GROUPS.items():
        cache = f"cache_dir=build/pytest/{name}"
        left_out = [f"--ignore={path}" for path in taken]
        yield name, [sys.executable, "-m", "pytest", "-q", "-o", cache, *options, *left_out, *paths]
        taken += paths


def relay(name: str, output: IO[str], lock: threading.Lock) -> None:
    """Print a group's lines, each whole and with its name. When nobody reads them any more, the group ends too."""
    with contextlib.suppress(BrokenPipeError), output:
        for line in output:
            with lock:
                print(f"{name:>6} | {line}", end="", flush=True)


def main(options: Sequence[str]) -> int:
    started, lock = time.monotonic(), threading.Lock()
    running: dict[str, subprocess.Popen[str]] = {}
    threads: list[threading.Thread] = []
    for name, command in commands(options):
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        running[name] = process
        threads.append(threading.Thread(target=relay, args=(name, process.stdout, lock)))
        threads[-1].start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        for process in running.values():
            process.wait()  # they got the same signal, and tell what they had
    failed = [name for name, process in running.items() if process.wait() not in (0, NOTHING_COLLECTED)]
    with contextlib.suppress(BrokenPipeError):
        print(
            f"tests: {time.monotonic() - started:.0f} s; {'failed: ' + '; '.join(failed) if failed else 'all passed'}"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
