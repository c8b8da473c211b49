"""The first apps that people see, in README.md and docs/getting-started.md: they synthesize, and say what is shown."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.test_docs import ROOT, Step, matches, steps
from slurm_topology.cli.main import run

FIRST_APP = re.compile(r"^```python\n(.*?app\.synth\(\)\n)```$", re.MULTILINE | re.DOTALL)
AS_CDK_SYNTH = {
    "CDK_OUTDIR": "cdk.out",
    "CDK_CONTEXT_JSON": json.dumps({"aws:cdk:enable-path-metadata": True}),  # names of clusters
    "CDK_VALIDATION": "false",
}
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown(page: str) -> list[Step]:
    """All commands of a page, with what it shows below them."""
    return [step for block in CONSOLE.findall(page) for step in steps(block)]


@pytest.mark.parametrize("name", ["README.md", "docs/getting-started.md"])
def test_the_first_app(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run as `cdk synth` runs it. What the page shows is what is printed, "…" where something is left out."""
    page = (ROOT / name).read_text()
    (tmp_path / "app.py").write_text(FIRST_APP.findall(page)[0])
    paths = os.pathsep.join(str(ROOT / folder) for folder in ("constructs", "lifecycle_scripts"))
    environ = {**os.environ, **AS_CDK_SYNTH, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "app.py"], cwd=tmp_path, env=environ, check=True, capture_output=True, timeout=120)
    monkeypatch.chdir(tmp_path)
    for step in shown(page):
        if step.command.startswith("cdk synth") and step.shown:
            assert matches(step.shown, notes(tmp_path / "cdk.out" / "Training.metadata.json"))
        if step.command.startswith("slurm-topology plan"):
            assert run(step.command.split()[1:]) == 0
            assert matches(step.shown, capsys.readouterr().out)


def notes(path: Path) -> str:
    """As the CDK's command line prints them, without the templates."""
    entries = [entry for entries in json.loads(path.read_text()).values() for entry in entries]
    texts = [entry["data"].rpartition(" [ack")[0] for entry in entries if entry["type"] == "aws:cdk:info"]
    return "\n".join(["", *(f"INFO {text} (Construct Annotations)\n" for text in sorted(texts))])


def test_what_is_needed_is_said_before_the_first_app() -> None:
    """Python, Node and the CDK's command line; and no package that isn't on an index."""
    for name in ("README.md", "docs/getting-started.md"):
        before = FIRST_APP.split((ROOT / name).read_text())[0]
        for needed in ("Python ≥ 3.10", "Node.js", "npm install -g aws-cdk", "pip install ./", "not on PyPI"):
            assert needed in before, (name, needed)
