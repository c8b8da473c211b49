"""Which partitions' largest job a change makes smaller. Pure.

A topology never takes a node away from Slurm, but it can keep nodes apart: two zones that turn out to be two fabrics,
UltraServers of fewer nodes than were thought. Jobs of a size that is no longer possible are held, so it is said.
"""

from __future__ import annotations

from dataclasses import replace

from slurm_topology.agent.compute import Wanted
from slurm_topology.agent.observation import SlurmView
from slurm_topology.core import compare
from slurm_topology.core.difference import LargestJob

__all__ = ["smaller_jobs"]


def smaller_jobs(view: SlurmView, wanted: Wanted) -> tuple[LargestJob, ...]:
    """Largest jobs before and after, of the nodes that stay, for each partition where it shrinks."""
    staying = {node.name for node in wanted.inventory.nodes}
    nodes = {partition.name: staying & set(partition.nodes) for partition in view.partitions if partition.nodes}
    live = {partition.name: partition.topology for partition in view.partitions if partition.topology}
    found = compare.diff(replace(view.in_force, partitions=live), wanted.topology, partition_nodes=nodes).largest_jobs
    return tuple(job for job in found if job.partition and (job.after or 0) < (job.before or 0))
