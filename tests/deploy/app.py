"""An app that needs every grant of the deploy-time function: P5 nodes, and UltraServers of a training plan.

Context: `count` (P5 nodes), `name` (cluster name; another one is a replacement), `plan` (ARN of the training plan).
"""

from __future__ import annotations

from aws_cdk import App, Stack

from hyperpod_slurm import Capacity, ComputeGroup, ControllerGroup, SlurmCluster

app = App()
stack = Stack(app, "Training")
SlurmCluster(
    stack,
    "Cluster",
    cluster_name=app.node.try_get_context("name") or "training",
    instance_groups=[
        ControllerGroup(),
        ComputeGroup("gpu", "ml.p5.48xlarge", int(app.node.try_get_context("count") or 4)),
        ComputeGroup(
            "nvl",
            "ml.p6e-gb200.36xlarge",
            20,
            capacity=Capacity.training_plan(app.node.try_get_context("plan")),
        ),
    ],
)
app.synth()
