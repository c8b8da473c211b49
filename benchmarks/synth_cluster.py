"""What bench_synth.py measures: the simplest app, with as many compute groups as the first argument says."""

from __future__ import annotations

import sys

from aws_cdk import App, Stack

from hyperpod_slurm import ComputeGroup, ControllerGroup, SlurmCluster

app = App()
groups = [ComputeGroup(f"train{number}", "ml.p5.48xlarge", 8) for number in range(int(sys.argv[1]))]
SlurmCluster(Stack(app, "Bench"), "Cluster", instance_groups=[ControllerGroup("controller"), *groups])
app.synth()
