"""A glance: has anything changed since the topology was last seen right? It parses nothing, so 10,000 nodes cost next
to nothing.

Everything that a pass looks at goes into one fingerprint: the files by their content or signature, Slurm's answers as
they are printed. Node states aren't in it (they change all the time and mean nothing here), names, addresses and host
names are. A full pass that finds all in order remembers the fingerprint *from before it looked*; what changes
meanwhile shows at the next glance.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from slurm_topology import __version__
from slurm_topology.agent.disk import CONF, YAML
from slurm_topology.agent.slurm import PendingJob
from slurm_topology.agent.state import AgentState
from slurm_topology.agent.world import World
from slurm_topology.core.errors import CommandError

__all__ = ["Glance", "glance"]

# Lines of `scontrol show config` that say which slurmctld this is and what it runs with.
CONFIG_KEYS = ("BOOT_TIME", "SLURM_CONF", "SLURM_VERSION", "TopologyPlugin", "TopologyParam", "SlurmUser")


@dataclass(frozen=True)
class Glance:
    """``fingerprint`` of everything; ``jobs``: the pending ones, which aren't in it."""

    fingerprint: str
    jobs: tuple[PendingJob, ...]


def glance(world: World, state: AgentState) -> Glance | None:
    """None when there is nothing to compare with, or Slurm doesn't answer: then a full pass has to look."""
    if not state.conf_path:
        return None
    try:
        if not any(line.up for line in world.slurm.ping()):
            return None
        parts = [__version__, repr(world.settings), *_files(world, Path(state.conf_path)), *_slurm(world)]
        return Glance(_digest(parts), world.slurm.pending_jobs())
    except (CommandError, OSError):
        return None


def _files(world: World, conf: Path) -> list[str]:
    """Contents where somebody may rewrite a file with the same content, signatures where that is as good."""
    files, settings = world.files, world.settings
    contents = [files.read_text(path) or "" for path in (conf, conf.with_name(CONF), conf.with_name(YAML))]
    watched = (settings.resource_config, settings.plan, settings.state_folder / "pause.json")
    return contents + [str(files.signature(path)) for path in watched]


def _slurm(world: World) -> list[str]:
    slurm = world.slurm
    config = slurm.config()
    return [
        *(config.get(key, "") for key in CONFIG_KEYS),
        slurm.node_addresses(),
        slurm.partitions(),
        slurm.topology_configuration(),
        slurm.topology(),
    ]


def _digest(parts: list[str]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode("utf-8", "surrogateescape"))
        whole.update(b"\0")
    return whole.hexdigest()[:32]
