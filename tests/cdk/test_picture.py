"""The plan's picture in the cloud assembly."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import App, CfnParameter, Stack, Stage

from cdk.apps import controller, p5
from hyperpod_slurm import ComputeGroup, SlurmCluster


def pages(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.rglob("*.topology.html")}


def test_every_cluster_leaves_its_picture_beside_the_templates(tmp_path: Path) -> None:
    """Also in a Stage's assembly of its own, and the same bytes when it is synthesized again."""

    def synthesized(folder: Path) -> dict[str, str]:
        app = App(outdir=str(folder))
        stack = Stack(app, "Training")
        SlurmCluster(stack, "Cluster", instance_groups=[controller(), p5()])
        SlurmCluster(Stack(Stage(app, "Prod"), "Second"), "Cluster", instance_groups=[controller(), p5()])
        app.synth()
        return pages(folder)

    first = synthesized(tmp_path / "first")
    templates = [path.name.removesuffix(".template.json") for path in tmp_path.glob("first/**/*.template.json")]
    assert sorted(first) == sorted(f"{template}.Cluster.topology.html" for template in templates)
    assert len(first) == 2
    page = first["Training.Cluster.topology.html"]
    assert "Training/Cluster: what each partition will get" in page
    assert "ml.p5.48xlarge" in page
    assert synthesized(tmp_path / "second") == first


def test_no_picture_where_the_plan_has_to_wait_for_the_deployment(tmp_path: Path) -> None:
    """An instance type that is a parameter is known to nobody at synth."""
    app = App(outdir=str(tmp_path))
    stack = Stack(app, "Training")
    chosen = CfnParameter(stack, "Type").value_as_string
    SlurmCluster(stack, "Cluster", instance_groups=[controller(), ComputeGroup("train", chosen, 8)])
    app.synth()
    assert pages(tmp_path) == {}
