"""Other people's rules: cdk-nag, cfn-lint, and aws-cdk-lib's own validation of templates."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from aws_cdk import App
from cfnlint import ManualArgs, lint

from cdk.apps import ROOT, feature_flags
from cdk.validated_apps import full_stack

# Five where HyperPod is (SageMaker developer guide, "AWS Regions supported by SageMaker HyperPod").
REGIONS = ["us-east-1", "us-west-2", "eu-central-1", "ap-northeast-1", "sa-east-1"]
GOVCLOUD = ["us-gov-west-1"]
NOT_THERE_YET = ["E3006 Resource type 'AWS::SageMaker::Cluster' does not exist in 'us-gov-west-1'"]


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """(folder of assemblies, output) of `cdk.validated_apps`: with the recommended flags, findings are errors."""
    folder = tmp_path_factory.mktemp("validated")
    environ = {name: value for name, value in os.environ.items() if name != "CDK_VALIDATION"}
    environ["PYTHONPATH"] = os.pathsep.join(str(ROOT / name) for name in ("tests", "constructs", "lifecycle_scripts"))
    argv = [sys.executable, "-m", "cdk.validated_apps", str(folder)]
    result = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


@pytest.mark.parametrize("app", ["isolated", "internet"])
def test_cdk_nag_and_cdk_have_nothing_to_say(app: str, validated: tuple[Path, str]) -> None:
    """AwsSolutions and CDK's rules, on everything at once; what can't be avoided is acknowledged where it arises."""
    report = json.loads((validated[0] / app / "validation-report.json").read_text())
    assert [plugin["conclusion"] for plugin in report["pluginReports"]]
    assert {plugin["conclusion"] for plugin in report["pluginReports"]} == {"success"}


def test_a_look_up_gets_to_ask(validated: tuple[Path, str]) -> None:
    """CDK's own rules refuse the ids that it makes up in its first pass; errors there would end it before it asks."""
    (asked,) = json.loads((validated[0] / "looked-up" / "manifest.json").read_text())["missing"]
    assert asked["provider"] == "vpc-provider"


def test_cdk_nag_does_look(validated: tuple[Path, str]) -> None:
    """Guards the test above: something that the library would never make is found."""
    assert "refused: ValidationFailed" in validated[1]


@pytest.mark.parametrize("internet_access", [False, True], ids=["isolated", "internet"])
@pytest.mark.parametrize(
    ("regions", "expected"), [(REGIONS, []), (GOVCLOUD, NOT_THERE_YET)], ids=["regions", "govcloud"]
)
def test_cfn_lint_is_content(regions: list[str], expected: list[str], internet_access: bool, tmp_path: Path) -> None:
    """Everything that the library can make; UltraServers are left out, which are in one of the regions only."""
    app = App(context=feature_flags(), outdir=str(tmp_path))
    full_stack(app, internet_access=internet_access, ultraservers=False)
    app.synth()
    text = (tmp_path / "Full.template.json").read_text()
    # W3005: a DependsOn that a reference implies already; CDK writes whole constructs there, on purpose.
    matches = lint(text, config=ManualArgs(regions=regions, ignore_checks=["W3005"]))
    assert [f"{match.rule.id} {match.message}" for match in matches] == expected
