"""The smallest app: a VPC made for EFA, a controller, and P5 nodes with the topology that fits them.

`cdk deploy` makes it; `-c compute_count=16` and the like make it larger, smaller or another.
"""

from __future__ import annotations

from aws_cdk import App, Stack

from hyperpod_slurm import ComputeGroup, ControllerGroup, SlurmCluster

app = App()
stack = Stack(app, "HyperPodSlurm")


def setting(name: str, default: str) -> str:
    """A value of the context: ``-c name=value``, or cdk.json."""
    value = app.node.try_get_context(name)
    return default if value is None else str(value)


SlurmCluster(
    stack,
    "Cluster",
    instance_groups=[
        ControllerGroup("controller", setting("controller_type", "ml.m5.4xlarge")),
        ComputeGroup("train", setting("compute_type", "ml.p5.48xlarge"), int(setting("compute_count", "8"))),
    ],
)
app.synth()
