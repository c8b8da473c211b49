"""HyperPod's own manager keeps the topology; the agent only watches, and a dashboard shows what it sees.

A careful first step on a cluster that already works: `TopologyMode.REPAIR` steps in only where something is broken.
"""

from __future__ import annotations

from aws_cdk import App, Stack

from hyperpod_slurm import (
    ClusterInstanceType,
    ComputeGroup,
    ControllerGroup,
    SlurmCluster,
    Topology,
    TopologyAlarms,
    TopologyDashboard,
    TopologyMode,
)

app = App()
stack = Stack(app, "Observe")
cluster = SlurmCluster(
    stack,
    "Cluster",
    topology=Topology.auto(mode=TopologyMode.OBSERVE),
    instance_groups=[ControllerGroup("controller"), ComputeGroup("train", ClusterInstanceType.TRN2_48XLARGE, 16)],
)
alarms = TopologyAlarms(stack, "Alarms", cluster=cluster)
TopologyDashboard(stack, "Dashboard", cluster=cluster, alarms=alarms)
app.synth()
