"""The job that somebody means: by its id, or as squeue prints it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import InputError
from .facts import Job

__all__ = ["find_job"]

_SHOWN = 8  # known ids in a message; the rest is counted
_CUT = "..."  # how Slurm ends a list of tasks that is longer than SLURM_BITSTR_LEN (64 characters)
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def find_job(jobs: Sequence[Job], wanted: str) -> Job:
    """The job ``42``, the task ``42_7`` of an array, started or not, or ``42_[2-9%1]``, the tasks not yet started.

    Of tasks that haven't started Slurm has one record for all, so that record answers for each. Raises InputError for
    a job that isn't there, with what is.
    """
    plain = re.sub(r"_\[(.*)\]$", r"_\1", wanted.strip())
    found = next((job for job in jobs if plain in (job.id, job.number)), None) or _waiting_task(jobs, plain)
    if found is None:
        raise InputError(f"job {wanted}: Slurm doesn't know it {_what_is_known(jobs, plain)}")
    return found


def _waiting_task(jobs: Sequence[Job], wanted: str) -> Job | None:
    array, _, task = wanted.partition("_")
    if not task.isdecimal():
        return None
    candidates = (job for job in jobs if job.id.startswith(f"{array}_"))
    return next((job for job in candidates if _holds(job.id.partition("_")[2], int(task))), None)


def _holds(tasks: str, task: int) -> bool:
    """Whether ``2-9:2,14%3`` has the task; of a list that Slurm cut, what comes after its end counts as had."""
    last = -1
    for part in tasks.partition("%")[0].split(","):
        found = _RANGE.match(part)
        if found is None:
            continue
        first, last = int(found[1]), int(found[2] or found[1])
        if first <= task <= last and (task - first) % int(found[3] or 1) == 0:
            return True
    return _CUT in tasks and task > last


def _what_is_known(jobs: Sequence[Job], wanted: str) -> str:
    array = wanted.partition("_")[0]
    tasks = [job.id for job in jobs if job.id.startswith(f"{array}_")]
    if tasks:
        return f"as one job; of this array it knows: {_some(tasks)}"
    return f"(it forgets ended jobs after MinJobAge); it knows: {_some([job.id for job in jobs]) or 'none'}"


def _some(ids: Sequence[str]) -> str:
    more = f" … and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return ", ".join(ids[:_SHOWN]) + more
