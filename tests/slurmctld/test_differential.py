"""Random files, most of them faulty, put before slurmctld and the checker: the two never disagree in silence."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurm_lab import Judge
from slurm_topology.core import check_rules as rules
from slurm_topology.core.block_rule import sizes_in_force
from slurm_topology.core.check import check_text, parse_file
from slurm_topology.core.compare import same_meaning
from slurm_topology.core.hostlist import expand
from slurm_topology.core.model import Blocks, ClusterTopology, Finding, Flat, NamedTopology, Severity, Tree
from slurm_topology.core.slurm_version import SlurmVersion

from .shown import shown

pytestmark = pytest.mark.slurm

NODES = expand("node[0001-0008]")
SLURM = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# errors on purpose where slurmctld says nothing; docs/findings.md says why
STRICTER = {
    rules.BAD_NAME,
    rules.LONG_NAME,
    rules.TWO_PARENTS,
    rules.TWO_BLOCKS,
    rules.BAD_VALUE,
    rules.BAD_HOST_LIST,
    rules.EMPTY_SWITCH_FATAL,
}

HOST_LISTS = st.sampled_from(
    [
        *("node[0001-0004]", "node[0005-0008]", "node[0001-0008]", "node0001", "node[0001-0002],node[0005-0006]"),
        *("zz[1-2]", "node[4-1]", "node[0001-0004", ",", '""', "node000[1-8]", "switch{s1}", "node[0001-0008]]"),
        *('"node0001 node0002"', "'node0001'"),
    ]
)
NAMES = st.sampled_from(["s1", "s2", "s3", "s4", "s[1-2]", "s1,s2", "x" * 65, '""', "s:1", "S1", "12", '"a b"'])
CHILDREN = st.sampled_from(["s1", "s1,s2", "s[1-3]", "s2,s3", "s9", "s1,s1", ",", '""', "s[2-1]"])
SIZES = st.sampled_from(["4", "4,8", "2", "8", "4,4", "5", "4,12", "0", "x", "4-8", "4,,8", "65536", "-2", "+4"])
ODD_LINES = st.sampled_from(["", "# comment \\", "junk", "Foo=1", "\\", "BlockSizes=4", "Nodes=node0001", "Nodes="])
ENDS = st.sampled_from(["", "", "", "", " # comment", "\r", " \\", " LinkSpeed=x", " Nodes=node0001"])

LEAVES = st.builds("SwitchName={} Nodes={}{}".format, NAMES, HOST_LISTS, ENDS)
SPINES = st.builds("SwitchName={} Switches={}{}".format, NAMES, CHILDREN, ENDS)
BLOCKS = st.one_of(
    st.builds("BlockName={} Nodes={}".format, NAMES, HOST_LISTS), st.builds("BlockSizes={}".format, SIZES)
)
TREE = ["SwitchName=s1 Nodes=node[0001-0004]", "SwitchName=s2 Nodes=node[0005-0008]", "SwitchName=s3 Switches=s1,s2"]
BLOCK = ["BlockName=s1 Nodes=node[0001-0004]", "BlockName=s2 Nodes=node[0005-0008]", "BlockSizes=4"]


@st.composite
def damaged(draw: st.DrawFn, good: list[str], bad: st.SearchStrategy[str]) -> str:
    """A good file, most often, in which up to two lines were replaced or put in."""
    lines = list(good) if draw(st.integers(0, 3)) else []
    for line in draw(st.lists(bad, min_size=0 if lines else 1, max_size=2)):
        position = draw(st.integers(0, len(lines)))
        lines[position : position + draw(st.integers(0, 1))] = [line]
    return "\n".join(lines) + "\n"


TAGS = st.sampled_from(["", "", "", "", "!!int ", "!!bool ", "!!str ", "!!null ", "!x ", "&a "])
VALUES = st.sampled_from(
    [
        *("node[0001-0004]", "node[0005-0008]", '"node0001,node0002"', "s1", "'s1,s2'", "s[1-3]", "12", "0x10", "null"),
        *("~", "yes", "'it''s'", '"s\\x31"', "[s1, s2]", "{a: b}", "|\n          node0001", "s1 # comment"),
        *(">-\n          s1,\n          s2", "true", "1.5", "x: y", "@s1", "`s1`", "%s1", "- s1", "node[4-1]"),
    ]
)
YAML = """\
- topology: t
  cluster_default: true
  tree:
    switches:
      - switch: s1
        nodes: node[0001-0004]
      - switch: s2
        nodes: node[0005-0008]
      - switch: s3
        children: s1,s2
"""


@st.composite
def other_values(draw: st.DrawFn) -> str:
    """A good topology.yaml in which one or two values are others, or have tags."""
    lines = YAML.splitlines()
    for _ in range(draw(st.integers(1, 2))):
        number = draw(st.sampled_from([1, 4, 5, 6, 7, 8, 9]))
        key, _, value = lines[number].partition(": ")
        lines[number] = f"{key}: {draw(TAGS)}{draw(st.one_of(st.just(value), VALUES))}"
    return "\n".join(lines) + "\n"


def assert_no_silent_disagreement(judge: Judge, text: str, plugin: str, file_name: str = "topology.conf") -> None:
    version = SlurmVersion.parse(judge.root.exact_version)
    findings = check_text(text, file_name, version, NODES)
    errors: list[Finding] = [finding for finding in findings if finding.severity is Severity.ERROR]
    verdict = judge.judge(text, file_name, NODES, plugin=plugin, show=True)
    if not verdict.accepted:
        assert errors, verdict.reasons
    elif verdict.notes:
        assert [finding for finding in findings if finding.severity is not Severity.INFO], verdict.notes
    else:
        ids = {finding.id for finding in errors}
        # slurmctld changes a value with a tag: what else would be wrong with the one that was written, isn't then
        assert rules.TAG.id in ids or ids <= {rule.id for rule in STRICTER}, errors
    if verdict.accepted and not errors:
        written = parse_file(text, file_name).topology.topologies[0].body
        assert same_meaning(known_part(written), known_part(shown(verdict.topology_shown))), verdict.topology_shown


def known_part(body: Tree | Blocks | Flat) -> ClusterTopology:
    """What counts: nodes that Slurm has (24.11 shows others, too), and the base size (of the others, those in use)."""
    if isinstance(body, Tree):
        body = Tree(tuple(each._replace(nodes=tuple(set(each.nodes) & set(NODES))) for each in body.switches))
    elif isinstance(body, Blocks):
        members = tuple(each._replace(nodes=tuple(set(each.nodes) & set(NODES))) for each in body.blocks)
        body = Blocks(sizes_in_force(body)[:1], members)
    return ClusterTopology((NamedTopology("", body, cluster_default=True),))


@SLURM
@given(text=damaged(TREE, st.one_of(LEAVES, LEAVES, SPINES, SPINES, ODD_LINES)))
def test_trees(judge: Judge, text: str) -> None:
    assert_no_silent_disagreement(judge, text, "topology/tree")


@SLURM
@given(text=damaged(BLOCK, st.one_of(BLOCKS, BLOCKS, BLOCKS, ODD_LINES)))
def test_blocks(judge: Judge, text: str) -> None:
    assert_no_silent_disagreement(judge, text, "topology/block")


@SLURM
@given(text=other_values())
def test_values_of_a_yaml(judge_26_05: Judge, text: str) -> None:
    assert_no_silent_disagreement(judge_26_05, text, "topology/flat", "topology.yaml")
