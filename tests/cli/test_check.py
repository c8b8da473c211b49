"""slurm-topology check, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurm_topology.cli.main import run

GOOD = "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\nSwitchName=r Switches=a,b\n"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "topology.conf"
    path.write_text(GOOD)
    return path


def test_a_clean_file(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(conf), "--slurm-version", "24.11", "--nodes", "n[1-8]"]) == 0
    assert capsys.readouterr().out == f"{conf}: no findings (Slurm 24.11.0, 8 nodes compared)\n"


def test_errors_exit_with_1_and_tell_what_to_do(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf.write_text(GOOD.replace("=a,b", "=a,b,c"))
    assert run(["check", str(conf), "--slurm-version", "24.11"]) == 1
    out = capsys.readouterr().out
    assert "TOPO040 error: switch r (line 3): has the child 'c', which is not defined\n    → define the switch" in out
    assert out.endswith(f"{conf}: 1 error (Slurm 24.11.0)\n")


def test_warnings_alone_exit_with_0(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf.write_text("".join(GOOD.splitlines(keepends=True)[:2]))
    assert run(["check", str(conf), "--slurm-version", "26.05", "--nodes", "n[1-7]"]) == 0
    assert "2 warnings (Slurm 26.05.0, 7 nodes compared)" in capsys.readouterr().out


def test_json(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(conf), "--slurm-version", "25.11.4", "--nodes", "n[1-9]", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["file"] == str(conf)
    assert document["slurm_version"] == "25.11.4"
    (finding,) = document["findings"]
    assert {key: finding[key] for key in ("id", "severity", "subject")} == {
        "id": "TOPO061",
        "severity": "error",
        "subject": "topology.conf",
    }
    assert "n9" in finding["message"]
    assert finding["remedy"]


SCONTROL_TEXT = """\
NodeName=n1 Arch=x86_64 CPUTot=4
   NodeAddr=10.0.0.1 NodeHostName=n1

NodeName=n9 Arch=x86_64
   NodeAddr=10.0.0.9
"""
SCONTROL_JSON = json.dumps({"nodes": [{"name": "n1", "address": "10.0.0.1"}, {"name": "n9", "address": "10.0.0.9"}]})


@pytest.mark.parametrize("given", ["/no/such/nodes", "./nodes", "../nodes", "nodes.txt", "nodes.json"])
@pytest.mark.parametrize("command", [("check", "FILE", "--slurm-version", "24.11"), ("diff", "FILE", "FILE")], ids=str)
def test_a_file_of_nodes_that_isnt_there_is_no_host_list(
    command: tuple[str, ...],
    given: str,
    conf: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (conf.parent / "empty").mkdir()
    monkeypatch.chdir(conf.parent / "empty")
    assert run([*(str(conf) if word == "FILE" else word for word in command), "--nodes", given]) == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["n1,n9\n", "n1\nn9\n", "n[1,9]", SCONTROL_TEXT, SCONTROL_JSON])
def test_nodes_from_a_file(conf: Path, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Host lists, one name a line, or what scontrol prints."""
    nodes = tmp_path / "nodes"
    nodes.write_text(content)
    assert run(["check", str(conf), "--slurm-version", "25.11", "--nodes", str(nodes)]) == 1
    out = capsys.readouterr().out
    assert "1 node (n9)" in out
    assert "2 nodes compared" in out


def test_partitions_topologies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text('- topology: "a"\n  cluster_default: "true"\n  flat: "true"\n')
    options = ["check", str(path), "--slurm-version", "25.11", "--partition-topologies"]
    assert run([*options, "a"]) == 0
    assert run([*options, "a,gpu"]) == 1
    assert "TOPO030 error: topology gpu: is used by a partition" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--slurm-version", "x"], "no Slurm version in 'x'"),
        (["--slurm-version", "22.05"], "not supported"),
        (["--slurm-version", "25.11", "--nodes", "n[2-1]"], "goes down"),
        (["--slurm-version", "25.11", "--nodes", ","], "has no nodes"),
    ],
)
def test_unusable_arguments_exit_with_2(
    conf: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(conf), *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_no_such_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(tmp_path / "none"), "--slurm-version", "25.11"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_bytes_that_are_no_utf_8_are_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "topology.yaml"
    path.write_bytes(b"- topology: \xff\n  flat: true\n")
    assert run(["check", str(path), "--slurm-version", "25.11"]) == 1
    assert "TOPO001" in capsys.readouterr().out


def test_line_ends_are_not_changed_on_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A carriage return alone ends no line for slurmctld."""
    path = tmp_path / "topology.conf"
    path.write_bytes(b"SwitchName=a Nodes=n1\rSwitchName=b Nodes=n2\n")
    assert run(["check", str(path), "--slurm-version", "24.11"]) == 1
    assert "TOPO003" in capsys.readouterr().out
