"""slurm-topology render: what is written, what is said, and with which exit code."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurm_topology.cli.main import run

CASES = Path(__file__).parents[1] / "cases"
P5_16 = CASES / "hyperpod" / "p5-16.json"
LIBRARY = Path(__file__).parents[2] / "lifecycle_scripts"

Render = Callable[..., int]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def render(output: Path) -> Render:
    """Runs ``render`` into ``output`` with the given arguments; returns the exit code."""

    def call(*arguments: object, version: str = "25.11") -> int:
        return run(["render", "--slurm-version", version, "--output-dir", str(output), *map(str, arguments)])

    return call


def document(name: str = "p5-16") -> Any:
    return json.loads((CASES / "hyperpod" / f"{name}.json").read_text())


def saved(folder: Path, content: Any, name: str = "input.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def written(output: Path) -> list[str]:
    return sorted(path.name for path in output.iterdir()) if output.exists() else []


@pytest.mark.parametrize(
    ("version", "name"), [("24.11", "topology.conf"), ("25.05", "topology.yaml"), ("26.05", "topology.yaml")]
)
def test_the_file_for_the_version_is_written_and_nothing_else(
    render: Render, output: Path, version: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert render("--resource-config", P5_16, version=version) == 0
    assert written(output) == [name]
    assert "ip-10-1-0-[104-107]" in (output / name).read_text()
    assert f"{output / name}: tree (tree, 16 nodes, 7 switches)" in capsys.readouterr().out


def test_an_older_file_is_replaced_in_one_step_and_keeps_its_mode(render: Render, output: Path) -> None:
    output.mkdir()
    target = output / "topology.yaml"
    target.write_text("old")
    target.chmod(0o640)
    before = target.stat().st_ino
    assert render("--resource-config", P5_16) == 0
    assert target.read_text().count("switch:") == 7
    assert target.stat().st_ino != before
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_flat_cluster_says_so(
    render: Render, output: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A yaml from 25.05 on, no file before."""
    flat = document("mixed-with-cpu")
    del flat["InstanceGroups"][1]
    path = saved(tmp_path, flat)
    assert render("--resource-config", path, version="24.11") == 0
    assert written(output) == []
    assert "the cluster is flat: no file; TopologyPlugin=topology/default" in capsys.readouterr().out
    assert render("--resource-config", path) == 0
    assert 'flat: "true"' in (output / "topology.yaml").read_text()
    assert "flat (flat)" in capsys.readouterr().out


def test_all_sources_together(render: Render, output: Path, tmp_path: Path) -> None:
    """Names from Slurm, UltraServers and zones from SageMaker, spares from the training plan, partitions from a
    file."""
    config = document("gb200-with-spares")
    for member in config["InstanceGroups"][1]["Instances"]:
        member["InstanceLabel"].pop("ultraserver-id")
    members = config["InstanceGroups"][1]["Instances"]
    nodes = [
        {
            "InstanceId": member["InstanceId"],
            "InstanceGroupName": "ultra",
            "UltraServerInfo": {"Id": "us-a" if number < 17 else "us-b", "Type": "ml.u-p6e-gb200x72"},
        }
        for number, member in enumerate(members)
    ]
    slurm = "".join(
        f"NodeName=gpu{n:02d} NodeAddr={m['CustomerIpAddress']} NodeHostName=x\n" for n, m in enumerate(members)
    )
    facts = [
        {"UltraServerId": name, "TotalInstanceCount": 18, "ConfiguredSpareInstanceCount": 1}
        for name in ("us-a", "us-b")
    ]
    code = render(
        *("--resource-config", saved(tmp_path, config)),
        *("--slurm-nodes", saved(tmp_path, slurm, "nodes.txt")),
        *("--cluster-nodes", saved(tmp_path, [{"ClusterNodeSummaries": nodes}], "nodes.json")),
        *("--ultraservers", saved(tmp_path, {"UltraServers": facts}, "us.json")),
        *("--partitions", saved(tmp_path, {"ultra": ["ultra"]}, "partitions.json")),
    )
    assert code == 0
    text = (output / "topology.yaml").read_text()
    assert 'block_sizes: ["17"]' in text
    assert '- block: "us-a"\n        nodes: "gpu[00-16]"' in text
    assert '- block: "us-b"\n        nodes: "gpu[17-33]"' in text


def test_slurm_nodes_as_json(render: Render, output: Path) -> None:
    code = render("--resource-config", P5_16, "--slurm-nodes", CASES / "scontrol" / "24.11" / "nodes.json")
    assert code == 0
    assert "here" in (output / "topology.yaml").read_text()


