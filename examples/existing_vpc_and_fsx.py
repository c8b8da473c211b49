"""A VPC, security group and FSx for Lustre file system that exist; home directories and accounting that are made.

Everything is named by id: `cdk synth` asks no account for anything.
"""

from __future__ import annotations

from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2

from hyperpod_slurm import (
    ClusterInstanceType,
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    LoginGroup,
    LustreMount,
    NewDatabase,
    NewOpenZfs,
    SlurmCluster,
)

app = App()
stack = Stack(app, "ExistingVpc")

vpc = ec2.Vpc.from_vpc_attributes(
    stack,
    "Vpc",
    vpc_id="vpc-0123456789abcdef0",
    availability_zones=["us-west-2a", "us-west-2b"],
    private_subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    private_subnet_ipv4_cidr_blocks=["10.1.0.0/17", "10.1.128.0/24"],
    private_subnet_route_table_ids=["rtb-0123456789abcdef0", "rtb-0123456789abcdef0"],
)
network = ClusterNetwork(
    stack,
    "Network",
    vpc=vpc,
    subnets=[vpc.private_subnets[0]],  # the large one: EFA wants one zone, and P5 instances 32 addresses each
    security_groups=[ec2.SecurityGroup.from_security_group_id(stack, "Fabric", "sg-0123456789abcdef0")],
)
SlurmCluster(
    stack,
    "Cluster",
    cluster_name="training",
    network=network,
    shared_storage=[
        LustreMount(dns_name="fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com", mount_name="abcdefgh"),
        NewOpenZfs(capacity_gib=512),
    ],
    accounting=NewDatabase(),
    instance_groups=[
        ControllerGroup("controller"),
        LoginGroup("login"),
        ComputeGroup("train", ClusterInstanceType.P5EN_48XLARGE, 32),
    ],
)
app.synth()
