"""Can slurmctld read the topology files? It dies of one that SlurmUser may not read."""

from __future__ import annotations

from pathlib import Path

from slurm_topology.agent.disk import CONF, YAML, DiskState, flat_like
from slurm_topology.agent.files import Files
from slurm_topology.agent.shell import Shell
from slurm_topology.agent.slurm_conf import SlurmConf
from slurm_topology.core.errors import CommandError
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = ["usable"]

LOOK_SECONDS = 5.0


def usable(
    disk: DiskState, conf: SlurmConf, version: SlurmVersion | None, files: Files, shell: Shell
) -> tuple[DiskState, tuple[str, ...]]:
    """What of a disk state slurmctld can read, and in words what it would read and can't.

    A file that it can't read is as good as none to us: it is to be written anew.
    """
    user, folder, said = conf.value("SlurmUser") or "root", Path(conf.path).parent, []
    in_use = YAML if version and version.has_topology_yaml and disk.yaml is not None else CONF
    left = disk
    for name, _ in disk.topology_files():
        if _may_read(folder / name, user, files, shell):
            continue
        left = left._replace(yaml=None) if name == YAML else left._replace(conf=None)
        if name == in_use and not (name == CONF and flat_like(disk.plugin)):
            said.append(f"{folder / name} can't be read by SlurmUser ({user})")
    return left, tuple(said)


def _may_read(path: Path, user: str, files: Files, shell: Shell) -> bool:
    if files.may_read(path, user):
        return True
    try:  # an access list may allow what owner and mode don't
        return shell.run(["test", "-r", str(path)], timeout=LOOK_SECONDS, user=user).ok
    except CommandError:
        return True  # only root can try
