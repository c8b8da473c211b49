"""The topologies of partitions (25.05+): given live, and given again after a reconfigure, which forgets them.

A partition without one of its own has the cluster's default, in which its nodes may not even be. So whoever
reconfigures says afterwards what the partitions have to have, also on the way back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slurm_topology.agent import findings
from slurm_topology.agent.slurm import Slurm
from slurm_topology.core.errors import CommandError, InputError
from slurm_topology.core.model import Finding, Partition
from slurm_topology.core.read_scontrol import read_partitions

__all__ = ["assign", "assign_again", "assigned"]


def assigned(partitions: Iterable[Partition]) -> dict[str, str]:
    """Partition → the topology that Slurm shows for it; those with the cluster's default are left out."""
    return {partition.name: partition.topology for partition in partitions if partition.topology}


def assign(slurm: Slurm, assignments: Mapping[str, str]) -> tuple[Finding, ...]:
    """Give the partitions their topologies.

    What Slurm refuses is a finding: the cluster's default is in force there.
    """
    tried = (_assign(slurm, partition, topology) for partition, topology in assignments.items())
    return tuple(finding for finding in tried if finding is not None)


def assign_again(slurm: Slurm, wanted: Mapping[str, str]) -> tuple[Finding, ...]:
    """Give those that have another one now, if any, what they had. A partition that has gone needs none."""
    if not wanted:
        return ()
    try:
        partitions = read_partitions(slurm.partitions())
    except (CommandError, InputError) as error:
        return tuple(findings.not_assigned(name, topology, str(error)) for name, topology in wanted.items())
    live = {partition.name: partition.topology for partition in partitions}
    lost = {name: topology for name, topology in wanted.items() if name in live and live[name] != topology}
    return assign(slurm, lost)


def _assign(slurm: Slurm, partition: str, topology: str) -> Finding | None:
    try:
        slurm.assign(partition, topology)
    except CommandError as error:
        return findings.not_assigned(partition, topology, str(error))
    return None
