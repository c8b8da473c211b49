"""The main job itself, once, and the judge that it is measured by."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from main_job import leaves
from main_job.progress import Progress
from main_job.story import MainJob
from slurm_lab.roots import Root

EVENTS = ("scale up", "scale down", "replace")


@pytest.mark.slurm
@pytest.mark.deploy
def test_the_main_job_from_deploy_to_destroy(slurm_roots: Callable[[str], Root], tmp_path: Path) -> None:
    """What `make local` shows: each event ends with every node placed right, the job alive, slurmctld never dead."""
    progress = Progress(StringIO())
    slurm_roots("26.05")
    job = MainJob("26.05", progress)
    try:
        job.run()
        job.destroy()
    finally:
        job.close()
    progress.write_summary(tmp_path / "summary.json", job.summary)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["ok"]
    steps = {step["name"]: step for step in summary["steps"]}
    for name in EVENTS:
        assert steps[name]["nodes_placed"] == steps[name]["slurm_nodes"]
        assert steps[name]["running_job_alive"] is True
        assert steps[name]["slurmctld_deaths"] == []
        assert steps[name]["plugin"] == "topology/tree"
    assert [
        len(steps[name]["changes"][what]) for name, what in zip(EVENTS, ("added", "removed", "moved"), strict=True)
    ] == [4, 2, 1]


LABELS = {"a": "x", "b": "x", "c": "y", "d": None}


@pytest.mark.parametrize(
    ("in_force", "right"),
    [
        ({"s1": ("a", "b"), "s2": ("c",), "rest": ("d",)}, True),
        ({"s1": ("a", "b", "d"), "s2": ("c",)}, True),
        ({"s1": ("a", "b"), "s2": ("c",)}, False),
        ({"s1": ("a", "b", "c", "d")}, False),
        ({"s1": ("a",), "s2": ("b",), "s3": ("c", "d")}, False),
        ({"s1": ("a", "b"), "s2": ("c", "a"), "rest": ("d",)}, False),
    ],
)
def test_the_judge_tells_right_from_wrong(in_force: dict[str, tuple[str, ...]], right: bool) -> None:
    assert leaves.same_grouping(in_force, LABELS) is right


def test_changes_name_every_node_that_came_went_or_moved() -> None:
    before = {"s1": ("a", "b"), "s2": ("c",)}
    after = {"s1": ("a",), "s2": ("b", "d")}
    assert leaves.changes(before, after) == {"added": ["d"], "removed": ["c"], "moved": ["b"]}


def test_a_failed_step_is_in_the_summary(tmp_path: Path) -> None:
    progress = Progress(StringIO())
    with pytest.raises(ValueError, match="broken"), progress.step("one"):
        raise ValueError("broken")
    progress.write_summary(tmp_path / "summary.json", {})
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["ok"], summary["steps"][0]["ok"]) == (False, False)
