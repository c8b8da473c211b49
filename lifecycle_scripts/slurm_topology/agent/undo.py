"""Going back to an entry of the history, or to what was there before the agent came: a transaction as any other.

Nobody comes after it: a rollback pauses the agent, and an uninstallation takes it away. So what a later pass would
put right, is seen to here: no node may be lacking in what is put in force, and jobs that the scheduler holds some
seconds after the change are released (``watch``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from slurm_topology.agent import findings, jobs, observe, picture, rescue, watch
from slurm_topology.agent.apply import Applied, Applier, Change
from slurm_topology.agent.assign import assign_again
from slurm_topology.agent.disk import DiskState
from slurm_topology.agent.glance import release_late
from slurm_topology.agent.observation import Observation, Role
from slurm_topology.agent.observe import Observer
from slurm_topology.agent.record import put_by_us, written_digests
from slurm_topology.agent.recover import as_disk, put_in_order
from slurm_topology.agent.rehearse import Verdict
from slurm_topology.agent.state import Original, Pause, Store, Transaction
from slurm_topology.agent.world import World
from slurm_topology.core.errors import ApplyError, InputError
from slurm_topology.core.model import Finding

__all__ = ["Done", "end_interrupted", "put_back_original", "roll_back"]

NODES_NAMED = 5


@dataclass(frozen=True)
class Done:
    """What was done, and what there is to say about it."""

    result: str
    findings: tuple[Finding, ...] = ()


class _Target(NamedTuple):
    disk: DiskState
    assignments: dict[str, str]
    findings: tuple[Finding, ...] = ()


def roll_back(world: World, number: int) -> Done:
    """Put a history entry in force and pause the agent, which would undo it at once otherwise.

    Raises InputError, also for an entry under which nodes of today couldn't be used; ApplyError.
    """
    entry = world.history.entry(number)

    def choose(seen: Observation, _: Applier) -> _Target:
        lacking = _lacking(seen, entry.state, entry.assignments) or ()
        if lacking:
            raise InputError(
                f"history entry {number} lacks {len(lacking)} nodes that Slurm has now ({_names(lacking)}): jobs "
                "couldn't use them, or only alone, and jobs that need them would be held. Nothing was changed; expected"
                " an entry with all of them"
            )
        return _Target(entry.state, entry.assignments)

    with _lock(world):
        applied, held = _put_in_force(world, entry.conf_path, choose)
        world.store().save_pause(Pause(world.clock.now(), f"rolled back to history entry {number}"))
    return Done(f"history entry {number} is in force", (*applied.findings, *watch.watch(world, held, applied.released)))


def put_back_original(world: World) -> Done:
    """Before uninstalling: what was there before the agent, or flat where today's nodes couldn't be used under that."""
    original = world.store().load_original()
    if original is None:
        return Done("the agent had never changed anything")
    with _lock(world):
        applied, held = _put_in_force(
            world, original.conf_path, lambda seen, applier: _as_it_was(world, seen, applier, original)
        )
        instead = any(finding.id == findings.INSTEAD_OF_ORIGINAL for finding in applied.findings)
        if not instead:
            world.files.remove(world.settings.state_folder / "original.json")
    result = "the topology is flat" if instead else "what was there before the agent is in force again"
    return Done(result, (*applied.findings, *watch.watch(world, held, applied.released)))


def end_interrupted(world: World) -> Done:
    """The topology stays. Nobody comes after us: complete or undo what a killed pass left, and free its jobs."""
    found: tuple[Finding, ...] = ()
    if world.files.signature(world.settings.state_folder) is None:
        return Done("the agent has never looked")
    with _lock(world):
        store = world.store()
        applier = _applier(world, store)
        interrupted = _put_in_order(applier)
        answers = applier.answers(0.0)
        if interrupted is not None:
            if answers:
                found = _finish(applier, interrupted)
            store.end_transaction()
        elif answers:
            release_late(world, store.load_state(), world.slurm.pending_jobs(), world.clock.now())
    return Done("it stays as it is", found)


# ---- what to go back to


def _as_it_was(world: World, seen: Observation, applier: Applier, original: Original) -> _Target:
    """The original, unless slurmctld would refuse it, or it lacks nodes that have come since."""
    disk = as_disk(original.disk)
    assert seen.conf is not None  # noqa: S101 (checked before)
    lacking = _lacking(seen, disk, original.assignments)
    rehearsal = applier.rehearser.rehearse(disk, seen.conf, seen.slurmctld)
    if rehearsal.verdict is Verdict.REFUSED:
        why = f"slurmctld would refuse it ({'; '.join(rehearsal.reasons)})"
    elif lacking is None:
        why = "it can't be read, so that nobody knows which nodes it lacks"
    elif lacking:
        why = f"it lacks {len(lacking)} nodes that Slurm has now ({_names(lacking)})"
    else:
        return _Target(disk, original.assignments)
    kept = world.settings.state_folder / "original.json"
    flat = rescue.flat(replace(seen, disk=disk), rehearsal.reasons)
    return _Target(flat, {}, (findings.instead_of_original(why, str(kept)),))


def _lacking(seen: Observation, disk: DiskState, assignments: dict[str, str]) -> tuple[str, ...] | None:
    """Nodes of today that couldn't be used, or only alone, under this; None when it can't be read."""
    assert seen.version and seen.slurm and seen.conf  # noqa: S101, PT018 (checked before)
    meaning = picture.meaning_of(disk, seen.version)
    if meaning is None:
        return None
    written = {partition.name: partition.topology for partition in seen.conf.partitions}
    partitions = (
        partition._replace(topology=assignments.get(partition.name) or written.get(partition.name))
        for partition in seen.slurm.partitions
    )
    return picture.unplaced_nodes(replace(seen.slurm, in_force=meaning, partitions=tuple(partitions)))


def _names(nodes: tuple[str, ...]) -> str:
    return ", ".join(nodes[:NODES_NAMED]) + (", …" if len(nodes) > NODES_NAMED else "")


# ---- doing it


@contextmanager
def _lock(world: World) -> Iterator[None]:
    with world.files.lock(world.lock_file) as ours:
        if not ours:
            raise ApplyError("a pass is running: try again in a moment", "lock")
        yield


def _applier(world: World, store: Store) -> Applier:
    return Applier(world.shell, world.files, world.clock, world.slurm, store, world.rehearser, world.settings)


def _put_in_order(applier: Applier) -> Transaction | None:
    """As a pass does it first of all. Returns the journal of the killed pass, if there was one."""
    store = applier.store
    interrupted = store.load_transaction()
    if interrupted is not None:
        store.save_state(put_in_order(applier, interrupted, store.load_state()))
    return store.load_transaction()  # one of no use has been set aside


def _finish(applier: Applier, interrupted: Transaction) -> tuple[Finding, ...]:
    """What comes after the files: the partitions' topologies, which the killed pass's reconfigure forgot, and jobs."""
    completed = observe.disk_state(applier.files, interrupted.conf_path) == as_disk(interrupted.after)
    found = assign_again(applier.slurm, interrupted.assigned_after if completed else interrupted.assigned_before)
    applier.release(interrupted.held_jobs)
    return found


def _put_in_force(
    world: World, conf_path: str, choose: Callable[[Observation, Applier], _Target]
) -> tuple[Applied, list[str]]:
    """Rehearsed, journalled, verified, undone when it fails: as any change, only with a given text.

    Also returns the jobs that aren't ours to release.
    """
    store = world.store()
    applier = _applier(world, store)
    interrupted = _put_in_order(applier)
    seen = Observer(world.shell, world.files, world.slurm, world.settings, conf_path, world.host_name).look(
        world.clock.now()
    )
    _check_is_ours_to_change(seen, conf_path)
    target = choose(seen, applier)
    held = _held_before(world, seen) if interrupted is None else interrupted.held_jobs
    applied = applier.apply(Change(target.disk, None, target.assignments, held), seen)
    # ours from now on: the next pass must not take it for another writer's work
    state, now = store.load_state(), world.clock.now()
    put = put_by_us(state.put, target.disk, applied.wrote, now)
    store.save_state(replace(state, written=written_digests(target.disk), put=put, assigned=target.assignments))
    store.end_transaction()
    return replace(applied, findings=(*target.findings, *applied.findings)), held


def _held_before(world: World, seen: Observation) -> list[str]:
    """As in a pass: jobs that the topology in force held are ours to release."""
    if seen.slurm is None:
        return []
    state, view = world.store().load_state(), seen.slurm
    ours = jobs.made_by_us(view.jobs, state.held_jobs, state.released_jobs, state.applied_at, seen.now)
    return jobs.held_before(view.jobs, state.held_jobs, ours, nodes_lacked=bool(picture.unplaced_nodes(view)))


def _check_is_ours_to_change(seen: Observation, conf_path: str) -> None:
    if seen.role is not Role.ACTIVE or seen.slurm is None:
        raise ApplyError("no slurmctld answers here: nothing can be put in force", "observe")
    if seen.conf is None or seen.conf.path != conf_path:
        raise InputError(
            f"that topology belongs to {conf_path}, and Slurm now runs with {seen.conf.path if seen.conf else 'none'}"
        )
