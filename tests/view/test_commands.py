"""show, explain and simulate from files, as somebody types them anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slurm_topology.cli.main import run
from view import samples

CASES = Path(__file__).parents[1] / "cases"
P5 = str(CASES / "hyperpod" / "p5-16.json")
GB200 = str(CASES / "hyperpod" / "gb200-two-ultraservers.json")
RECORDED = Path(__file__).parents[1] / "explain" / "recorded"
FROM_SLURM = tuple(
    word for what in ("nodes", "jobs") for word in (f"--slurm-{what}", str(RECORDED / f"{what}-24.11.txt"))
)
Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Say:
    """Runs a command; exit code, standard output, standard error."""

    def command(*words: str) -> tuple[int, str, str]:
        code = run([*words, *([] if "--settings" in words else ["--settings", str(tmp_path / "none.json")])])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def test_show_draws_what_would_be_rendered(say: Say) -> None:
    code, out, _ = say("show", "--resource-config", P5)
    assert code == 0
    assert "tree (tree, 4 leaf switches)" in out
    assert "ip-10-1-0-[104-107]" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("form", ["json", "svg", "html", "dot", "mermaid"])
def test_show_writes_each_format_into_a_file(say: Say, tmp_path: Path, form: str) -> None:
    target = tmp_path / f"picture.{form}"
    assert say("show", "--resource-config", GB200, "--format", form, "--output", str(target)) == (0, "", "")
    text = target.read_text()
    assert "us-000000abc000" in text
    if form == "json":
        assert json.loads(text)["topologies"][0]["kind"] == "block"
    if form == "svg":
        assert ElementTree.fromstring(text).tag.endswith("svg")  # noqa: S314 (our own text)


def test_show_of_a_topology_file_with_states_and_jobs(say: Say, tmp_path: Path) -> None:
    """HyperPod's or anybody's topology.conf, beside what Slurm printed about nodes and jobs."""
    topology = tmp_path / "topology.conf"
    leaves = "SwitchName=leaf1 Nodes=ip-10-1-0-[101-108]\nSwitchName=leaf2 Nodes=ip-10-1-0-[109-115]\n"
    topology.write_text(f"{leaves}SwitchName=top Switches=leaf[1-2]\n")
    files = ("--slurm-nodes", str(RECORDED / "nodes-24.11.txt"), "--slurm-jobs", str(RECORDED / "jobs-24.11.txt"))
    code, out, _ = say("show", "--topology", str(topology), *files, "--slurm-version", "24.11")
    assert code == 0
    assert "✖ 1" in out
    assert "Job Name=x JobState=FAIL" in out
    assert "not in this topology  1 node" in out


@pytest.mark.parametrize(
    ("sources", "warned"),
    [((), False), (("--resource-config", P5), True), (("--cluster-nodes", "NODES"), True)],
    ids=["none", "resource_config", "cluster nodes"],
)
def test_instances_are_missed_only_where_somebody_was_to_tell_them(
    say: Say, tmp_path: Path, sources: tuple[str, ...], warned: bool
) -> None:
    """TOPO108, Slurm's nodes for which no instance is known."""
    topology, nodes, listed = tmp_path / "topology.conf", tmp_path / "nodes.txt", tmp_path / "list.json"
    topology.write_text("SwitchName=leaf Nodes=n[1-2]\n")
    nodes.write_text("NodeName=n1 NodeAddr=10.9.9.1 State=IDLE\n\nNodeName=n2 NodeAddr=10.9.9.2 State=IDLE\n")
    listed.write_text(json.dumps({"ClusterNodeSummaries": []}))
    words = [str(listed) if word == "NODES" else word for word in sources]
    code, out, _ = say("show", "--topology", str(topology), "--slurm-nodes", str(nodes), *words)
    assert code == 0
    assert ("TOPO108" in out) is warned


