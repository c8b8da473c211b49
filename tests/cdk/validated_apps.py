"""Apps that are synthesized with validation on. `python -m cdk.validated_apps FOLDER` writes one assembly for each.

A process of their own, because the tests' process has validation off: aws-cdk-lib reads CDK_VALIDATION when it starts.
"""

from __future__ import annotations

import sys
from pathlib import Path

from aws_cdk import App, Environment, Stack, Validations
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sns as sns
from cdk_nag import AwsSolutionsChecks

from cdk.apps import controller, feature_flags, p5
from hyperpod_slurm import (
    Capacity,
    ClusterNetwork,
    ComputeGroup,
    LoginGroup,
    NewDatabase,
    NewLustre,
    NewOpenZfs,
    PatchingStrategy,
    SlurmCluster,
    TopologyAlarms,
    TopologyDashboard,
)

PLAN_ARN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/gb200"


def full_stack(app: App, *, internet_access: bool, ultraservers: bool = True) -> Stack:
    """Everything that the library can make, in one stack."""
    stack = Stack(app, "Full")
    gb200 = ComputeGroup("gb200", "ml.p6e-gb200.36xlarge", 17, capacity=Capacity.training_plan(PLAN_ARN))
    patched = p5(auto_patch=PatchingStrategy.WHEN_IDLE, image_release_version="1.2.3")
    cluster = SlurmCluster(
        stack,
        "Cluster",
        network=ClusterNetwork(stack, "Network", internet_access=internet_access),
        shared_storage=[NewLustre(), NewOpenZfs()],
        accounting=NewDatabase(),
        instance_groups=[controller(), LoginGroup("login"), patched, *([gb200] if ultraservers else [])],
    )
    alarms = TopologyAlarms(stack, "Alarms", cluster=cluster)
    TopologyDashboard(stack, "Dashboard", cluster=cluster, alarms=alarms)
    cluster.on_state_change("State")
    cluster.grant_describe(cluster)
    cluster.grant_manage_nodes(cluster.controller_role)
    return stack


def looked_up(app: App) -> None:
    """The first pass of a look-up: the VPC's ids are made up, until the CLI has asked AWS."""
    stack = Stack(app, "LookedUp", env=Environment(account="123456789012", region="us-west-2"))
    SlurmCluster(
        stack,
        "Cluster",
        vpc=ec2.Vpc.from_lookup(stack, "Vpc", vpc_id="vpc-0123456789abcdef0"),
        shared_storage=[NewLustre(), NewOpenZfs()],
        accounting=NewDatabase(),
        instance_groups=[controller(), p5()],
    )


def main(folder: Path) -> None:
    app = App(context=feature_flags(), outdir=str(folder / "looked-up"))
    looked_up(app)
    app.synth()
    for name, internet_access in (("isolated", False), ("internet", True)):
        app = App(context=feature_flags(), outdir=str(folder / name))
        full_stack(app, internet_access=internet_access)
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
        app.synth()
    app = App(context=feature_flags(), outdir=str(folder / "open"))
    sns.Topic(Stack(app, "Open"), "Topic")
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    try:
        app.synth()
    except RuntimeError as error:
        print(f"refused: {error}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
