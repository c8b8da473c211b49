"""slurm-topology plan: what everybody will get, before any node exists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slurm_topology.cli.main import run
from slurm_topology.core import plan_document
from slurm_topology.core.choose import make_plan

CASES = Path(__file__).parents[1] / "cases" / "hyperpod"
GROUPS = [
    {"Name": "controller", "InstanceType": "ml.m5.xlarge", "Role": "Controller"},
    {"Name": "train", "InstanceType": "ml.p5.48xlarge", "Partitions": ["train"]},
    {"Name": "ultra", "InstanceType": "ml.p6e-gb200.36xlarge", "Partitions": ["ultra"]},
]


def saved(folder: Path, content: Any) -> str:
    path = folder / "plan.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_from_a_resource_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--resource-config", str(CASES / "p5-16.json"), "--slurm-version", "25.11"]) == 0
    assert capsys.readouterr().out == "cluster default: tree: every node of train (ml.p5.48xlarge) has a network path\n"


@pytest.mark.parametrize("document", [GROUPS, {"Groups": GROUPS}])
def test_from_groups(document: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--plan", saved(tmp_path, document), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert {name: choice["kind"] for name, choice in plan["partitions"].items()} == {"train": "tree", "ultra": "block"}
    assert plan["default"]["kind"] == "tree"
    assert plan["partitions"]["ultra"]["block_sizes"] == [18]
    assert [finding["id"] for finding in plan["findings"]] == ["TOPO201", "TOPO206"]


def test_from_a_plan_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = plan_document.read_inputs(GROUPS)
    text = plan_document.dump(make_plan(*inputs[:2], None), *inputs[:2])
    assert run(["plan", "--plan", saved(tmp_path, text), "--slurm-version", "24.11"]) == 0
    assert capsys.readouterr().out.startswith("cluster default: tree: ultra (ml.p6e-gb200.36xlarge) forms UltraServers")


def test_why_a_cpu_group_makes_it_flat(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--resource-config", str(CASES / "mixed-with-cpu.json")]) == 0
    out = capsys.readouterr().out
    assert "TOPO202 warning: cluster default: flat, because of cpu (ml.c5.9xlarge)" in out
    assert "an older one gets tree" in out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--plan", "/nonexistent"], 2),
        (["--plan", "BAD"], 2),
        (["--plan", "UNKNOWN"], 1),
        (["--plan", "GOOD", "--block-sizes", "5,7"], 1),
        (["--plan", "GOOD", "--slurm-version", "x"], 2),
    ],
)
def test_exit_codes(arguments: list[str], code: int, tmp_path: Path) -> None:
    documents = {"BAD": "[", "UNKNOWN": [{"Name": "a", "InstanceType": "ml.p99.large"}], "GOOD": GROUPS}
    words = [saved(tmp_path, documents[word]) if word in documents else word for word in arguments]
    assert run(["plan", *words]) == code
