"""After a pass that was killed in the middle: bring the disk back to a state with a name. Idempotent, killable itself.

`transaction.json` says what was and what was to be. Found on disk is one of the states on the way
(``disk.steps_between``):

* the last one: everything was written; the coming pass sees whether Slurm runs with it;
* one before: put back what was;
* none of them: somebody else has written since; leave it, the coming pass compares it as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slurm_topology.agent import observe
from slurm_topology.agent.apply import Applier
from slurm_topology.agent.disk import CONF, PLUGIN, YAML, DiskState, Step, as_map, steps_between
from slurm_topology.agent.record import put_by_us, written_digests
from slurm_topology.agent.slurm_conf import read_slurm_conf
from slurm_topology.agent.state import AgentState, Transaction
from slurm_topology.core.errors import InputError
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = ["put_in_order", "way_back"]


def put_in_order(applier: Applier, transaction: Transaction, state: AgentState) -> AgentState:
    """Bring the disk in order; the state then knows what is ours. Raises ApplyError, OSError.

    A journal that can't be used is set aside: every state on the way is one that slurmctld starts with, so the coming
    pass may compare what it finds, and nothing is worse than an agent that never looks again.
    """
    if transaction.recovered:
        return state
    try:
        version = SlurmVersion.parse(transaction.slurm_version or state.slurm_version)
        conf = read_slurm_conf(transaction.conf_path, applier.read_text)
    except InputError as error:
        applier.store.set_transaction_aside(f"of no use ({error})")
        return state
    before, after = as_disk(transaction.before), as_disk(transaction.after)
    found = observe.disk_state(applier.files, transaction.conf_path, conf)
    for step in way_back(found, before, after, version):
        applier.write_step(step, conf)
    # what is left to do is to release jobs: what others write from now on is none of this journal's business
    applier.store.save_transaction(replace(transaction, recovered=True))
    if found != after:
        return state
    changed = [name for name, text in as_map(after).items() if text != as_map(before)[name]]
    put = put_by_us(state.put, after, changed, transaction.started_at)
    return replace(state, written=written_digests(after), put=put)


def way_back(found: DiskState, before: DiskState, after: DiskState, version: SlurmVersion) -> tuple[Step, ...]:
    """The steps that put back what was; none when everything was written, or when somebody else has written since."""
    reached, on_the_way = before, [before]
    for step in steps_between(before, after, version):
        reached = step.after(reached)
        on_the_way.append(reached)
    return steps_between(found, before, version) if found in on_the_way[:-1] else ()


def as_disk(document: Mapping[str, str | None]) -> DiskState:
    return DiskState(document.get(CONF), document.get(YAML), document.get(PLUGIN))
