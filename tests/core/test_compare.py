"""Meaning and differences of topologies."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_topology.core import parse_conf, read_resource_config
from slurm_topology.core.compare import diff, largest_job, same_meaning
from slurm_topology.core.difference import Change, LargestJob
from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree
from topology_strategies import PROPERTY, cluster_topologies

CASES = Path(__file__).parents[1] / "cases"

OLD = """\
SwitchName=a Nodes=n[1-4]
SwitchName=b Nodes=n[5-8]
SwitchName=c Nodes=n[9-12]
SwitchName=s Switches=a,b
SwitchName=r Switches=s,c
"""


def conf(text: str) -> ClusterTopology:
    parsed = parse_conf.parse(text)
    assert parsed.findings == ()
    return parsed.topology


def named(*entries: tuple[str, Tree | Blocks | Flat], default: str = "") -> ClusterTopology:
    return ClusterTopology(tuple(NamedTopology(name, body, name == default) for name, body in entries))


def blocks(*parts: str, sizes: tuple[int, ...] = (4,)) -> Blocks:
    """``blocks("x:n1 n2")`` has the block x with two nodes."""
    pairs = [part.split(":") for part in parts]
    return Blocks(sizes, tuple(Block(name, tuple(nodes.split())) for name, nodes in pairs))


LEAF = Tree((Switch("a", (), ("n1", "n2")),))

# ---- same meaning


@pytest.mark.parametrize(
    "text",
    [
        "".join(reversed(OLD.splitlines(keepends=True))),
        OLD.replace("n[1-4]", "n4,n3,n2,n1,n1"),
        OLD.replace("=a ", "=other ").replace("=a,", "=other,"),
        OLD.replace("=a,b", "=b,a"),
        OLD.replace("=r ", "=root "),
        OLD + "SwitchName=empty\n",
    ],
    ids=["order of lines", "order of nodes", "name of a leaf", "order of children", "name of the root", "empty switch"],
)
def test_trees_of_the_same_meaning(text: str) -> None:
    assert same_meaning(conf(OLD), conf(text))


@pytest.mark.parametrize(
    "text",
    [
        OLD.replace("n[1-4]", "n[1-5]").replace("n[5-8]", "n[6-8]"),
        OLD.replace("n[9-12]", "n[9-13]"),
        OLD.replace("=a,b", "=a,c").replace("=s,c", "=s,b"),
        OLD.replace("SwitchName=s Switches=a,b\n", "").replace("=s,c", "=a,b,c"),
        OLD.replace("SwitchName=r Switches=s,c\n", ""),
        "BlockName=a Nodes=n[1-12]\nBlockSizes=4\n",
    ],
    ids=["a node moved", "a node more", "a leaf moved", "a level less", "no common root", "blocks"],
)
def test_trees_of_another_meaning(text: str) -> None:
    assert not same_meaning(conf(OLD), conf(text))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (blocks("x:n1 n2", "y:n3 n4"), True),
        (blocks("p:n2 n1", "q:n4 n3"), True),
        (blocks("x:n1 n2", "y:n3 n4", sizes=(4, 4)), True),
        (blocks("y:n3 n4", "x:n1 n2"), False),
        (blocks("x:n1 n2", "e:", "y:n3 n4"), False),
        (blocks("x:n1 n2", "y:n3 n4", sizes=(4, 8)), False),
        (blocks("x:n1 n2", "y:n3 n4", sizes=()), False),
        (blocks("x:n1 n3", "y:n2 n4"), False),
    ],
    ids=["same", "names", "size twice", "order", "empty block", "a level more", "no sizes", "nodes swapped"],
)
def test_order_and_sizes_of_blocks_are_meaning(other: Blocks, same: bool) -> None:
    """Slurm aggregates blocks that follow each other in the file."""
    assert same_meaning(named(("b", blocks("x:n1 n2", "y:n3 n4"))), named(("b", other))) == same


def test_names_and_default_of_topologies_are_meaning() -> None:
    both = named(("a", LEAF), ("b", Flat()), default="b")
    assert same_meaning(both, named(("b", Flat()), ("a", LEAF), default="b"))
    assert not same_meaning(both, named(("a", LEAF), ("b", Flat()), default="a"))
    assert not same_meaning(both, named(("a", LEAF), ("c", Flat()), default="c"))
    assert not same_meaning(named(("a", LEAF)), named(("b", LEAF)))
    assert not same_meaning(named(("a", LEAF)), both)


def test_without_a_default_the_first_one_is_it() -> None:
    assert same_meaning(named(("a", LEAF), ("b", Flat())), named(("a", LEAF), ("b", Flat()), default="a"))


def test_a_topology_conf_equals_any_single_topology() -> None:
    assert same_meaning(named(("", LEAF), default=""), named(("tree", LEAF), default="tree"))


def test_partitions_are_not_in_the_file() -> None:
    assert same_meaning(named(("a", LEAF)), dataclasses.replace(named(("a", LEAF)), partitions={"p": "a"}))


@PROPERTY
@given(cluster_topologies(), st.randoms(use_true_random=False))
def test_shuffling_what_has_no_order_keeps_the_meaning(topology: ClusterTopology, rng: random.Random) -> None:
    shuffled = ClusterTopology(
        tuple(dataclasses.replace(each, body=_shuffled(each.body, rng)) for each in topology.topologies)
    )
    assert same_meaning(topology, shuffled)
    assert same_meaning(shuffled, topology)


def _shuffled(body: Tree | Blocks | Flat, rng: random.Random) -> Tree | Blocks | Flat:
    def mixed(items: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(rng.sample(items, len(items)))

    if isinstance(body, Tree):
        new = [
            Switch(f"x{each.name}", mixed(tuple(f"x{c}" for c in each.children)), mixed(each.nodes))
            for each in body.switches
        ]
        return Tree(tuple(rng.sample(new, len(new))))
    if isinstance(body, Blocks):
        return dataclasses.replace(
            body, blocks=tuple(Block(f"x{each.name}", mixed(each.nodes)) for each in body.blocks)
        )
    return body


@PROPERTY
@given(cluster_topologies(), cluster_topologies())
def test_a_difference_and_the_same_meaning_agree(a: ClusterTopology, b: ClusterTopology) -> None:
    """And the way back swaps what came and what went."""
    there, back = diff(a, b), diff(b, a)
    assert diff(a, a).lines() == []
    assert diff(a, a).same_meaning
    assert there.same_meaning == same_meaning(a, b) == back.same_meaning
    assert [each.changes.added for each in there.topologies] == [each.changes.lost for each in back.topologies]
    assert {len(each.changes.moved) for each in there.topologies} >= {0} or not there.same_meaning


# ---- differences


def test_what_moved_came_and_went() -> None:
    new = OLD.replace("n[1-4]", "n[1-3]").replace("n[5-8]", "n[4-7,13]")
    (difference,) = diff(conf(OLD), conf(new)).topologies
    assert difference.changes.moved == (Change("n4", "a", "b"),)
    assert difference.changes.added == ("n13",)
    assert difference.changes.lost == ("n8",)
    assert difference.changes.renamed == ()


def test_a_renamed_leaf_moves_nobody() -> None:
    (difference,) = diff(conf(OLD), conf(OLD.replace("=a ", "=x ").replace("=a,", "=x,"))).topologies
    assert difference.changes.renamed == (Change("a", "a", "x"),)
    assert difference.changes.moved == ()
    assert difference.changes.moved_switches == ()


def test_a_renamed_leaf_that_lost_a_node_is_still_known() -> None:
    new = OLD.replace("=a ", "=x ").replace("=a,", "=x,").replace("n[1-4]", "n[1-3]").replace("n[5-8]", "n[4-8]")
    (difference,) = diff(conf(OLD), conf(new)).topologies
    assert difference.changes.renamed == (Change("a", "a", "x"),)
    assert difference.changes.moved == (Change("n4", "a", "b"),)


def test_a_switch_below_another_one() -> None:
    new = OLD.replace("=a,b", "=a").replace("=s,c", "=s,c,b")
    (difference,) = diff(conf(OLD), conf(new)).topologies
    assert difference.changes.moved_switches == (Change("b", "s", "r"),)
    assert difference.changes.moved == ()


def test_block_sizes_and_order() -> None:
    before = named(("b", blocks("x:n1 n2", "y:n3 n4")))
    (difference,) = diff(before, named(("b", blocks("y:n3 n4", "x:n1 n2", sizes=(2, 4))))).topologies
    assert (difference.changes.sizes_before, difference.changes.sizes_after) == ((4,), (2, 4))
    assert difference.changes.reordered
    assert list(difference.lines()) == ["block sizes 4 → 2, 4", "order of the blocks changed"]


def test_a_block_more_is_no_other_order() -> None:
    before, after = blocks("x:n1", "y:n2"), blocks("x:n1", "new:n9", "y:n2")
    assert not diff(named(("b", before)), named(("b", after))).topologies[0].changes.reordered


def test_topologies_that_come_go_and_change_kind() -> None:
    before = named(("a", LEAF), ("b", Flat()), ("c", LEAF), default="a")
    after = named(("a", blocks("x:n1 n2")), ("b", Flat()), ("d", Flat()), default="d")
    assert diff(before, after).lines() == [
        "a: tree → block",
        "c: tree → not defined",
        "d: not defined → flat",
        "cluster default a → d",
        "largest job 2 nodes → unlimited",
    ]


def test_no_difference_in_words() -> None:
    assert str(diff(conf(OLD), conf(OLD))) == "no difference"


def test_differences_in_one_line() -> None:
    assert str(diff(conf(OLD), conf(OLD.replace("n[1-4]", "n[1-3]")))) == (
        "lost 1 node (n4); largest job 12 nodes → 11 nodes"
    )


def test_many_moves_are_cut_in_words_but_not_in_data() -> None:
    before = "SwitchName=a Nodes=n[1-40]\nSwitchName=b Nodes=m[1-40]\n"
    after = "SwitchName=a Nodes=n[1-10]\nSwitchName=b Nodes=m[1-40],n[11-40]\n"
    difference = diff(conf(before), conf(after))
    assert len(difference.topologies[0].changes.moved) == 30
    assert "moved: 10 more" in difference.lines()


# ---- the largest job


@pytest.mark.parametrize(
    ("body", "nodes", "largest"),
    [
        (conf(OLD).topologies[0].body, None, 12),
        (conf(OLD.replace("SwitchName=r Switches=s,c\n", "")).topologies[0].body, None, 8),
        (conf(OLD.replace("SwitchName=r Switches=s,c\n", "")).topologies[0].body, ["n1", "n9", "n10", "x"], 2),
        (Tree(), None, 0),
        (blocks("x:n1 n2", "y:n3 n4", "z:n4", sizes=(2,)), None, 4),
        (blocks("x:n1 n2", "y:n3 n4"), None, 2),
        (blocks("x:n1 n2", "y:n3 n4"), ["n1", "n4", "n9"], 1),
        (blocks("x:n1 n2", "y:n3 n4", sizes=(2,)), ["n1", "n4", "n9"], 1),
        (blocks("x:n1 n2", "y:n3 n4", sizes=(1,)), ["n1", "n4", "n9"], 2),
        (blocks("x:n1 n2", "y:n3 n4", "z:n5 n6", sizes=(2, 4)), None, 4),
        (Flat(), None, None),
        (Flat(), ["n1", "n2"], 2),
    ],
)
def test_the_largest_job(body: Tree | Blocks | Flat, nodes: list[str] | None, largest: int | None) -> None:
    """Jobs stay below one root of a tree, and in blocks within Slurm's rule."""
    assert largest_job(body, nodes) == largest


