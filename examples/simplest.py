"""A controller, a partition of P5 instances, everything else by default."""

from __future__ import annotations

from aws_cdk import App, Stack

from hyperpod_slurm import ClusterInstanceType, ComputeGroup, ControllerGroup, SlurmCluster

app = App()
stack = Stack(app, "Simplest")
SlurmCluster(
    stack,
    "Cluster",
    instance_groups=[
        ControllerGroup("controller"),
        ComputeGroup("train", ClusterInstanceType.P5_48XLARGE, 8),
    ],
)
app.synth()
