"""slurm-topology diff, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurm_topology.cli.main import run

OLD = "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\nSwitchName=r Switches=a,b\n"
NEW = "SwitchName=a Nodes=n[1-3]\nSwitchName=c Nodes=n[4-7]\nSwitchName=r Switches=a,c\n"
SAME = """\
- topology: any
  tree:
    switches:
      - {switch: top, children: "x,y"}
      - {switch: x, nodes: "n[5-8]"}
      - {switch: y, nodes: "n[1-4]"}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    """(old, new, the old one as YAML with other names)"""
    paths = [tmp_path / name for name in ("old.conf", "new.conf", "same.yaml")]
    for path, text in zip(paths, (OLD, NEW, SAME), strict=True):
        path.write_text(text)
    return str(paths[0]), str(paths[1]), str(paths[2])


def test_differences_exit_with_1(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", files[0], files[1]]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "lost 1 node (n8)",
        "moved n4: a → c",
        "renamed b → c",
        "largest job 8 nodes → 7 nodes",
        "another meaning",
    ]


def test_the_same_meaning_in_another_format_exits_with_0(
    files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", files[0], files[2]]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-2:] == ["largest job: 8 nodes, as before", "same meaning"]
    assert "renamed a → y" in out


def test_json(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", files[0], files[1], "--json", "--partition", "gpu=n[1-4]"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert not document["same_meaning"]
    assert document["topologies"] == [
        {
            "name": "",
            "kind": {"before": "tree", "after": "tree"},
            "added": [],
            "lost": ["n8"],
            "moved": [{"node": "n4", "before": "a", "after": "c"}],
            "moved_switches": [],
            "renamed": [{"before": "b", "after": "c"}],
            "block_sizes": {"before": [], "after": []},
            "blocks_reordered": False,
        }
    ]
    assert document["largest_jobs"] == [
        {"partition": "", "before": 8, "after": 7},
        {"partition": "gpu", "before": 4, "after": 4},
    ]


def test_partitions_and_known_nodes(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The old file of two topologies against the new one of one: each partition in its own."""
    yaml = files[2]
    Path(yaml).write_text(SAME + "- topology: cpu\n  flat: true\n")
    other = Path(yaml).with_name("other.yaml")
    other.write_text(SAME.replace("n[1-4]", "n[1-2]") + "- topology: cpu\n  flat: true\n")
    options = ["--nodes", "n[1-6],c[1-3]", "--partition", "gpu=n[1-4]", "--partition", "cpu:cpu=c[1-3]"]
    assert run(["diff", yaml, str(other), *options]) == 1
    out = capsys.readouterr().out
    assert "largest job 6 nodes → 4 nodes\n" in out
    assert "largest job in partition gpu 4 nodes → 2 nodes\n" in out
    assert "largest job in partition cpu: 3 nodes, as before\n" in out


@pytest.mark.parametrize("given", ["gpu", "=n1", "gpu=", "gpu=n[2-1]"])
def test_unusable_partitions_exit_with_2(
    files: tuple[str, str, str], given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", files[0], files[1], "--partition", given]) == 2
    assert capsys.readouterr().err.startswith("slurm-topology: ")


NAMED = SAME + "- topology: cpu\n  flat: true\n"


@pytest.mark.parametrize(
    ("texts", "given", "says"),
    [
        ((OLD, NEW), ("a=nope",), "none of its nodes (nope) is in either file"),
        ((OLD, NEW), ("a:xx=n1",), "old.conf has no such topology: expected one without a name"),
        ((OLD, NAMED), ("a:xx=n1",), "new.yaml has no such topology: expected any, cpu"),
        ((NAMED, SAME), ("a:cpu=n1",), "new.yaml has no such topology: expected any"),
        ((OLD, NEW), ("gpu=n1", "a=m1", "--nodes", "n[1-8]"), "--partition a: none of its nodes (m1) is in --nodes"),
    ],
)
def test_a_partition_with_which_nothing_is_compared_exits_with_2(
    texts: tuple[str, str], given: tuple[str, ...], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [
        tmp_path / f"{name}.{'yaml' if text.startswith('-') else 'conf'}"
        for name, text in zip(("old", "new"), texts, strict=True)
    ]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    options = [word for each in given if "=" in each for word in ("--partition", each)]
    options += [each for each in given if "=" not in each]
    assert run(["diff", *map(str, paths), *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err


def test_a_file_without_names_has_one_topology_for_every_partition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the way from topology.conf to topology.yaml: no job was possible "in cpu" before, but all were."""
    old, new = tmp_path / "old.conf", tmp_path / "new.yaml"
    old.write_text(OLD)
    new.write_text(NAMED)
    run(["diff", str(old), str(new), "--partition", "gpu:any=n[1-4]"])
    assert "largest job in partition gpu: 4 nodes, as before" in capsys.readouterr().out


def test_a_file_that_slurmctld_refuses_has_no_meaning_to_compare(
    files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(files[1]).write_text("junk\nFoo=1\n" + NEW)
    assert run(["diff", files[0], files[1]]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "topology.conf line 1: expected Key=Value, got 'junk', and 1 more error;" in captured.err
