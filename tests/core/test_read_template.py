"""Plans from a synthesized template, as a pipeline's gate makes them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from slurm_topology.cli._sources import add_source_options
from slurm_topology.cli.main import run
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Capability, NodeRole, TopologyKind
from slurm_topology.core.read_template import read_template

CONTROLLER = {"Name": "controller", "InstanceType": "ml.m5.xlarge", "Role": "Controller", "Partitions": [], "Count": 1}
TRAIN = {"Name": "train", "InstanceType": "ml.p5.48xlarge", "Role": "Compute", "Partitions": ["train"], "Count": 8}


def template(*groups: dict[str, Any], **properties: Any) -> dict[str, Any]:
    plan = {"Groups": list(groups), "Topology": {"Kind": "auto", "BlockSizes": []}, "Mode": "own", **properties}
    return {
        "Resources": {
            "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {}},
            "Plan": {"Type": "Custom::HyperPodSlurmTopologyPlan", "Properties": plan},
        }
    }


def test_groups_and_wishes() -> None:
    topology = {"Kind": "block", "BlockSizes": [17, 34]}
    (cluster,) = read_template(template(CONTROLLER, TRAIN, Topology=topology, SlurmVersion="25.11"))
    assert [(group.name, group.role, group.capability, group.count) for group in cluster.groups] == [
        ("controller", NodeRole.CONTROLLER, Capability.NONE, 1),
        ("train", NodeRole.COMPUTE, Capability.TREE, 8),
    ]
    assert (cluster.wanted, cluster.block_sizes, str(cluster.version)) == (TopologyKind.BLOCK, (17, 34), "25.11.0")
    assert [(partition.name, partition.groups) for partition in cluster.partitions] == [("train", ("train",))]
    assert cluster.findings == ()


def test_a_count_may_be_known_at_deploy_time_only() -> None:
    (cluster,) = read_template(template({**TRAIN, "Count": {"Ref": "Count"}}))
    assert cluster.groups[0].count is None
    assert cluster.findings == ()


@pytest.mark.parametrize(
    ("change", "hidden"),
    [
        ({"InstanceType": {"Ref": "Type"}}, "InstanceType"),
        ({"Partitions": [{"Ref": "Partition"}]}, "Partitions"),
        ({"Name": {"Ref": "Name"}}, "Name"),
    ],
)
def test_what_hides_the_plan_is_said(change: dict[str, Any], hidden: str) -> None:
    (cluster,) = read_template(template({**TRAIN, **change}))
    (finding,) = cluster.findings
    assert finding.id == "TOPO207"
    assert hidden in finding.message


@pytest.mark.parametrize("role", ["Controller", "Login"])
@pytest.mark.parametrize("key", ["InstanceType", "Name"])
def test_groups_without_jobs_hide_nothing(role: str, key: str) -> None:
    """They take no part in a plan, so neither does what is not known of them."""
    (cluster,) = read_template(template({**CONTROLLER, "Role": role, key: {"Ref": "Parameter"}}, TRAIN))
    assert cluster.findings == ()


@pytest.mark.parametrize(
    "document", [[], {}, {"Resources": {}}, {"Resources": {"A": {"Type": "AWS::S3::Bucket"}}}], ids=str
)
def test_no_template_or_no_cluster_in_it(document: object) -> None:
    with pytest.raises(InputError):
        read_template(document)


def gate(tmp_path: Path, document: object, *options: str) -> int:
    path = tmp_path / "Stack.template.json"
    path.write_text(json.dumps(document))
    return run(["plan", "--template", str(path), *options])


def test_the_gate_opens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(tmp_path, template(CONTROLLER, TRAIN)) == 0
    assert "Plan:\n  cluster default: tree" in capsys.readouterr().out


def test_the_gate_stays_shut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Block sizes that Slurm would not take: exit code 1, and the finding."""
    gb200 = {**TRAIN, "InstanceType": "ml.p6e-gb200.36xlarge"}
    topology = {"Kind": "block", "BlockSizes": [18, 40]}
    assert gate(tmp_path, template(gb200, Topology=topology)) == 1
    assert "TOPO203" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict",), 1)], ids=["lenient", "strict"])
