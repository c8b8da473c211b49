"""topology.conf as slurmctld reads it. Faulty files: tests/cases/topology, see test_check_cases.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_topology.core.model import Block, Blocks, Finding, Switch, Tree
from slurm_topology.core.parse_conf import parse
from topology_strategies import PROPERTY


def body_of(text: str) -> Tree | Blocks:
    parsed = parse(text)
    assert parsed.findings == ()
    (entry,) = parsed.topology.topologies
    assert entry.name == ""
    assert entry.cluster_default
    assert isinstance(entry.body, (Tree, Blocks))
    return entry.body


ONE_LEAF = Tree((Switch("a", (), ("n1", "n2")),))


@pytest.mark.parametrize(
    "text",
    [
        "SwitchName=a Nodes=n[1-2]\n",
        "SwitchName=a Nodes=n[1-2]",
        "switchname=a NODES=n1,n2\n",
        "  SwitchName = a\tNodes =n[1-2]  \r\n",
        'SwitchName="a" Nodes="n1 n2"\n',
        "SwitchName=a Nodes=n1,\\\nn2\n",
        "SwitchName=a \\  \nNodes=n[1-2]\n",
        "SwitchName=a Nodes=n[1-2] # comment \\\n",
        "SwitchName=a \\ # comment\nNodes=n[1-2]\n",
        "# comment \\\nSwitchName=a Nodes=n[1-2]\n",
        "SwitchName=a Nodes=n[1-2]#comment\n",
        "SwitchName=a\fNodes=n[1-2]\v\n",
        "\n\nSwitchName=a Nodes=n[1-2] \\\n\n",
        "SwitchName=a Nodes=n[1-2] \\",
        "SwitchName+=a Nodes*=n[1-2] LinkSpeed=INFINITE\n",
    ],
)
def test_forms_of_one_leaf(text: str) -> None:
    """Each of them is the same to slurmctld 24.11.5 and 26.05.5."""
    assert body_of(text) == ONE_LEAF


@pytest.mark.parametrize(
    ("written", "name"),
    [("a\\#b", "a#b"), ("a\\b", "ab"), ("a\\\\", "a\\"), ("=a", "=a"), ("a=b", "a=b"), ('"a b"', "a b")],
)
def test_names_with_odd_characters(written: str, name: str) -> None:
    assert body_of(f"SwitchName={written} Nodes=n[1-2]\n") == Tree((Switch(name, (), ("n1", "n2")),))


def test_children_are_a_host_list() -> None:
    text = "SwitchName=r Switches=l[1-2]\nSwitchName=l1 Nodes=a\nSwitchName=l2 Nodes=b\n"
    assert body_of(text) == Tree((Switch("r", ("l1", "l2")), Switch("l1", (), ("a",)), Switch("l2", (), ("b",))))


def test_blocks_keep_their_order_and_sizes_stand_anywhere() -> None:
    expected = Blocks((4, 8), (Block("b2", ("n3",)), Block("b1", ("n1", "n2")), Block("b3", ())))
    assert body_of("BlockName=b2 Nodes=n3\nblocksizes=4,8\nBlockName=b1 Nodes=n[1-2]\nBlockName=b3\n") == expected


def test_hyperpods_own_file_is_read() -> None:
    """As the manager of HyperPod on Slurm 24.11 writes it: a switch per network node, all levels."""
    text = (
        "# This file is managed by HyperPod\n"
        "SwitchName=nn-0f1a Switches=nn-1b2c\n"
        "SwitchName=nn-1b2c Switches=nn-2c3d,nn-2c4e\n"
        "SwitchName=nn-2c3d Nodes=ip-10-1-0-[4-5]\n"
        "SwitchName=nn-2c4e Nodes=ip-10-1-77-9\n"
    )
    tree = body_of(text)
    assert isinstance(tree, Tree)
    assert [switch.nodes for switch in tree.switches] == [(), (), ("ip-10-1-0-4", "ip-10-1-0-5"), ("ip-10-1-77-9",)]


def test_lines_count_from_the_first_physical_line() -> None:
    parsed = parse("# one\nSwitchName=a \\\n Nodes=n1\n\nSwitchName=b Nodes=n2\n")
    assert parsed.lines == {"switch a": 2, "switch b": 5}


def test_a_switch_defined_twice_is_where_it_was_first() -> None:
    assert parse("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n").lines == {"switch a": 1}


def test_all_faults_are_told_at_once() -> None:
    text = (
        "junk\nFoo=1\nSwitchName=a Nodes=n[2-1] Bar=2\nSwitchName=b Switches=,\nSwitchName=c LinkSpeed=fast Nodes=n1\n"
    )
    found = [(finding.id, finding.subject) for finding in parse(text).findings]
    assert found == [
        ("TOPO002", "topology.conf line 1"),
        ("TOPO003", "topology.conf line 2"),
        ("TOPO003", "topology.conf line 3"),
        ("TOPO008", "switch a"),
        ("TOPO008", "switch b"),
        ("TOPO006", "switch c"),
    ]


def test_a_file_cannot_ask_for_much_memory() -> None:
    """Each line is within Slurm's limits, all of them together are 40 million names."""
    parsed = parse("".join(f"SwitchName=s{n} Nodes=a[1-65535],b[1-65535],c[1-65535]\n" for n in range(200)))
    assert {finding.id for finding in parsed.findings} == {"TOPO008"}


@PROPERTY
@given(st.text(alphabet='SwitchNameNodesBlockSizes=abn1[]-,"\\# \t\n\r\0\ufeff', max_size=120))
def test_any_text_is_read(text: str) -> None:
    """Never a crash, and never a topology out of nothing without a finding."""
    assert_read(text)


WORDS = [
    "SwitchName=",
    "Nodes=",
    "Switches=",
    "BlockName=",
    "BlockSizes=",
    "n[1-3]",
    "a",
    ",",
    " ",
    "\n",
    "\\\n",
    '"',
    "#",
    "4",
]


@PROPERTY
@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_any_words_are_read(words: list[str]) -> None:
    assert_read("".join(words))


def assert_read(text: str) -> None:
    parsed = parse(text)
    assert all(isinstance(finding, Finding) for finding in parsed.findings)
    assert parsed.topology.topologies or parsed.findings
