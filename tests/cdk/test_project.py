"""The app's own files: flags, packaging, what a user installs."""

from __future__ import annotations

import json
import re
import tarfile
from importlib import resources

from cdk.apps import ROOT, feature_flags


def test_cdk_json_has_the_recommended_flags() -> None:
    """Those that `cdk init` of the installed aws-cdk-lib would write, no more and no less."""
    archive = next(path for path in resources.files("aws_cdk._jsii").iterdir() if path.name.startswith("aws-cdk-lib"))
    with resources.as_file(archive) as path, tarfile.open(path) as tar:
        member = tar.extractfile("package/recommended-feature-flags.json")
        assert member is not None
        assert feature_flags() == json.load(member)


def test_cdk_json_runs_the_app() -> None:
    assert json.loads((ROOT / "cdk.json").read_text())["app"] == "python3 app.py"


def test_the_wheel_takes_the_scripts_along() -> None:
    """What lies outside the packages is named one by one: a new file there would be forgotten."""
    project = (ROOT / "pyproject.toml").read_text()
    included = set(
        re.findall(r'^"lifecycle_scripts/([^/"]+)" = "hyperpod_slurm/_lifecycle_scripts/\1"$', project, re.M)
    )
    outside = {path.name for path in (ROOT / "lifecycle_scripts").iterdir()} - {"slurm_topology", "__pycache__"}
    assert included == outside
