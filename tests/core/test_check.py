"""The checker, beyond the recorded cases: versions that no package has, arguments, limits."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_topology.core import render_yaml
from slurm_topology.core.check import check_text, check_topology, is_yaml
from slurm_topology.core.check_tree import SWITCH_BUDGET
from slurm_topology.core.model import (
    Block,
    Blocks,
    ClusterTopology,
    Finding,
    Flat,
    NamedTopology,
    Severity,
    Switch,
    Tree,
)
from slurm_topology.core.slurm_version import SlurmVersion
from topology_strategies import PROPERTY, cluster_topologies

V24_11, V25_05, V25_11, V26_05 = (SlurmVersion.parse(text) for text in ("24.11.5", "25.05.8", "25.11.4", "26.05.5"))
ALL_VERSIONS = (V24_11, V25_05, V25_11, V26_05)
LEAF = Tree((Switch("leaf", (), ("n1", "n2")),))


def ids(findings: tuple[Finding, ...]) -> list[str]:
    return sorted({finding.id for finding in findings})


def default(body: Tree | Blocks | Flat) -> ClusterTopology:
    return ClusterTopology((NamedTopology("default", body, cluster_default=True),))


@pytest.mark.parametrize("version", ALL_VERSIONS, ids=str)
def test_a_good_tree_is_clean_for_every_version(version: SlurmVersion) -> None:
    assert check_topology(default(LEAF), version, {"n1", "n2"}) == ()
    assert check_topology(default(LEAF), version, None) == ()


@pytest.mark.parametrize("version", ALL_VERSIONS, ids=str)
def test_flat_places_everybody(version: SlurmVersion) -> None:
    assert check_topology(default(Flat()), version, ["n1", "n2"]) == ()


# ---- versions


@pytest.mark.parametrize(
    ("version", "found"), [(V24_11, ["TOPO051", "TOPO052"]), (V25_05, []), (V25_11, []), (V26_05, [])]
)
def test_short_and_empty_blocks_are_fatal_up_to_24_11(version: SlurmVersion, found: list[str]) -> None:
    body = Blocks((2,), (Block("a", ("n1", "n2")), Block("b", ("n3",)), Block("c", ())))
    assert ids(check_topology(default(body), version, ["n1", "n2", "n3"])) == found


def test_smallest_block_sets_the_base_size_is_told_where_it_is_a_choice() -> None:
    """A fault of public tools: one short UltraServer makes the base size of all, and jobs span NVLink domains."""
    body = Blocks((16,), (Block("a", tuple(f"a{n}" for n in range(18))), Block("b", tuple(f"b{n}" for n in range(16)))))
    assert ids(check_topology(default(body), V24_11, None)) == []
    assert ids(check_topology(default(body), V25_11, None)) == ["TOPO056"]


def test_a_small_base_is_not_told_where_a_larger_one_would_refuse_jobs() -> None:
    assert refusals(V25_11, (9,), 17, 5, 5, 1) == []
    (told,) = refusals(V25_11, (10,), 17, 5, 5, 1)
    assert told == (
        "has 28 nodes, but slurmctld refuses jobs of 28 nodes, which the block sizes 10 leave no place; 9 alone "
        "refuses none"
    )


def blocks_of(sizes: tuple[int, ...], *counts: int) -> Blocks:
    return Blocks(sizes, tuple(Block(f"b{n}", tuple(f"b{n}-{k}" for k in range(c))) for n, c in enumerate(counts)))


def refusals(version: SlurmVersion, sizes: tuple[int, ...], *counts: int) -> list[str]:
    """What is told of these blocks, all of which must be TOPO058."""
    findings = check_topology(default(blocks_of(sizes, *counts)), version, None)
    assert {finding.id for finding in findings} <= {"TOPO058"}
    return [finding.message.removeprefix("topology default: ") for finding in findings]


def test_block_sizes_that_refuse_jobs_are_told_with_the_size_that_does_not() -> None:
    """The verdicts are those of slurmctld (tests/slurmctld/test_largest_job.py)."""
    assert [
        told.partition("jobs of ")[2].partition(" nodes")[0]
        for told in (
            *refusals(V26_05, (100,), 18, 18, 18),
            *refusals(V26_05, (18, 36), 18, 18, 18),
            *refusals(V24_11, (18, 36), 18, 18, 18),
            *refusals(V26_05, (17,), 17, 17, 15, 15, 15),
        )
    ] == ["19 to 54", "37 to 54", "37 to 54", "50 to 51, 65 to 68"]
    assert refusals(V24_11, (4, 16), 18, 5, 4, 4, 4)[0].endswith("; 4 alone refuses none")
    assert refusals(V26_05, (18,), 18, 18, 18) == refusals(V26_05, (18,), 18, 18, 3) == []


def test_block_sizes_that_refuse_jobs_of_one_partition_are_told() -> None:
    """Blocks 2 and 3 of four are in different pairs: no job of that partition has 34 nodes."""
    body = blocks_of((17, 34), 17, 17, 17, 17)
    some = {node for block in body.blocks[1:3] for node in block.nodes}
    findings = check_topology(default(body), V26_05, None, partition_nodes={"": (), "some": some})
    (told,) = (finding.message for finding in findings if finding.id == "TOPO058")
    assert told == (
        "topology default: partition some has 34 nodes, but slurmctld refuses jobs of 18 to 34 nodes, which the block "
        "sizes 17, 34 leave no place; 17 alone refuses none"
    )


@pytest.mark.parametrize(
    ("version", "found"),
    [("25.05.8", []), ("25.11.0", ["TOPO057"]), ("25.11.2", ["TOPO057"]), ("25.11.3", []), ("26.05", [])],
)
def test_25_11_0_to_2_take_powered_down_nodes_out_of_blocks(version: str, found: list[str]) -> None:
    body = Blocks((1,), (Block("a", ("n1",)),))
    assert ids(check_topology(default(body), SlurmVersion.parse(version), None)) == found


@pytest.mark.parametrize(("version", "fatal"), [(V25_05, True), (V25_11, True), (V26_05, False)])
@pytest.mark.parametrize("pages", [1, 2, 5])
def test_a_yaml_of_whole_pages_is_fatal_on_slurm_25(version: SlurmVersion, fatal: bool, pages: int) -> None:
    """Only 25.05.8 and 25.11.4 did this, and no package has them; one byte more or less is fine."""
    text = '- topology: "default"\n  cluster_default: "true"\n  flat: "true"\n'

    def padded(size: int) -> str:
        return text + "#" * (size - len(text) - 1) + "\n"

    assert ids(check_text(padded(pages * 4096), "topology.yaml", version)) == (["TOPO015"] if fatal else [])
    assert check_text(padded(pages * 4096 - 1), "topology.yaml", version) == ()
    assert check_text(padded(pages * 4096 + 1), "topology.yaml", version) == ()


def test_bytes_are_counted_not_characters() -> None:
    text = "- topology: t\n  flat: true\n"
    padded = text + "#" + "é" * ((4096 - len(text) - 2) // 2) + "\n"
    padded += "" if len(padded.encode()) == 4096 else "\n"
    assert len(padded.encode()) == 4096
    assert "TOPO015" in ids(check_text(padded, "topology.yaml", V25_11))


@pytest.mark.parametrize("version", [V25_05, V25_11, V26_05], ids=str)
def test_invalid_block_sizes_are_named_where_slurmctld_is_silent(version: SlurmVersion) -> None:
    """25.05.8 and 25.11.4 take any sizes from a topology.yaml; 26.05.5 refuses them."""
    text = "- topology: t\n  block:\n    block_sizes: [4, 12]\n    blocks: [{block: b, nodes: 'n[1-4]'}]\n"
    assert ids(check_text(text, "topology.yaml", version)) == ["TOPO050"]


def test_24_11_does_not_read_topology_yaml() -> None:
    assert ids(check_text(render_yaml.render(default(LEAF)), "topology.yaml", V24_11, ["n1", "n2"])) == ["TOPO016"]


def test_before_25_05_there_is_one_topology() -> None:
    two = ClusterTopology((NamedTopology("a", LEAF, True), NamedTopology("b", Flat())))
    assert ids(check_topology(two, V24_11, None)) == ["TOPO017"]
    assert ids(check_topology(ClusterTopology(), V24_11, None)) == ["TOPO009"]


@pytest.mark.parametrize(
    ("version", "fate"),
    [(V24_11, "runs no job on nodes"), (V25_11, "runs no job on nodes"), (V26_05, "runs only one-node jobs")],
)
def test_what_becomes_of_nodes_outside_the_tree(version: SlurmVersion, fate: str) -> None:
    (finding,) = check_topology(default(LEAF), version, ["n1", "n2", "n3"])
    assert (finding.id, finding.severity) == ("TOPO061", Severity.ERROR)
    assert fate in finding.message
    assert "1 node (n3)" in finding.message


@pytest.mark.parametrize("body", [Tree(), Blocks(), Blocks((4,))])
@pytest.mark.parametrize("version", ALL_VERSIONS, ids=str)
def test_a_topology_of_nothing_is_an_error(body: Tree | Blocks, version: SlurmVersion) -> None:
    """ "No switches configured": fatal from 25.11 on, and before it every job was rejected."""
    assert "TOPO009" in ids(check_topology(default(body), version, None))


# ---- arguments


def test_partitions_name_topologies() -> None:
    topology = ClusterTopology((NamedTopology("a", LEAF, True), NamedTopology("b", Flat())), {"p": "b", "q": "c"})
    found = check_topology(topology, V25_11, None, ["a", "d"])
    assert [(finding.id, finding.subject) for finding in found] == [
        ("TOPO030", "topology c"),
        ("TOPO030", "topology d"),
    ]


def test_a_partitions_nodes_must_be_in_its_topology() -> None:
    """With partitions known, a node need not be in the default, but where its jobs look for it."""
    blocks = Blocks((1,), (Block("us", ("g1",)),))
    topology = ClusterTopology((NamedTopology("t", LEAF, True), NamedTopology("us", blocks)), {"gpu": "us"})
    known = ["n1", "n2", "g1", "g2"]
    good = check_topology(topology, V25_11, known, partition_nodes={"gpu": ["g1"], "other": ["n1", "n2"]})
    assert good == ()
    bad = check_topology(topology, V25_11, known, partition_nodes={"gpu": ["g1", "g2"], "dev": ["n1", "g1"]})
    assert [(finding.id, finding.subject) for finding in bad] == [("TOPO061", "topology t"), ("TOPO061", "topology us")]
    assert ids(check_topology(topology, V25_11, known)) == ["TOPO061"]


def test_known_nodes_may_be_any_collection() -> None:
    for known in ({"n1", "n2"}, frozenset({"n1", "n2"}), ["n2", "n1"], ("n1", "n2"), {"n1": 1, "n2": 2}.keys()):
        assert check_topology(default(LEAF), V25_11, known) == ()


@pytest.mark.parametrize(
    ("name", "yaml"),
    [("topology.yaml", True), ("a.YML", True), ("x.json", True), ("topology.conf", False), ("yaml", False)],
)
def test_the_name_tells_the_format(name: str, yaml: bool) -> None:
    assert is_yaml(name) == yaml


# ---- limits


def test_many_switches_cost_a_warning_with_the_time() -> None:
    leaves = [Switch(f"s{n}x", (), (f"n{n}",)) for n in range(SWITCH_BUDGET)]
    root = Switch("root", tuple(leaf.name for leaf in leaves))
    assert check_topology(default(Tree(tuple(leaves))), V26_05, None)[0].id == "TOPO047"
    (finding,) = check_topology(default(Tree((*leaves, root))), V26_05, None)
    assert (finding.id, finding.severity) == ("TOPO048", Severity.WARNING)
    assert "1001 switches cost slurmctld about 0.3 s" in finding.message


def test_long_lists_of_nodes_are_cut_in_messages() -> None:
    missing = [f"rack-{n}-node" for n in range(1000)]
    (finding,) = check_topology(default(LEAF), V25_11, ["n1", "n2", *missing])
    assert "1000 nodes (rack-0-node,rack-1-node," in finding.message
    assert len(finding.message) < 350


def test_every_finding_is_whole() -> None:
    """A subject, a message that begins with it, and a remedy."""
    broken = Tree((Switch("a", ("b", "a"), ("n1",)), Switch("b"), Switch("b", (), ("n1", "n1"))))
    for finding in check_topology(default(broken), V24_11, ["n2"]):
        assert finding.message.startswith(finding.subject)
        assert finding.remedy


# ---- properties


@PROPERTY
@given(cluster_topologies(), st.sampled_from([V25_05, V25_11, V26_05]), st.randoms(use_true_random=False))
def test_a_faultless_topology_has_no_error(
    topology: ClusterTopology, version: SlurmVersion, rng: random.Random
) -> None:
    """And none of its renderings has, whatever the order of the known nodes."""
    nodes = sorted({node for entry in topology.topologies for node in nodes_of(entry)})
    rng.shuffle(nodes)
    partitions = {entry.name: nodes_of(entry) for entry in topology.topologies}
    topology = ClusterTopology(topology.topologies, {name: name for name in partitions})
    errors = [
        finding
        for finding in (
            *check_topology(topology, version, nodes, partition_nodes=partitions),
            *check_text(render_yaml.render(topology), "topology.yaml", version),
        )
        if finding.severity is Severity.ERROR
    ]
    assert errors == []


def nodes_of(entry: NamedTopology) -> list[str]:
    if isinstance(entry.body, Flat):
        return []
    units = entry.body.switches if isinstance(entry.body, Tree) else entry.body.blocks
    return [node for unit in units for node in unit.nodes]


UNIT_NAMES = st.sampled_from(["a", "b", "c", "", "d e", "x" * 70, "n99999999999999999999", "é", '"', "\ud800"])
SOME_NAMES = st.lists(UNIT_NAMES, max_size=3).map(tuple)
SWITCHES = st.lists(st.builds(Switch, UNIT_NAMES, SOME_NAMES, SOME_NAMES), max_size=6).map(tuple)
BLOCKS = st.builds(
    Blocks,
    st.lists(st.integers(-2, 70_000), max_size=4).map(tuple),
    st.lists(st.builds(Block, UNIT_NAMES, SOME_NAMES), max_size=5).map(tuple),
)
BODIES = st.one_of(st.builds(Tree, SWITCHES), BLOCKS, st.just(Flat()))
ANYTHING = st.builds(
    ClusterTopology,
    st.lists(st.builds(NamedTopology, UNIT_NAMES, BODIES, st.booleans()), max_size=3).map(tuple),
    st.dictionaries(UNIT_NAMES, UNIT_NAMES, max_size=2),
)


@PROPERTY
@given(
    ANYTHING,
    st.sampled_from(ALL_VERSIONS),
    st.one_of(st.none(), SOME_NAMES),
    st.dictionaries(UNIT_NAMES, SOME_NAMES, max_size=2),
)
def test_any_topology_can_be_checked(
    topology: ClusterTopology,
    version: SlurmVersion,
    known: tuple[str, ...] | None,
    partitions: dict[str, tuple[str, ...]],
) -> None:
    """Never a crash, never endless, and the same answer twice."""
    findings = check_topology(topology, version, known, partition_nodes=partitions)
    assert findings == check_topology(topology, version, known, partition_nodes=partitions)


@PROPERTY
@given(st.text(max_size=80), st.sampled_from(["topology.conf", "topology.yaml"]), st.sampled_from(ALL_VERSIONS))
def test_any_text_can_be_checked(text: str, file_name: str, version: SlurmVersion) -> None:
    """Never a crash; and text that only hypothesis could write is no clean file."""
    assert check_text(text, file_name, version, ["n1"])
