"""Finding roots, and saying what is missing: no root is made here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurm_lab import NotRunnable, RootError, find_root, roots
from slurm_lab.__main__ import NOT_RUNNABLE, main


def whole_root(folder: Path, recipe: str = roots.RECIPE) -> Path:
    mark = folder / "trixie" / roots.MARK
    mark.parent.mkdir(parents=True)
    mark.write_text(json.dumps({"recipe": recipe, "slurm": "24.11.5", "suite": "trixie"}))
    return folder


def test_a_whole_root_is_found_and_knows_its_version(tmp_path: Path) -> None:
    root = find_root("24.11", whole_root(tmp_path))
    assert (root.suite, root.exact_version, root.path) == ("trixie", "24.11.5", tmp_path / "trixie")


def test_a_half_made_root_is_none(tmp_path: Path) -> None:
    """mmdebstrap works in `trixie.partial`, and what has no mark isn't ours."""
    (tmp_path / "trixie.partial" / "etc").mkdir(parents=True)
    (tmp_path / "trixie" / "etc").mkdir(parents=True)
    with pytest.raises(NotRunnable, match=r"python -m slurm_lab roots 24\.11"):
        find_root("24.11", tmp_path)


def test_a_root_of_an_older_recipe_is_to_be_renewed(tmp_path: Path) -> None:
    with pytest.raises(NotRunnable, match="older recipe"):
        find_root("24.11", whole_root(tmp_path, recipe="old"))


def test_a_version_that_no_suite_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RootError, match=r"Slurm 25\.11: expected one of 24\.11, 26\.05"):
        find_root("25.11", tmp_path)


def test_another_place_for_the_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPERPOD_SLURM_ROOTS", str(tmp_path))
    assert find_root("24.11", whole_root(tmp_path)) == find_root("24.11")


def test_a_system_without_apt_is_told_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HYPERPOD_SLURM_ROOTS", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert main(["roots", "24.11"]) == NOT_RUNNABLE
    assert "mmdebstrap" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [tmp_path / ".lock"]


def test_without_root_and_sudo_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HYPERPOD_SLURM_ROOTS", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert main(["roots", "24.11"]) == NOT_RUNNABLE
    assert "needs root, and there is no sudo here" in capsys.readouterr().err
