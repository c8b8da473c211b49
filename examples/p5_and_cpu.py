"""GPU and CPU partitions, login nodes, and alarms by mail.

The CPU instances have no network topology, so the cluster's default is flat; the GPU partition keeps its tree.
"""

from __future__ import annotations

from aws_cdk import App, Stack
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions

from hyperpod_slurm import (
    ClusterInstanceType,
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    LoginGroup,
    NewLustre,
    SlurmCluster,
    TopologyAlarms,
)

app = App()
stack = Stack(app, "P5AndCpu")
cluster = SlurmCluster(
    stack,
    "Cluster",
    network=ClusterNetwork(stack, "Network", internet_access=True),
    shared_storage=[NewLustre(capacity_gib=4800)],
    instance_groups=[
        ControllerGroup("controller"),
        LoginGroup("login", ClusterInstanceType.M7I_4XLARGE),
        ComputeGroup("gpu", ClusterInstanceType.P5_48XLARGE, 16),
        ComputeGroup("cpu", ClusterInstanceType.C6I_32XLARGE, 4),
    ],
)

topic = sns.Topic(stack, "Operators", enforce_ssl=True)
topic.add_subscription(subscriptions.EmailSubscription("operators@example.com"))
TopologyAlarms(stack, "TopologyAlarms", cluster=cluster, actions=[actions.SnsAction(topic)])
app.synth()
