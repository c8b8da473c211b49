"""An apply failed: put back what was on disk, see that slurmctld runs with it, free the jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slurm_topology.agent import observe
from slurm_topology.agent.assign import assign_again, assigned
from slurm_topology.agent.daemon import restart_failed
from slurm_topology.agent.disk import steps_between
from slurm_topology.agent.observation import Observation
from slurm_topology.agent.text import digest
from slurm_topology.core.errors import CommandError, SlurmTopologyError
from slurm_topology.core.slurm_version import SlurmVersion

if TYPE_CHECKING:
    from slurm_topology.agent.apply import Applier, Change

__all__ = ["go_back"]


def go_back(applier: Applier, change: Change, seen: Observation) -> str:
    """Undo a change. Says what was done.

    The journal stays when the files can't be put back: then the next pass tries again.
    """
    assert seen.conf is not None and seen.version is not None  # noqa: S101, PT018 (nothing is changed without)
    conf, version = seen.conf, seen.version
    try:
        for step in steps_between(observe.disk_state(applier.files, conf.path), seen.disk, version):
            applier.write_step(step, conf)
    except (SlurmTopologyError, OSError) as error:
        return f"The files could not be put back: {error}"
    answers, revived = _revive(applier, seen, version)
    if answers:
        applier.release(change.held_before)
        applier.store.end_transaction()
    return f"The files are as they were; {revived}"


def _revive(applier: Applier, seen: Observation, version: SlurmVersion) -> tuple[bool, str]:
    """Slurm runs with the old topology, or is made to. One that doesn't answer now is the next pass's business."""
    if not applier.answers(applier.settings.slurmctld_wait_seconds):
        restart_failed(applier.shell, applier.settings.slurmctld_unit)
        return False, "slurmctld doesn't answer yet"
    try:
        ran = _run_with(applier, seen, version)
    except CommandError as error:
        return False, f"slurmctld can't be asked: {error}"
    return True, ran + _again(applier, assigned(seen.slurm.partitions) if seen.slurm else {})


def _run_with(applier: Applier, seen: Observation, version: SlurmVersion) -> str:
    slurm = applier.slurm
    if seen.slurm is not None and digest(observe.in_force(slurm, version)[0]) == seen.slurm.in_force_digest:
        return "slurmctld still runs with them"
    done = slurm.reconfigure()
    taken = done.ok and applier.answers(applier.settings.slurmctld_wait_seconds)
    return "slurmctld runs with them again" if taken else "slurmctld did not take them"


def _again(applier: Applier, before: Mapping[str, str]) -> str:
    """The change's reconfigure has forgotten the partitions' topologies, and so has ours."""
    refused = assign_again(applier.slurm, before)
    return f", but {'; '.join(finding.message for finding in refused)}" if refused else ""