def test_json_output(render: Render, output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert render("--resource-config", CASES / "hyperpod" / "mixed-with-cpu.json", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["file"] == str(output / "topology.yaml")
    assert (report["plugin"], report["plan"]["default"]["kind"]) == ("topology/flat", "flat")
    assert report["topologies"] == [{"name": "flat", "kind": "flat", "cluster_default": True}]
    assert report["findings"][0]["id"] == "TOPO202"
    assert report["findings"][0]["severity"] == "warning"


def test_a_plan_tells_roles_and_wishes(render: Render, output: Path, tmp_path: Path) -> None:
    """The group that is called controller computes here, because the plan says so."""
    plan = {
        "Groups": [
            {"Name": "controller", "InstanceType": "ml.p5.48xlarge"},
            {"Name": "train", "InstanceType": "ml.p5.48xlarge"},
        ]
    }
    assert render("--resource-config", P5_16, "--plan", saved(tmp_path, plan)) == 0
    assert "ip-10-1-0-4" in (output / "topology.yaml").read_text()


def test_the_plans_wishes_hold_unless_the_command_line_says_otherwise(
    render: Render, output: Path, tmp_path: Path
) -> None:
    groups = [{"Name": "ultra", "InstanceType": "ml.p6e-gb200.36xlarge"}]
    plan = saved(tmp_path, {"Groups": groups, "Topology": {"Kind": "tree", "BlockSizes": [9, 18]}})
    case = CASES / "hyperpod" / "gb200-two-ultraservers.json"
    assert render("--resource-config", case, "--plan", plan) == 0
    assert "tree:" in (output / "topology.yaml").read_text()
    assert render("--resource-config", case, "--plan", plan, "--kind", "block") == 0
    assert 'block_sizes: ["9", "18"]' in (output / "topology.yaml").read_text()
    assert render("--resource-config", case, "--plan", plan, "--kind", "block", "--block-sizes", "18") == 0
    assert 'block_sizes: ["18"]' in (output / "topology.yaml").read_text()


def test_wishes_override_the_choice(render: Render, output: Path) -> None:
    case = CASES / "hyperpod" / "gb200-two-ultraservers.json"
    assert render("--resource-config", case, "--kind", "tree") == 0
    assert "tree:" in (output / "topology.yaml").read_text()
    assert render("--resource-config", case, "--block-sizes", "18,36") == 0
    assert 'block_sizes: ["18", "36"]' in (output / "topology.yaml").read_text()


# ---- bad input: one clear message, a non-zero exit, and no file


def broken(change: Callable[[Any], Any]) -> Any:
    content = document()
    return change(content) or content


BAD_CONFIGS = {
    "not json": ("{", 2, "not JSON"),
    "empty": ("", 2, "not JSON"),
    "not utf-8": (b"\xff\xfe", 2, "not UTF-8"),
    "another document": ({"a": 1}, 2, "InstanceGroups"),
    "no groups": (broken(lambda content: content.update(InstanceGroups=[])), 2, "InstanceGroups is empty"),
    "nested too deeply": ("[" * 100_000, 2, "not "),
    "type that is no text": (
        broken(lambda content: content["InstanceGroups"][1].update(InstanceType=5)),
        2,
        "InstanceType",
    ),
    "unknown type": (
        broken(lambda content: content["InstanceGroups"][1].update(InstanceType="ml.p99.48xlarge")),
        1,
        "nothing is known about instance type 'ml.p99.48xlarge'",
    ),
    "two nodes with one address": (
        broken(lambda content: content["InstanceGroups"][1]["Instances"][3].update(CustomerIpAddress="10.1.0.104")),
        1,
        "address 10.1.0.104 belongs to 2 instances (train-1, train-4)",
    ),
}


@pytest.mark.parametrize("name", BAD_CONFIGS)
@pytest.mark.parametrize("version", ["24.11", "25.11"])
def test_bad_resource_configs(
    render: Render, output: Path, tmp_path: Path, name: str, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content, code, said = BAD_CONFIGS[name]
    path = tmp_path / "input.json"
    path.write_bytes(
        content
        if isinstance(content, bytes)
        else (content if isinstance(content, str) else json.dumps(content)).encode()
    )
    assert render("--resource-config", path, version=version) == code
    printed = capsys.readouterr()
    assert said in printed.err + printed.out
    assert len([line for line in (printed.err + printed.out).splitlines() if said in line]) == 1
    assert written(output) == []


@pytest.mark.parametrize(
    ("option", "content", "said"),
    [
        ("--slurm-nodes", "Unable to contact slurm controller", "scontrol show nodes"),
        ("--slurm-nodes", '{"nodes": 5}', "nodes: expected a list"),
        ("--cluster-nodes", '{"UltraServers": []}', "ClusterNodeSummaries"),
        ("--ultraservers", '{"ClusterNodeSummaries": []}', "UltraServers"),
        ("--partitions", '["train"]', "partitions: expected an object"),
        ("--partitions", '{"train": "train"}', "partition train: expected a list"),
        ("--instance-types", "{}", "InstanceTypes"),
        ("--plan", "{}", "Groups"),
    ],
)
def test_other_bad_files_name_themselves(
    render: Render,
    output: Path,
    tmp_path: Path,
    option: str,
    content: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = saved(tmp_path, content, "bad.json")
    assert render("--resource-config", P5_16, option, path) == 2
    error = capsys.readouterr().err
    assert str(path) in error
    assert said in error
    assert written(output) == []


@pytest.mark.parametrize("path", ["missing.json", "."])
def test_a_file_that_is_none(
    render: Render, output: Path, tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert render("--resource-config", tmp_path / path) == 2
    assert str(tmp_path / path) in capsys.readouterr().err
    assert written(output) == []


def test_a_partition_of_an_unknown_group(render: Render, output: Path, tmp_path: Path) -> None:
    assert render("--resource-config", P5_16, "--partitions", saved(tmp_path, {"p": ["nobody"]})) == 1
    assert written(output) == []


def test_two_slurm_nodes_with_one_address(
    render: Render, output: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = "NodeName=a NodeAddr=10.1.0.104 NodeHostName=a\nNodeName=b NodeAddr=10.1.0.104 NodeHostName=b\n"
    assert render("--resource-config", P5_16, "--slurm-nodes", saved(tmp_path, nodes)) == 1
    assert "a and b are both at address 10.1.0.104" in capsys.readouterr().out
    assert written(output) == []


@pytest.mark.parametrize("version", ["23.02", "latest", ""])
def test_a_version_that_is_none(render: Render, output: Path, version: str) -> None:
    assert render("--resource-config", P5_16, version=version) == 2
    assert written(output) == []


@pytest.mark.parametrize("sizes", ["18,x", "18,19", "0"])
def test_block_sizes_that_are_none(render: Render, output: Path, sizes: str) -> None:
    assert render("--resource-config", CASES / "hyperpod" / "gb200-two-ultraservers.json", "--block-sizes", sizes) in (
        1,
        2,
    )
    assert written(output) == []


def test_an_error_leaves_an_older_file_alone(render: Render, output: Path, tmp_path: Path) -> None:
    output.mkdir()
    (output / "topology.yaml").write_text("old")
    assert render("--resource-config", tmp_path / "missing.json") == 2
    assert render("--resource-config", P5_16, "--block-sizes", "0", "--kind", "block") == 1
    assert (output / "topology.yaml").read_text() == "old"


def test_a_folder_that_cannot_be_made(render: Render, output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output.write_text("a file")
    assert render("--resource-config", P5_16) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert output.read_text() == "a file"


def test_one_source_is_needed_and_only_one(render: Render) -> None:
    for arguments in ((), ("--resource-config", P5_16, "--instance-topology", P5_16)):
        with pytest.raises(SystemExit) as left:
            render(*arguments)
        assert left.value.code == 2


def test_ec2_facts_make_an_unknown_type_known(render: Render, output: Path, tmp_path: Path) -> None:
    config = document()
    config["InstanceGroups"][1]["InstanceType"] = "ml.p99.48xlarge"
    network = {"EfaSupported": True, "EfaInfo": {"MaximumEfaInterfaces": 16}}
    answer = {
        "InstanceTypes": [{"InstanceType": "p99.48xlarge", "NetworkInfo": network, "GpuInfo": {"Gpus": [{"Count": 8}]}}]
    }
    types = saved(tmp_path, answer, "types.json")
    assert render("--resource-config", saved(tmp_path, config), "--instance-types", types) == 0
    assert (output / "topology.yaml").read_text().count("- switch:") == 7


def test_it_runs_with_nothing_but_python(output: Path) -> None:
    """No site-packages, so no PyYAML and no boto3."""
    code = f"import sys; sys.path.insert(0, {str(LIBRARY)!r}); from slurm_topology.__main__ import main; main()"
    arguments = ["render", "--resource-config", str(P5_16), "--slurm-version", "25.11", "--output-dir", str(output)]
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert written(output) == ["topology.yaml"]
