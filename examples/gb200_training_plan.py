"""UltraServers from a training plan, in blocks: a job of up to 17 nodes stays inside one NVLink domain.

The plan keeps one instance of each UltraServer as a spare, so 34 nodes are two UltraServers of 17.
"""

from __future__ import annotations

from aws_cdk import App, Stack

from hyperpod_slurm import (
    Capacity,
    ClusterInstanceType,
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    DeepHealthCheck,
    SlurmCluster,
)

app = App()
stack = Stack(app, "Gb200")
network = ClusterNetwork(stack, "Network", availability_zone_id="usw2-az2")  # where the plan reserves its capacity
SlurmCluster(
    stack,
    "Cluster",
    network=network,
    slurm_version="25.11",
    instance_groups=[
        ControllerGroup("controller", ClusterInstanceType.M7I_8XLARGE),
        ComputeGroup(
            "gb200",
            ClusterInstanceType.P6E_GB200_36XLARGE,
            34,
            capacity=Capacity.training_plan("arn:aws:sagemaker:us-west-2:123456789012:training-plan/gb200"),
            deep_health_checks=[DeepHealthCheck.INSTANCE_STRESS, DeepHealthCheck.INSTANCE_CONNECTIVITY],
        ),
    ],
)
app.synth()
