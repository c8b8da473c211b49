"""Each example synthesizes, as CDK's CLI would run it, and has nothing left to say that is not acknowledged."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import aws_cdk
import pytest

from cdk.apps import CLUSTER, PLAN, ROOT, feature_flags

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


Run = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs an app as `cdk synth` does, with cdk.json's context and more; gives the folder of its templates."""

    def run_app(path: Path, **context: Any) -> Path:
        with monkeypatch.context() as patch:
            app = partial(aws_cdk.App, outdir=str(tmp_path), context={**feature_flags(), **context})
            patch.setattr(aws_cdk, "App", app)
            runpy.run_path(str(path), run_name="__main__")
        return tmp_path

    return run_app


def templates(assembly: Path) -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text()) for path in sorted(assembly.rglob("*.template.json"))}


def clusters(assembly: Path) -> list[dict[str, Any]]:
    return [
        resource["Properties"]
        for template in templates(assembly).values()
        for resource in template["Resources"].values()
        if resource["Type"] == CLUSTER
    ]


@pytest.mark.parametrize("path", [*EXAMPLES, ROOT / "app.py"], ids=lambda path: path.stem)
def test_it_synthesizes(path: Path, run: Run) -> None:
    assembly = run(path)
    assert clusters(assembly)
    for file in assembly.rglob("manifest.json"):
        assert "missing" not in json.loads(file.read_text()), "no look-ups"
    notes = "".join(file.read_text() for file in assembly.rglob("*.metadata.json"))
    assert "aws:cdk:warning" not in notes


def test_every_example_is_in_the_list() -> None:
    listed = set(re.findall(r"\| \[(\w+\.py)\]", (ROOT / "examples/README.md").read_text()))
    assert listed == {path.name for path in EXAMPLES}


def test_app_takes_its_size_from_the_context(run: Run) -> None:
    """`cdk deploy -c compute_count=…`, as `make local` scales."""
    for count in ("16", "0", 0):  # -c gives texts, cdk.json numbers
        context = {"compute_count": count, "compute_type": "ml.p5en.48xlarge", "controller_type": "ml.m5.xlarge"}
        (cluster,) = clusters(run(ROOT / "app.py", **context))
        told = [(group["InstanceType"], group["InstanceCount"]) for group in cluster["InstanceGroups"]]
        assert told == [("ml.m5.xlarge", 1), ("ml.p5en.48xlarge", int(count))]


def test_plans_differ_where_clusters_do(run: Run) -> None:
    """Two clusters of one app: each has its plan, below a prefix of its own."""
    plans = [
        resource["Properties"]
        for template in templates(run(ROOT / "examples/two_clusters.py")).values()
        for resource in template["Resources"].values()
        if resource["Type"] == PLAN
    ]
    assert sorted(plan["Topology"]["Kind"] for plan in plans) == ["auto", "flat"]
    assert len({plan["LifecyclePrefix"].split("/")[1] for plan in plans}) == 2


def test_aurora_is_a_database_that_slurmdbd_can_use(run: Run) -> None:
    """The endpoint for writes, the password, and a way in from the nodes; set as slurmdbd asks."""
    assembly = run(ROOT / "examples/aurora_accounting.py")
    (cluster,) = clusters(assembly)
    (template,) = templates(assembly).values()
    of_type: dict[str, list[str]] = {}
    for name, resource in template["Resources"].items():
        of_type.setdefault(resource["Type"], []).append(name)
    (database,) = of_type["AWS::RDS::DBCluster"]
    accounting = cluster["Orchestrator"]["Slurm"]["AccountingDatabase"]
    assert accounting["Endpoint"] == {"Fn::GetAtt": [database, "Endpoint.Address"]}
    assert accounting["Port"] == 3306
    assert accounting["SecretArn"]["Ref"] in of_type["AWS::SecretsManager::SecretTargetAttachment"]
    (group,) = of_type["AWS::RDS::DBClusterParameterGroup"]
    assert template["Resources"][group]["Properties"]["Parameters"]["innodb_lock_wait_timeout"] == "900"
    rules = [template["Resources"][name]["Properties"] for name in of_type["AWS::EC2::SecurityGroupIngress"]]
    (rule,) = [rule for rule in rules if rule["IpProtocol"] == "tcp"]
    assert rule["FromPort"] == {"Fn::GetAtt": [database, "Endpoint.Port"]}
    assert rule["SourceSecurityGroupId"] == cluster["VpcConfig"]["SecurityGroupIds"][0]
