"""Accounting in Aurora MySQL, which grows, shrinks and fails over by itself: your own database, ExistingDatabase."""

from __future__ import annotations

from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_rds as rds

from hyperpod_slurm import ClusterNetwork, ComputeGroup, ControllerGroup, ExistingDatabase, SlurmCluster

app = App()
stack = Stack(app, "Training")
vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
network = ClusterNetwork(stack, "Network", vpc=vpc)
database = rds.DatabaseCluster(
    stack,
    "Accounting",
    engine=rds.DatabaseClusterEngine.aurora_mysql(version=rds.AuroraMysqlEngineVersion.VER_3_08_0),
    writer=rds.ClusterInstance.serverless_v2("Writer"),
    readers=[rds.ClusterInstance.serverless_v2("Standby", scale_with_writer=True)],
    serverless_v2_min_capacity=0.5,
    serverless_v2_max_capacity=8,
    # What slurmdbd asks of its database (Slurm's accounting guide).
    parameters={"innodb_lock_wait_timeout": "900", "max_allowed_packet": "16777216"},
    storage_encrypted=True,
    deletion_protection=True,
    vpc=vpc,
    vpc_subnets=ec2.SubnetSelection(subnets=vpc.private_subnets),
)
database.connections.allow_default_port_from(network, "slurmdbd on the controller")
assert database.secret is not None  # noqa: S101 - the cluster makes one

SlurmCluster(
    stack,
    "Cluster",
    network=network,
    accounting=ExistingDatabase(
        endpoint=database.cluster_endpoint.hostname,
        secret=database.secret,
    ),
    instance_groups=[
        ControllerGroup("controller"),
        ComputeGroup("train", "ml.p5.48xlarge", 16),
    ],
)
app.synth()
