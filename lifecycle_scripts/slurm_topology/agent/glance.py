"""A glance: has anything changed since the topology was last seen right? It parses nothing, so 10,000 nodes cost next
to nothing.

Everything that a pass looks at goes into one fingerprint: files by their content or signature, Slurm's answers as
they are printed. Node states aren't in it (they change all the time and mean nothing here). A full pass that finds
all in order remembers the fingerprint *from before it looked*; what changes meanwhile shows at the next glance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slurm_topology import __version__
from slurm_topology.agent import jobs, triggers
from slurm_topology.agent.disk import CONF, YAML
from slurm_topology.agent.slurm import PendingJob
from slurm_topology.agent.state import AgentState
from slurm_topology.agent.world import World
from slurm_topology.core.errors import CommandError

__all__ = ["Glance", "glance", "release_late"]

# Lines of `scontrol show config` that say which slurmctld this is and what it runs with.
CONFIG_KEYS = ("BOOT_TIME", "SLURM_CONF", "SLURM_VERSION", "TopologyPlugin", "TopologyParam", "SlurmUser")


@dataclass(frozen=True)
class Glance:
    """``fingerprint`` of everything; ``jobs``: the pending ones, which aren't in it."""

    fingerprint: str
    jobs: tuple[PendingJob, ...]


def glance(world: World, state: AgentState) -> Glance | None:
    """None when nothing is known to look at yet, or Slurm doesn't answer: then a full pass has to look."""
    if not state.conf_path or world.files.signature(world.client_conf) is None:
        return None
    whole = hashlib.sha256()
    try:
        if not any(line.up for line in world.quick_slurm.ping()):
            return None
        for part in (__version__, repr(world.settings), *_files(world, state), *_slurm(world)):
            whole.update(part.encode("utf-8", "surrogateescape"))
            whole.update(b"\0")
        return Glance(whole.hexdigest()[:32], world.quick_slurm.pending_jobs())
    except (CommandError, OSError):
        return None


def _files(world: World, state: AgentState) -> Iterator[str]:
    """Contents where somebody may rewrite a file with the same content, signatures where that is as good."""
    files, settings, conf = world.files, world.settings, Path(state.conf_path)
    for path in (*map(Path, state.conf_files), conf.with_name(CONF), conf.with_name(YAML)):
        yield files.read_text(path) or ""
        yield files.permissions(path)  # SlurmUser has to read it
    memory = (settings.state_folder / name for name in ("pause.json", "instances.json"))
    for path in (settings.resource_config, settings.plan, *memory):
        yield str(files.signature(path))


def _slurm(world: World) -> Iterator[str]:
    slurm = world.quick_slurm
    config = slurm.config()
    yield from (config.get(key, "") for key in CONFIG_KEYS)
    yield slurm.node_names()
    yield slurm.partitions()
    yield slurm.topology_configuration()
    yield slurm.topology()
    yield ",".join(_missing_triggers(world))


def _missing_triggers(world: World) -> list[str]:
    """They are kept in slurmctld's state and can be lost with it, while all else stays as it was."""
    if world.files.signature(triggers.NOTIFIER_PATH) is None:
        return []
    try:
        return triggers.missing(world.quick_slurm.triggers())
    except CommandError:
        return []  # a Slurm that doesn't tell them takes none either; no reason for a full look each time


def release_late(world: World, state: AgentState, pending: tuple[PendingJob, ...], now: float) -> tuple[str, ...]:
    """The scheduler may hold a job some seconds after a change: look again for as long as it can be its doing."""
    late = jobs.late(pending, state.held_jobs, state.released_jobs, state.applied_at, now)
    if late:
        world.slurm.release(late)
    return late
