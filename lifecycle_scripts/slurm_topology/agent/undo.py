"""Going back to an entry of the history, or to what was there before the agent came: a transaction as any other."""

from __future__ import annotations

from dataclasses import replace

from slurm_topology.agent import jobs
from slurm_topology.agent.apply import Applied, Applier, Change
from slurm_topology.agent.disk import DiskState
from slurm_topology.agent.observation import Observation, Role
from slurm_topology.agent.observe import Observer
from slurm_topology.agent.record import written_digests
from slurm_topology.agent.recover import as_disk, put_in_order
from slurm_topology.agent.state import Pause, Store, Transaction
from slurm_topology.agent.world import World
from slurm_topology.core.errors import ApplyError, InputError

__all__ = ["end_interrupted", "put_back_original", "roll_back"]


def roll_back(world: World, number: int) -> Applied:
    """Put a history entry in force and pause the agent, which would undo it at once otherwise.

    Raises InputError, ApplyError.
    """
    entry = world.history.entry(number)
    with world.files.lock(world.lock_file) as ours:
        if not ours:
            raise ApplyError("a pass is running: try again in a moment", "lock")
        applied = _put_in_force(world, entry.state, entry.conf_path)
        world.store().save_pause(Pause(world.clock.now(), f"rolled back to history entry {number}"))
    return applied


def put_back_original(world: World) -> str:
    """Before uninstalling. Returns what was done."""
    original = world.store().load_original()
    if original is None:
        return "the agent had never changed anything"
    with world.files.lock(world.lock_file) as ours:
        if not ours:
            raise ApplyError("a pass is running: try again in a moment", "lock")
        _put_in_force(world, as_disk(original.disk), original.conf_path)
        world.files.remove(world.settings.state_folder / "original.json")
    return "what was there before the agent is in force again"


def end_interrupted(world: World) -> None:
    """Nobody comes after us: put the disk in order if a pass was killed, and forget it."""
    if world.store().load_transaction() is None:
        return
    with world.files.lock(world.lock_file) as ours:
        if not ours:
            raise ApplyError("a pass is running: try again in a moment", "lock")
        store = world.store()
        if _put_in_order(_applier(world, store)) is not None:
            store.end_transaction()


def _applier(world: World, store: Store) -> Applier:
    return Applier(world.shell, world.files, world.clock, world.slurm, store, world.rehearser, world.settings)


def _put_in_order(applier: Applier) -> Transaction | None:
    """As a pass does it first of all. Returns the journal of the killed pass, if there was one."""
    store = applier.store
    interrupted = store.load_transaction()
    if interrupted is not None:
        store.save_state(put_in_order(applier, interrupted, store.load_state()))
    return interrupted


def _put_in_force(world: World, target: DiskState, conf_path: str) -> Applied:
    """Rehearsed, journalled, verified, undone when it fails: as any change, only with a given text."""
    store = world.store()
    applier = _applier(world, store)
    interrupted = _put_in_order(applier)
    seen = Observer(world.shell, world.files, world.slurm, world.settings, conf_path, world.host_name).look(
        world.clock.now()
    )
    _check_is_ours_to_change(seen, conf_path)
    held = jobs.held(seen.slurm.jobs) if seen.slurm else []
    if interrupted is not None:
        held = interrupted.held_jobs
    applied = applier.apply(Change(target, None, {}, held), seen)
    # ours from now on: the next pass must not take it for another writer's work
    store.save_state(replace(store.load_state(), written=written_digests(target)))
    store.end_transaction()
    return applied


def _check_is_ours_to_change(seen: Observation, conf_path: str) -> None:
    if seen.role is not Role.ACTIVE:
        raise ApplyError("no slurmctld answers here: nothing can be put in force", "observe")
    if seen.conf is None or seen.conf.path != conf_path:
        raise InputError(
            f"that topology belongs to {conf_path}, and Slurm now runs with {seen.conf.path if seen.conf else 'none'}"
        )
