"""A job by any name under which Slurm's commands print it."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurm_topology.core.errors import InputError
from slurm_topology.core.explain import Job, find_job, read_jobs

RECORDED = Path(__file__).parent / "recorded"
CUT = "9-11,14,17-40:4%2"


def jobs(*ids: str) -> list[Job]:
    return [Job(each, str(100 + index)) for index, each in enumerate(ids)]


@pytest.mark.parametrize(
    ("wanted", "number"),
    [
        ("4_1", "8"),  # a task that runs: a record of its own
        ("8", "8"),
        ("4_2", "4"),  # tasks that wait: one record for all
        ("4_3", "4"),
        ("4_2-3%1", "4"),  # as scontrol prints it
        ("4_[2-3%1]", "4"),  # as squeue prints it
        ("4", "4"),
    ],
)
@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_tasks_of_a_recorded_array(version: str, wanted: str, number: str) -> None:
    assert find_job(read_jobs((RECORDED / f"jobs-{version}.txt").read_text()), wanted).number == number


@pytest.mark.parametrize(
    ("tasks", "task", "holds"),
    [(CUT, 10, True), (CUT, 12, False), (CUT, 14, True), (CUT, 21, True), (CUT, 22, False), (CUT, 41, False),
     ("1-3,5,...", 5, True), ("1-3,5,...", 4, False), ("1-3,5,...", 900, True), ("7", 7, True), ("7", 70, False)],
)  # fmt: skip
def test_a_task_is_found_in_a_list_of_tasks(tasks: str, task: int, holds: bool) -> None:
    known = jobs("3", f"12_{tasks}")
    if holds:
        assert find_job(known, f"12_{task}") == known[1]
    else:
        with pytest.raises(InputError, match="of this array it knows: 12_"):
            find_job(known, f"12_{task}")


def test_an_unknown_job_is_told_what_there_is_and_how_much_more() -> None:
    with pytest.raises(InputError, match=r"it knows: 1, 2, 3, 4, 5, 6, 7, 8 … and 4 more$"):
        find_job(jobs(*map(str, range(1, 13))), "99")
    with pytest.raises(InputError, match=r"it knows: 1, 2$"):
        find_job(jobs("1", "2"), "99_x")
    with pytest.raises(InputError, match="it knows: none"):
        find_job([], "99")
