"""topology.yaml as slurmctld reads it. Faulty files: tests/cases/topology, see test_check_cases.py."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree
from slurm_topology.core.parse_yaml import parse
from topology_strategies import PROPERTY

TREE = Tree((Switch("a", (), ("n1", "n2")), Switch("r", ("a",), ())))
EXPECTED = ClusterTopology((NamedTopology("t", TREE, True), NamedTopology("b", Blocks((4, 8), (Block("x", ("n1",)),)))))
DOCUMENT = [
    {
        "topology": "t",
        "cluster_default": True,
        "tree": {"switches": [{"switch": "a", "nodes": "n[1-2]"}, {"switch": "r", "children": "a"}]},
    },
    {
        "topology": "b",
        "cluster_default": False,
        "block": {"block_sizes": [4, 8], "blocks": [{"block": "x", "nodes": "n1"}]},
    },
]

BLOCK_STYLE = """\
---
- topology: t           # a comment
  cluster_default: yes
  tree:
    switches:
    - switch: a
      nodes: 'n[1-2]'
    - {switch: r, children: "a"}
- topology: b
  block:
    block_sizes:
    - 4
    - "0x8"
    blocks:
      block: x
      nodes: >-
        n1
...
"""


@pytest.mark.parametrize(
    "text",
    [
        BLOCK_STYLE,
        json.dumps(DOCUMENT),
        json.dumps(DOCUMENT, indent=4),
        "\ufeff" + BLOCK_STYLE,
        BLOCK_STYLE.replace("\n", "\r\n"),
    ],
    ids=["block style", "JSON", "JSON, indented", "byte order mark", "CRLF"],
)
def test_forms_of_one_topology(text: str) -> None:
    parsed = parse(text)
    assert parsed.findings == ()
    assert parsed.topology == EXPECTED


def test_json_needs_no_pyyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)  # import yaml: ImportError
    assert parse(json.dumps(DOCUMENT)).topology == EXPECTED


def test_other_yaml_without_pyyaml_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InputError, match=r"needs PyYAML.*pip install PyYAML"):
        parse(BLOCK_STYLE)


@pytest.mark.parametrize("text", ["", "\n\n", "# a comment\n", "---\n", "# c\n---\n...\n"])
def test_a_file_without_content(text: str) -> None:
    parsed = parse(text)
    assert parsed.topology == ClusterTopology()
    assert [finding.id for finding in parsed.findings] == ["TOPO009"]


@pytest.mark.parametrize("word", ["true", "TRUE", "t", "y", "Yes", "on", "1", "-1", "2.5"])
def test_words_that_are_true(word: str) -> None:
    assert flat_default(word)


@pytest.mark.parametrize("word", ["false", "F", "n", "NO", "off", "Off", "0", "00", "-0", "0.0", "null", "~", "''"])
def test_words_that_are_false(word: str) -> None:
    assert not flat_default(word)


def flat_default(word: str) -> bool:
    parsed = parse(f"- topology: t\n  cluster_default: {word}\n  flat: true\n")
    assert parsed.findings == ()
    return parsed.topology.topologies[0].cluster_default


def test_hyperpods_own_file_is_read() -> None:
    """As the manager of HyperPod on Slurm 25.11 writes it: one topology per kind, the default first."""
    text = (
        "- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n"
        "      - switch: nn-1\n        children: nn-[2-3]\n"
        "      - switch: nn-2\n        nodes: ip-10-1-0-[4-5]\n"
        "      - switch: nn-3\n        nodes: ip-10-1-0-6\n"
        "- topology: block\n  cluster_default: false\n  block:\n    block_sizes:\n      - 18\n"
        "    blocks:\n      - block: us-1\n        nodes: ip-10-1-9-[1-18]\n"
    )
    parsed = parse(text)
    assert parsed.findings == ()
    tree, block = parsed.topology.topologies
    assert tree.cluster_default
    assert isinstance(tree.body, Tree)
    assert tree.body.switches[0] == Switch("nn-1", ("nn-2", "nn-3"))
    assert isinstance(block.body, Blocks)
    assert block.body.block_sizes == (18,)
    assert len(block.body.blocks[0].nodes) == 18


def test_lines_are_known() -> None:
    lines = parse(BLOCK_STYLE).lines
    assert lines == {"topology t": 2, "t: switch a": 6, "t: switch r": 8, "topology b": 9, "b: block x": 15}


def test_all_faults_are_told_at_once() -> None:
    text = (
        "- topology: t\n  cluster_default: maybe\n  colour: red\n  tree:\n    switches:\n"
        "      - switch: a\n        nodes: n[2-1]\n      - switch: b\n        nodes: [n1]\n      - nodes: n2\n"
        "- flat: true\n"
    )
    found = sorted((finding.id, finding.subject) for finding in parse(text).findings)
    assert found == [
        ("TOPO004", "topology 1 of topology.yaml"),
        ("TOPO006", "topology t"),
        ("TOPO008", "t: switch a"),
        ("TOPO010", "a switch of topology t"),
        ("TOPO010", "t: switch b"),
        ("TOPO010", "topology 2 of topology.yaml"),
    ]


def test_deep_nesting_is_no_crash() -> None:
    for text in (
        "[" * 50_000,
        "- " * 3000 + "a\n",
        '{"a":' * 50_000,
        "a:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 400)),
    ):
        assert parse(text).findings


def test_a_flat_mapping_is_flat() -> None:
    assert parse("- topology: t\n  flat: {}\n").topology == ClusterTopology((NamedTopology("t", Flat(), False),))


WORDS = [
    "- ",
    "topology: t",
    "tree:",
    "switches:",
    "switch: a",
    "nodes: n1",
    "flat: true",
    "block:",
    "blocks:",
    "block_sizes: [4]",
]


@PROPERTY
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([*WORDS, "[", "}", "*x", "&x 1", "? ", "!t a", '"', "#"])),
        max_size=15,
    )
)
def test_any_words_are_read(words: list[tuple[int, str]]) -> None:
    """Never a crash, and never a topology out of nothing without a finding."""
    assert_read("".join(f"{'  ' * indent}{word}\n" for indent, word in words))


@PROPERTY
@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    assert_read(text)


def assert_read(text: str) -> None:
    parsed = parse(text)
    assert parsed.topology.topologies or parsed.findings
