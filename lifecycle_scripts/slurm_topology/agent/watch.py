"""After a change that no pass follows: wait until the scheduler has looked at the jobs once, and release what it holds.

A pass looks again 15 s after a change, and each minute. After a rollback (which pauses the agent) and an
uninstallation nobody does, and a job that is held then is held for good.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from slurm_topology.agent import findings, jobs
from slurm_topology.agent.slurm import PendingJob
from slurm_topology.agent.world import World
from slurm_topology.core.errors import CommandError
from slurm_topology.core.model import Finding, Severity

__all__ = ["watch"]

# slurm.conf(5): backfill looks at the jobs every bf_interval seconds, 30 by default. The main scheduler runs by itself
# after a reconfigure.
BACKFILL_SECONDS = 30.0
BACKFILL = re.compile(r"\bbf_interval=(\d+)")
MARGIN_SECONDS = 3.0
POLL_SECONDS = 1.0


def watch(world: World, before: Collection[str], released: Iterable[str]) -> tuple[Finding, ...]:
    """``before``: jobs that aren't ours to release; ``released``: those that were just now. None is released twice.

    Returns at once when no job waits. A finding tells the jobs that don't fit.
    """
    since, freed = world.clock.now(), set(jobs.bases(released))
    try:
        pending = _watch(world, before, freed, since)
    except CommandError as error:
        world.log.event("not-released", Severity.WARNING, why=str(error))
        return ()
    stuck = [job for job in jobs.held(pending) if job in freed]
    return (findings.jobs_do_not_fit(stuck),) if stuck else ()


def _watch(world: World, before: Collection[str], freed: set[str], since: float) -> tuple[PendingJob, ...]:
    seconds = _interval(world.slurm.config().get("SchedulerParameters", "")) + MARGIN_SECONDS
    end, said = world.clock.monotonic() + seconds, False
    while True:
        pending = world.slurm.pending_jobs()
        victims = jobs.to_release(pending, {*before, *freed}, since)
        if victims:
            world.slurm.release(victims)
            freed.update(jobs.bases(victims))
        waiting = any(not job.bad_constraints and job.submitted <= since for job in pending)
        if not (victims or waiting) or world.clock.monotonic() >= end:
            return pending
        if not said:
            world.log.event("watching-jobs", seconds=seconds)
            said = True
        world.clock.sleep(POLL_SECONDS)


def _interval(parameters: str) -> float:
    found = BACKFILL.search(parameters)
    return float(found[1]) if found else BACKFILL_SECONDS
