"""What systemd starts: passes until there is nothing left to do soon.

A trigger that comes while a pass runs is not lost: HyperPod's file and the request mark are looked at before and
after. One that comes later, while this process ends, is found by `missed`. What a pass wants to be asked again about
within the minute (ceiling, backoff, a second look after a change) is waited for here; the timer is for the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from slurm_topology.agent.missed import marks, note_seen
from slurm_topology.agent.reconcile import reconcile
from slurm_topology.agent.record import PassRecord
from slurm_topology.agent.settle import Signatures, settle
from slurm_topology.agent.world import World

__all__ = ["serve"]

PATIENCE_SECONDS = 240.0  # of waiting, all in all; the unit's TimeoutStartSec leaves room for the passes themselves
POLL_SECONDS = 0.2
LOCK_SECONDS = 1.0


def serve(world: World, tell: Callable[[PassRecord], None]) -> PassRecord | None:
    """Run passes until all is quiet. Returns the last one; None when another process has kept the lock all the time."""
    end = world.clock.monotonic() + PATIENCE_SECONDS
    record: PassRecord | None = None
    while True:
        settle(world.files, world.clock, [world.settings.resource_config], world.settings)
        before = marks(world)
        record = reconcile(world)
        if record is None:  # a command by hand has the lock: it looks for no trigger, so this one waits for it
            if world.clock.monotonic() < end:
                world.clock.sleep(LOCK_SECONDS)
                continue
            note_seen(world, marks(world))
            return None
        tell(record)
        if marks(world) != before:
            continue
        if record.again_after_seconds is None or not _wait(world, before, record.again_after_seconds, end):
            note_seen(world, before)
            return record


def _wait(world: World, before: Signatures, seconds: float, end: float) -> bool:
    """Wait for the time or a trigger. False when it would take longer than our patience."""
    until = world.clock.monotonic() + seconds
    if until > end:
        return False
    while world.clock.monotonic() < until and marks(world) == before:
        world.clock.sleep(min(POLL_SECONDS, max(0.0, until - world.clock.monotonic())))
    return True
