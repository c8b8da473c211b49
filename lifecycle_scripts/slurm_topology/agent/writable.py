"""The folders of Slurm's configuration: what the agent's unit must be allowed to write beside its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from slurm_topology.agent.disk import CONF, YAML
from slurm_topology.agent.world import World
from slurm_topology.core.errors import CommandError

__all__ = ["conf_folders"]

# Slurm's configuration on HyperPod, and where packages have it: Slurm may not be there yet when we are installed.
USUAL = ("/opt/slurm/etc", "/etc/slurm")


def conf_folders(world: World) -> list[str]:
    """The usual ones, and those of slurm.conf (as Slurm tells it, as it was seen last, as it is set), of all that it
    includes, and of the topology files: each where it is named and, for a link, where the file is."""
    found = set(USUAL)
    for path in _files(world):
        found |= {str(path.parent), str(world.files.resolve(path).parent)}
    return sorted(found)


def _files(world: World) -> Iterator[Path]:
    state = world.store().load_state()
    confs = {Path(path) for path in (world.settings.slurm_conf, state.conf_path, _told(world)) if path}
    yield from confs
    yield from map(Path, state.conf_files)
    for folder in {path.parent for path in confs} | set(map(Path, USUAL)):
        yield from (folder / "slurm.conf", folder / CONF, folder / YAML)


def _told(world: World) -> str:
    """Slurm's own word; empty when nobody answers (`scontrol show config` would wait for a minute then)."""
    try:
        up = any(line.up for line in world.slurm.ping())
        return world.slurm.config().get("SLURM_CONF", "") if up else ""
    except CommandError:
        return ""
