"""The door to other programs, with real ones that need no Slurm."""

from __future__ import annotations

import os

import pytest

from slurm_topology.agent.shell import Shell
from slurm_topology.core.errors import CommandError


def test_answers_and_failures_are_values() -> None:
    done = Shell().run(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout=10)
    assert (done.returncode, done.stdout, done.stderr, done.ok) == (3, "out\n", "err\n", False)
    assert done.last_words == "err"


def test_check_wants_success_and_says_what_it_got() -> None:
    with pytest.raises(CommandError, match="failed with status 3: why") as failed:
        Shell().check(["sh", "-c", "echo why >&2; exit 3"], timeout=10)
    assert failed.value.returncode == 3
    assert Shell().check(["echo", "yes"], timeout=10) == "yes\n"


def test_a_program_that_hangs_is_killed_with_its_children() -> None:
    mark = f"{os.getpid()}.25"
    with pytest.raises(CommandError, match=r"gave no answer within 0\.2 s"):
        Shell().run(["sh", "-c", f"sleep 60{mark} & sleep 60{mark}"], timeout=0.2)
    assert f"sleep 60{mark}" not in Shell().run(["ps", "-eo", "args"], timeout=10).stdout


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(CommandError, match="no-such-program"):
        Shell().run(["no-such-program"], timeout=1)


def test_the_environment_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQUEUE_FORMAT and the like would change what Slurm's commands print."""
    monkeypatch.setenv("SQUEUE_FORMAT", "%i")
    shown = Shell({"SLURM_CONF": "/x"}).run(["env"], timeout=10).stdout.splitlines()
    names = {line.partition("=")[0] for line in shown}
    assert names - {"PWD", "SHLVL", "_"} == {"PATH", "LC_ALL", "TZ", "SLURM_BITSTR_LEN", "SLURM_CONF"}
    assert "SLURM_CONF=/x" in shown


def test_odd_bytes_do_not_break_it() -> None:
    assert Shell().run(["printf", r"a\377b"], timeout=10).stdout == "a�b"
