"""One pass: lock → glance → (only when something isn't as it was) a full pass.

Everything that triggers the agent runs this same pass; a trigger only says "look now". What a pass does depends on
what it sees and on nothing else, so it doesn't matter how many triggers came, in which order, or which were lost.
"""

from __future__ import annotations

from slurm_topology.agent.decision import Action, Reason
from slurm_topology.agent.glance import Glance, glance, release_late
from slurm_topology.agent.record import PassRecord, Settled, after_pass
from slurm_topology.agent.state import AgentState, Store
from slurm_topology.agent.world import World

__all__ = ["reconcile"]


def reconcile(world: World) -> PassRecord | None:
    """Run one pass. None when another one is running: it is asked to look once more.

    Raises StateError when the agent's own memory can't be written: then nothing was changed, because a change is
    journalled first.
    """
    world.files.make_folder(world.settings.state_folder, 0o750)
    with world.files.lock(world.lock_file) as ours:
        if not ours:
            world.request()
            return None
        return _locked(world)


def _locked(world: World) -> PassRecord:
    now, store = world.clock.now(), world.store()
    state, transaction = store.load_state(), store.load_transaction()
    look = glance(world, state) if transaction is None else None
    if look is not None and look.fingerprint == state.settled_fingerprint:
        return _nothing_new(world, store, state, look, now)
    # most passes end above, and don't pay for importing all of what follows
    from slurm_topology.agent.full_pass import Pass

    return Pass(world, store).run(state, transaction, look.fingerprint if look else "")


def _nothing_new(world: World, store: Store, state: AgentState, look: Glance, now: float) -> PassRecord:
    """All is as it was when the topology was right."""
    released = release_late(world, state, look.jobs, now)
    seconds = max(0.0, world.clock.now() - now)
    record = PassRecord(now, seconds, Action.NOTHING, Reason.IN_FORCE, released=released, nodes=state.nodes)
    store.save_state(after_pass(state, record, None, Settled(look.fingerprint, look.jobs, released)))
    return record