def test_explain_from_files(say: Say, tmp_path: Path) -> None:
    topology = tmp_path / "topology.conf"
    names = [f"ip-10-1-0-[{start}-{start + 3}]" for start in (101, 105, 109, 113)]
    topology.write_text(
        "".join(f"BlockName=b{index} Nodes={nodes}\n" for index, nodes in enumerate(names)) + "BlockSizes=4,8,16\n"
    )
    files = (
        "--topology",
        str(topology),
        "--slurm-nodes",
        str(RECORDED / "nodes-24.11.txt"),
        "--slurm-jobs",
        str(RECORDED / "jobs-24.11.txt"),
    )
    code, out, _ = say("explain", "2", *files)
    assert code == 0
    assert "2 blocks (b0, b1)" in out
    code, out, _ = say("explain", "--all", "--json", *files)
    answers = json.loads(out)
    assert [answer["answer"] for answer in answers].count("pending") == 4
    assert {answer["answer"] for answer in answers} == {"fragmentation", "placed", "pending"}
    code, out, _ = say("explain", "--all", *files)
    assert "most free in one block" in out
    code, out, _ = say("explain", "--nodes", "ip-10-1-0-[103-104]", *files)
    assert "1 block (b0)" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("explain", "99", "--resource-config", P5), "job 99: Slurm doesn't know it"),
        (("explain", "--nodes", "elsewhere", "--resource-config", P5), "got elsewhere"),
        (("explain", "--nodes", "n[1", "--resource-config", P5), "n[1"),
        (("explain", "--nodes", "", "--resource-config", P5), "got none"),
        (("explain", "--nodes", "ip-10-1-0-104", "--partition", "nope", *FROM_SLURM), "which has: all"),
        (("explain", "--nodes", "ip-10-1-0-104", "--partition", "nope", "--resource-config", P5), "--slurm-partitions"),
        (("explain", "1", "--partition", "all", *FROM_SLURM), "--partition all: goes with --nodes"),
        (("show", "--topology", "/nowhere/topology.conf"), "/nowhere/topology.conf: no such file"),
        (("show", "--resource-config", P5, "--slurm-version", "1.2"), "no Slurm version in '1.2'"),
        (("show", "--resource-config", P5, "--output", f"{P5}/picture.txt"), "cannot be written"),
        (("simulate", "--group", "p5:4"), "expected [NAME=]TYPE:COUNT"),
        (("simulate", "--group", "ml.m9.none:4"), "not in the catalogue"),
        (("simulate", "--group", "ml.p5.48xlarge:0"), "no compute nodes"),
        (("simulate", "--group", "ml.p5.48xlarge:4", "--block-sizes", "a"), "expected whole numbers"),
        (("simulate", "--group", "ml.p5.48xlarge:4", "--block-sizes", "4"), "there is no block to size"),
        (("simulate", "--group", "ml.p6e-gb200.36xlarge:36", "--block-sizes", "5,9"), "expected up to 16 ascending"),
        (("simulate", "--group", "a=ml.p5.48xlarge:4", "--group", "a=ml.p5.48xlarge:4"), "--group a=…: given more"),
        (("simulate", "--group", "group2=ml.p5.48xlarge:4", "--group", "ml.p5.48xlarge:4"), "group2=…: given more"),
        (("simulate", "--group", "ml.p5.48xlarge:4", "--jobs", "0"), "--jobs 0: expected 1 or more"),
        (("simulate", "--group", "ml.p5.48xlarge:4", "--jobs", "-4"), "--jobs -4: expected 1 or more"),
        (("simulate", "--group", "ml.p5.48xlarge:4", "--trace", P5), "trace line 1"),
        (("simulate", "--group", "ml.p5.48xlarge:4", "--leaf-nodes", "0"), "expected 1 or more"),
    ],
)  # fmt: skip
def test_bad_input_gives_one_message_and_exit_code_2(say: Say, words: tuple[str, ...], says: str) -> None:
    code, out, err = say(*words)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_without_slurm_and_without_files_it_says_what_to_do(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slurm_topology.agent.shell.SEARCH_PATH", "/nowhere")
    code, _, err = say("show")
    assert code == 3
    assert "name files instead" in err


def test_simulate_says_who_chose_the_nodes(say: Say) -> None:
    words = ("simulate", "--group", "ultra=ml.p6e-gb200.36xlarge:34", "--jobs", "20", "--scheduler", "model")
    code, out, _ = say(*words)
    assert code == 0
    assert "nodes chosen by a model of Slurm's plugins (no real scheduler was asked)" in out
    code, out, _ = say(*words, "--json")
    document = json.loads(out)
    assert document["scheduler"] == "model"
    assert [outcome["label"] for outcome in document["outcomes"]] == ["no topology", "tree", "block 17"]
    assert all(outcome["jobs"] + outcome["never"] == 20 for outcome in document["outcomes"])


def test_simulate_a_real_cluster_with_a_trace(say: Say, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("0 4 600\n10 8 600 # a comment\n")
    code, out, _ = say("simulate", "--resource-config", P5, "--trace", str(trace), "--scheduler", "model")
    assert code == 0
    assert out.startswith("2 jobs on 16 nodes under 4 leaf switches")


def test_colour_only_where_a_terminal_wants_it(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" in say("show", "--resource-config", P5)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in say("show", "--resource-config", P5)[1]


def test_all_shows_every_line(say: Say, tmp_path: Path) -> None:
    topology = tmp_path / "topology.conf"
    leaves = 200
    topology.write_text(
        "".join(f"SwitchName=leaf{index} Nodes={samples.name(index)}\n" for index in range(leaves))
        + f"SwitchName=top Switches=leaf[0-{leaves - 1}]\n"
    )
    folded, everything = (say("show", "--topology", str(topology), *extra)[1] for extra in ((), ("--all",)))
    assert folded.count("\n") < 80
    assert everything.count("─ leaf") == leaves


@pytest.mark.parametrize("suffix", ["html", "svg"])
def test_plan_draws_a_picture_beside_its_words(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    target = tmp_path / "deep" / f"plan.{suffix}"
    assert run(["plan", "--resource-config", GB200, "--picture", str(target)]) == 0
    assert "cluster default: block" in capsys.readouterr().out
    assert "cluster default" in target.read_text()


def test_plan_refuses_a_picture_of_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--resource-config", GB200, "--picture", str(tmp_path / "plan.png")]) == 2
    assert "expected a name in .html, or in .svg" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
