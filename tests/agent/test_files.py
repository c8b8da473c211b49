"""The door to the disk: two hosts at one file, and what killed processes leave behind."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from slurm_topology.agent.files import Files


class OtherHost(Files):
    """The same folder, seen from another controller."""

    host = "controller2"


def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_two_hosts_that_write_one_file_at_once_never_see_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shared storage: each has a temporary file of its own, so none can cut the other's before it is renamed."""
    path, ours, theirs = tmp_path / "topology.conf", Files(), OtherHost()
    path.write_text("old")
    rename = ours._rename

    def while_they_begin(old: Path, new: Path) -> None:
        with monkeypatch.context() as patch:  # they die in the middle
            patch.setattr(theirs, "_write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                theirs.write_atomically(path, "theirs")
        rename(old, new)

    monkeypatch.setattr(ours, "_rename", while_they_begin)
    ours.write_atomically(path, "ours")
    assert path.read_text() == "ours"


def test_what_dead_processes_of_this_host_left_is_removed(tmp_path: Path) -> None:
    path, files = tmp_path / "f", Files()
    own = f"f.slurm-topology-new.{files.host}"
    ours_dead, ours_now = f"{own}.{dead_pid()}", f"{own}.{os.getpid()}"
    living, others = f"{own}.{os.getppid()}", f"f.slurm-topology-new.elsewhere.{dead_pid()}"
    for name in (ours_dead, ours_now, living, others, "f.slurm-topology-new.txt"):
        (tmp_path / name).write_text("half")
    files.write_atomically(path, "whole")
    assert names(tmp_path) == sorted(["f", living, others, "f.slurm-topology-new.txt"])


def test_a_temporary_file_of_our_name_that_somebody_else_made_is_never_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files()
    trap = tmp_path / f"f.slurm-topology-new.{files.host}.{os.getpid()}"
    monkeypatch.setattr(files, "_forget_dead", lambda *_: trap.write_text("theirs"))
    with pytest.raises(FileExistsError):
        files.write_atomically(tmp_path / "f", "ours")
    assert trap.read_text() == "theirs"


def test_scratch_folders_of_killed_passes_are_removed(tmp_path: Path) -> None:
    """/run is memory, and each holds a copy of slurmctld's node state."""
    old, living = tmp_path / f"scratch.{dead_pid()}.abc", tmp_path / f"scratch.{os.getppid()}.abc"
    for folder in (old, living, tmp_path / "client"):
        folder.mkdir()
        (folder / "node_state").write_text("x")
    with Files().scratch(tmp_path) as folder:
        assert names(tmp_path) == sorted(["client", folder.name, living.name])
    assert names(tmp_path) == ["client", living.name]