def test_the_gate_can_refuse_warnings(
    options: tuple[str, ...], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A CPU group made the default flat: a warning, which lets a lenient gate open."""
    cpu = {**TRAIN, "Name": "cpu", "InstanceType": "ml.c5.xlarge"}
    assert gate(tmp_path, template(CONTROLLER, TRAIN, cpu), *options) == code
    assert "TOPO202 warning" in capsys.readouterr().out
    assert gate(tmp_path, template(CONTROLLER, TRAIN), *options) == 0


def test_json_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(tmp_path, template(CONTROLLER, TRAIN), "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["Plan"]["partitions"]["train"]["kind"] == "tree"


def test_a_hidden_plan_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(tmp_path, template({**TRAIN, "InstanceType": {"Ref": "Type"}})) == 0
    assert "TOPO207" in capsys.readouterr().out


GB200 = {**TRAIN, "InstanceType": "ml.p6e-gb200.36xlarge"}


@pytest.mark.parametrize(
    ("options", "without", "with_it"),
    [
        (("--slurm-version", "24.11"), ("partition train:", "TOPO201"), ()),
        (("--kind", "tree"), ("cluster default: block",), ("cluster default: tree: tree was asked for",)),
        (("--block-sizes", "4,8"), ("block size 18",), ("block size 4, 8",)),
    ],
    ids=str,
)
def test_version_and_wishes_of_the_command_line_win(
    options: tuple[str, ...],
    without: tuple[str, ...],
    with_it: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The template knows no version and chooses nothing."""
    printed = []
    for words in ((), options):
        assert gate(tmp_path, template(GB200), *words) == 0
        printed.append(capsys.readouterr().out)
    for text in without:
        assert text in printed[0]
        assert text not in printed[1]
    for text in with_it:
        assert text not in printed[0]
        assert text in printed[1]


def test_every_other_source_is_refused_beside_a_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_source_options(parser)
    sources = [action.option_strings[-1] for action in parser._actions if action.dest != "help"]
    assert "--partitions" in sources
    for option in sources:
        assert gate(tmp_path, template(TRAIN), option, str(tmp_path / "any.json")) == 2
        assert f"{option}: doesn't go with --template" in capsys.readouterr().err


def test_every_cluster_is_in_the_picture_under_its_own_name(tmp_path: Path) -> None:
    """Also the one whose plan is hidden: with its name, and with why."""
    document = template(TRAIN)
    plan = document["Resources"]["Plan"]
    hidden = {
        **plan,
        "Properties": template({**TRAIN, "InstanceType": {"Ref": "T"}})["Resources"]["Plan"]["Properties"],
    }
    document["Resources"] |= {
        "BPlan9": {**hidden, "Metadata": {"aws:cdk:path": "Training/Second/TopologyPlan/Default"}},
        "CPlan9": {**plan, "Metadata": {"aws:cdk:path": "Training/Third/TopologyPlan/Default"}},
    }
    target = tmp_path / "plans.html"
    assert gate(tmp_path, document, "--picture", str(target)) == 0
    page = target.read_text()
    for name in ("Plan", "Training/Second", "Training/Third"):
        assert f">Topology plan of {name}</text>" in page
    assert page.count("TOPO207") == page.count("no plan yet") == 1


def test_a_picture_of_a_hidden_plan_alone_says_so(tmp_path: Path) -> None:
    target = tmp_path / "plan.svg"
    assert gate(tmp_path, template({**TRAIN, "InstanceType": {"Ref": "T"}}), "--picture", str(target)) == 0
    assert "no plan yet" in target.read_text()


def test_no_template_is_unusable_input(tmp_path: Path) -> None:
    assert gate(tmp_path, {}) == 2
