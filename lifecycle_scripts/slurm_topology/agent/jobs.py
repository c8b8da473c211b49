"""Which held jobs are ours to release. Pure.

A pending job that doesn't fit the topology, even for a second, becomes BadConstraints with priority 0 and stays so
after the topology is right again; only a release frees it. We release those that became so through a topology, and no
other:

* jobs that became so in the course of our apply, or in the minutes after it;
* the same, of the change before the present one, whether they were released then or not;
* when the topology that we replace lacked nodes (HyperPod adds a node before anybody can place it): jobs that became so
  since the topology was last right.

A job that was held before stays as it is: its own request may be what is bad.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from slurm_topology.agent.slurm import PendingJob

__all__ = ["bases", "held", "held_before", "late", "made_by_us", "to_release"]

LATE_SECONDS = (
    300.0  # backfill looks at every job within bf_interval (30 s by default), and at long queues within a few rounds
)


def held(jobs: Iterable[PendingJob]) -> list[str]:
    """Names of the jobs that Slurm has given up on, sorted; of an array only its number (its task list changes)."""
    return sorted({_base(job.id) for job in jobs if job.bad_constraints})


def held_before(
    jobs: Iterable[PendingJob], known_held: Collection[str], ours: Collection[str], *, nodes_lacked: bool
) -> list[str]:
    """Of the jobs that are held now, those that aren't ours to release.

    ``known_held``: held already when the topology was last right. ``ours``: see ``made_by_us``. ``nodes_lacked``: the
    topology in force lacks nodes.
    """
    now = [job for job in held(jobs) if job not in ours]
    return [job for job in now if job in known_held] if nodes_lacked else now


def made_by_us(
    jobs: Iterable[PendingJob], known_held: Collection[str], released: Collection[str], applied_at: float, now: float
) -> list[str]:
    """Of the jobs that are held now, those that the change at ``applied_at`` held, or freed in vain.

    They didn't fit what that change put in force; they may fit what comes next.
    """
    jobs = tuple(jobs)
    in_vain = {job for job in held(jobs) if job in released}
    return sorted({*in_vain, *bases(late(jobs, known_held, (), applied_at, now))})


def to_release(jobs: Iterable[PendingJob], before: Collection[str], until: float) -> tuple[str, ...]:
    """The held jobs that weren't ``before`` and were submitted no later than ``until``, as Slurm names them."""
    return tuple(
        job.id for job in jobs if job.bad_constraints and _base(job.id) not in before and job.submitted <= until
    )


def late(
    jobs: Iterable[PendingJob], known_held: Collection[str], released: Collection[str], applied_at: float, now: float
) -> tuple[str, ...]:
    """Jobs that became held in the minutes after a change, and were submitted before it.

    None of them is released twice.
    """
    if not 0 <= now - applied_at <= LATE_SECONDS:
        return ()
    return to_release(jobs, {*known_held, *released}, applied_at)


def bases(jobs: Iterable[str]) -> list[str]:
    """The job numbers of these jobs, sorted."""
    return sorted({_base(job) for job in jobs})


def _base(job: str) -> str:
    """ "12_[3-9]", "12_4" and "12+1" belong to job 12."""
    return job.partition("_")[0].partition("+")[0]
