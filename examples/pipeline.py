"""CDK Pipelines, with the topology plan as a gate before production.

`slurm-topology plan` prints what each partition will get, and fails the pipeline when the plan has errors.
"""

from __future__ import annotations

from typing import Any

from aws_cdk import App, Environment, Stack, Stage, pipelines
from constructs import Construct

from hyperpod_slurm import ClusterInstanceType, ComputeGroup, ControllerGroup, SlurmCluster


class Training(Stage):
    """All that one account gets."""

    def __init__(self, scope: Construct, name: str, *, nodes: int, **options: Any) -> None:
        super().__init__(scope, name, **options)
        SlurmCluster(
            Stack(self, "Cluster"),
            "Cluster",
            instance_groups=[
                ControllerGroup("controller"),
                ComputeGroup("train", ClusterInstanceType.P5_48XLARGE, nodes),
            ],
        )


app = App()
stack = Stack(app, "Pipeline", env=Environment(account="111111111111", region="us-west-2"))
pipeline = pipelines.CodePipeline(
    stack,
    "Pipeline",
    cross_account_keys=True,
    synth=pipelines.ShellStep(
        "Synth",
        input=pipelines.CodePipelineSource.connection(
            "example/training", "main", connection_arn="arn:aws:codeconnections:us-west-2:111111111111:connection/1"
        ),
        commands=["npm ci", "pip install -r requirements.txt", "npx cdk synth"],
    ),
)
pipeline.add_stage(
    Training(app, "Beta", nodes=2, env=Environment(account="222222222222", region="us-west-2")),
)
production = Training(app, "Production", nodes=64, env=Environment(account="333333333333", region="us-west-2"))
pipeline.add_stage(
    production,
    pre=[
        pipelines.ShellStep(
            "TopologyPlan",
            input=pipeline.cloud_assembly_file_set,
            # Not on PyPI yet: from an index of your own. Or git+ and the repository's URL.
            install_commands=["pip install cdk-hyperpod-slurm"],
            commands=["slurm-topology plan --strict --template assembly-Production/ProductionCluster*.template.json"],
        )
    ],
)
app.synth()
