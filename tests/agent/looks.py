"""Looks at clusters that don't exist, and what is wanted for them."""

from __future__ import annotations

from collections.abc import Sequence

from agent.agent_lab import Member, resource_config
from slurm_topology.agent.compute import Wanted, compute
from slurm_topology.agent.disk import DiskState
from slurm_topology.agent.observation import Observation, Role, SlurmView
from slurm_topology.agent.slurm_conf import SlurmConf
from slurm_topology.core import plan_document, read_resource_config
from slurm_topology.core.choose import make_plan
from slurm_topology.core.model import ClusterTopology, Group, Partition
from slurm_topology.core.read_cluster_nodes import ClusterNodes
from slurm_topology.core.read_scontrol import SlurmNode
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = ["VERSION", "name_of", "observe", "wanted"]

VERSION = SlurmVersion(25, 11)


def name_of(member: Member) -> str:
    return "ip-" + member.address.replace(".", "-")


def observe(
    members: Sequence[Member],
    types: dict[str, str],
    planned: Sequence[Group] = (),
    cluster_nodes: ClusterNodes | None = None,
) -> Observation:
    """A look at a cluster whose one partition has all nodes, with a plan for the groups ``planned``."""
    nodes = tuple(SlurmNode(name_of(member)) for member in members)
    partitions = (Partition("dev", nodes=tuple(node.name for node in nodes)),)
    named = Partition("dev", tuple(group.name for group in planned if group.partitions))
    text = plan_document.dump(make_plan(planned, [named], VERSION), planned, [named]) if planned else None
    return Observation(
        now=0.0,
        role=Role.ACTIVE,
        active_host="controller-1",
        daemon=None,
        conf=SlurmConf("/opt/slurm/etc/slurm.conf", partitions=partitions),
        disk=DiskState(),
        version=VERSION,
        next_version=VERSION,
        slurmctld="slurmctld",
        slurm=SlurmView(VERSION, "topology/flat", "slurm", None, nodes, partitions, ClusterTopology(), "", ()),
        resource_config=read_resource_config.read(resource_config(members, types)),
        plan=plan_document.load(text) if text else None,
        manager_active=False,
        cluster_nodes=cluster_nodes,
    )


def wanted(
    members: Sequence[Member],
    types: dict[str, str],
    planned: Sequence[Group] = (),
    cluster_nodes: ClusterNodes | None = None,
) -> Wanted:
    found = compute(observe(members, types, planned, cluster_nodes), {}, opt_out=False)
    assert found is not None
    return found
