"""Lifecycle scripts of your own: beside HyperPod's set-up of Slurm (extend), or instead of it (own).

Either way the topology agent is installed on the controller, and can't fail a node; your script can.
"""

from __future__ import annotations

from pathlib import Path

from aws_cdk import App, Stack

from hyperpod_slurm import ClusterInstanceType, ComputeGroup, ControllerGroup, Lifecycle, SlurmCluster

SCRIPTS = Path(__file__).parent / "lifecycle"

app = App()
SlurmCluster(
    Stack(app, "Extended"),
    "Cluster",
    lifecycle=Lifecycle.extend(SCRIPTS, script="setup.sh"),
    instance_groups=[ControllerGroup("controller"), ComputeGroup("train", ClusterInstanceType.P5_48XLARGE, 8)],
)
SlurmCluster(
    Stack(app, "Owned"),
    "Cluster",
    lifecycle=Lifecycle.own(SCRIPTS, script="start_slurm.sh"),
    instance_groups=[ControllerGroup("controller"), ComputeGroup("train", ClusterInstanceType.P5_48XLARGE, 8)],
)
app.synth()
