"""Two clusters that share a network and a file system: one to train, one to try things out."""

from __future__ import annotations

from aws_cdk import App, Stack
from aws_cdk import aws_fsx as fsx

from hyperpod_slurm import (
    Capacity,
    ClusterInstanceType,
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    LustreMount,
    NodeRecovery,
    SlurmCluster,
    Topology,
)

app = App()
shared = Stack(app, "Shared")
network = ClusterNetwork(shared, "Network")
files = fsx.LustreFileSystem(
    shared,
    "Files",
    vpc=network.vpc,
    vpc_subnet=network.subnets[0],
    security_group=network.security_groups[0],
    storage_capacity_gib=2400,
    lustre_configuration=fsx.LustreConfiguration(
        deployment_type=fsx.LustreDeploymentType.PERSISTENT_2, per_unit_storage_throughput=250
    ),
)

SlurmCluster(
    Stack(app, "Train"),
    "Cluster",
    network=network,
    shared_storage=[LustreMount.from_file_system(files)],
    instance_groups=[
        ControllerGroup("controller"),
        ComputeGroup("train", ClusterInstanceType.P5EN_48XLARGE, 16),
    ],
)
SlurmCluster(
    Stack(app, "Playground"),
    "Cluster",
    network=network,
    shared_storage=[LustreMount.from_file_system(files)],
    topology=Topology.flat(),  # single-node jobs: nothing is gained by placing them close to each other
    node_recovery=NodeRecovery.NONE,  # spot instances come and go
    instance_groups=[
        ControllerGroup("controller", ClusterInstanceType.M7I_LARGE),
        ComputeGroup("play", ClusterInstanceType.G6E_12XLARGE, 4, capacity=Capacity.spot_instances()),
    ],
)
app.synth()