def test_the_largest_job_of_each_partition() -> None:
    before = ClusterTopology((NamedTopology("t", LEAF, True), NamedTopology("f", Flat())), {"cpu": "f"})
    after = ClusterTopology(
        (NamedTopology("t", Tree((Switch("a", (), ("n1",)),)), True), NamedTopology("f", Flat())), {"cpu": "f"}
    )
    difference = diff(
        before, after, known_nodes=["n1", "n2", "c1"], partition_nodes={"gpu": ["n1", "n2"], "cpu": ["c1"]}
    )
    assert difference.largest_jobs == (LargestJob("", 2, 1), LargestJob("cpu", 1, 1), LargestJob("gpu", 2, 1))
    assert difference.lines()[-2:] == [
        "largest job 2 nodes → 1 node",
        "largest job in partition gpu 2 nodes → 1 node",
    ]


def test_loops_and_undefined_children_are_no_trouble() -> None:
    """A file that slurmctld would refuse can be compared too."""
    looping = Tree((Switch("a", ("b", "zz")), Switch("b", ("a",)), Switch("c", (), ("n1",))))
    assert largest_job(looping) == 1
    assert same_meaning(named(("t", looping)), named(("t", looping)))
    assert not same_meaning(named(("t", looping)), named(("t", LEAF)))


def test_one_node_of_p5_16_was_replaced() -> None:
    """The recorded cluster before and after: one node is under another leaf."""

    def leaves(name: str) -> ClusterTopology:
        document = json.loads((CASES / "hyperpod" / name).read_text())
        by_leaf: dict[str, list[str]] = {}
        for instance in read_resource_config.read(document).instances:
            if instance.placement.network_nodes:
                by_leaf.setdefault(instance.placement.network_nodes[-1], []).append(instance.address or "")
        return named(("", Tree(tuple(Switch(leaf, (), tuple(nodes)) for leaf, nodes in sorted(by_leaf.items())))))

    (difference,) = diff(leaves("p5-16.json"), leaves("p5-16.after.json")).topologies
    assert len(difference.changes.moved) == 1
    assert difference.changes.added == difference.changes.lost == ()
