"""The command as a process: what the shell sees of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
P5 = str(ROOT / "tests" / "cases" / "hyperpod" / "p5-16.json")


@pytest.mark.parametrize(
    "words",
    [("show", "--resource-config", P5), ("plan", "--resource-config", P5, "--json"), ("show", "--help")],
    ids=" ".join,
)
def test_a_reader_who_goes_away_is_no_fault(words: tuple[str, ...]) -> None:
    """Nobody reads, from the first byte on: exit code 141 (128 + SIGPIPE), and not a word."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "slurm_topology", *words],
            cwd=ROOT / "lifecycle_scripts",
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.stderr == b""
    # argparse itself drops a help that it can't write at once, when Python doesn't buffer
    assert done.returncode in ({141, 0} if "--help" in words else {141})


def test_the_exit_code_is_the_commands() -> None:
    command = [sys.executable, "-m", "slurm_topology", "plan", "--plan", "/nowhere"]
    done = subprocess.run(command, cwd=ROOT / "lifecycle_scripts", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "slurm-topology: /nowhere: no such file\n")
