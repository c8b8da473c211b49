"""Trees: from network paths to switches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from slurm_topology.core import render_conf
from slurm_topology.core.collapse import SWITCH_BUDGET, SwitchTree, fit_budget
from slurm_topology.core.model import ClusterTopology, Finding, NamedTopology, Node, Placement, Tree
from slurm_topology.core.places import places_of
from slurm_topology.core.tree import build_tree

from .clusters import ids, switches, tree_cluster, ultra_cluster

Switches = dict[str, tuple[str, ...]]


def build(nodes: Iterable[Node], budget: int = SWITCH_BUDGET) -> tuple[Switches, list[Finding]]:
    tree, findings = build_tree(places_of(nodes), switch_budget=budget)
    return switches(tree), list(findings)


def leaves(tree: Switches) -> list[str]:
    """All nodes of the tree, sorted."""
    return sorted(name for below in tree.values() for name in below if name not in tree)


def test_three_layers() -> None:
    """
    core ─┬─ s1 ─┬─ l1: a b
          │      └─ l2: c d
          └─ s2 ─┬─ l3: e f
                 └─ l4: g h
    """
    tree, findings = build(tree_cluster("core/s1/l1: a b", "core/s1/l2: c d", "core/s2/l3: e f", "core/s2/l4: g h"))
    assert tree == {
        "core": ("s1", "s2"),
        "s1": ("l1", "l2"),
        "l1": ("a", "b"),
        "l2": ("c", "d"),
        "s2": ("l3", "l4"),
        "l3": ("e", "f"),
        "l4": ("g", "h"),
    }
    assert findings == []


def test_switches_are_in_the_order_of_a_walk() -> None:
    """What is near in the network is near in the file, and parents come first."""
    tree, _ = build(tree_cluster(*(f"core/s{i // 4}/l{i // 2}: n{i}" for i in range(8))))
    assert list(tree) == ["core", "s0", "l0", "l1", "s1", "l2", "l3"]


def test_one_leaf() -> None:
    assert build(tree_cluster("c/s/l: a b"))[0] == {"l": ("a", "b")}


def test_a_single_child_is_collapsed() -> None:
    tree, _ = build(tree_cluster("c/s1/l1: a b", "c/s2/l2: d e"))
    assert tree == {"c": ("l1", "l2"), "l1": ("a", "b"), "l2": ("d", "e")}


def test_leaves_of_one_node_are_collapsed_into_their_parent() -> None:
    tree, _ = build(tree_cluster("c/s1/l1: a", "c/s1/l2: b", "c/s2/l3: d e"))
    assert tree == {"c": ("l3", "s1"), "l3": ("d", "e"), "s1": ("a", "b")}


def test_a_leaf_of_one_node_among_larger_ones_stays() -> None:
    tree, _ = build(tree_cluster("c/l1: a b", "c/l2: d"))
    assert tree == {"c": ("l1", "l2"), "l1": ("a", "b"), "l2": ("d",)}


def test_a_short_path_hangs_where_its_last_known_switch_is() -> None:
    """Layer 3 of ``d`` is missing: it is below s1, but on no leaf that anybody knows."""
    tree, _ = build(tree_cluster("c/s1/l1: a b", "c/s1: d", "c/s1/l3: g h", "c/s2/l2: e f"))
    assert tree["s1"] == ("l1", "l3", "leaf-of-s1")
    assert tree["leaf-of-s1"] == ("d",)


def test_paths_that_begin_lower_are_joined_where_they_meet() -> None:
    """The top layer of ``d`` is missing; another node tells what is above s1."""
    tree, findings = build(tree_cluster("c/s1/l1: a b", "s1/l2: d e", "c/s2/l3: f g"))
    assert tree["c"] == ("l3", "s1")
    assert tree["s1"] == ("l1", "l2")
    assert findings == []


def test_three_and_four_layer_types_share_a_root() -> None:
    """p5 has three layers, p6-b200 four; two cores of one zone are joined, as a job may span them."""
    three = [f"core-a/s{i // 4}/l{i // 2}: p{i}" for i in range(8)]
    four = [f"core-b/t/u{i // 4}/v{i // 2}: q{i}" for i in range(8)]
    tree, findings = build(tree_cluster(*three, *four, zone="usw2-az1"))
    assert tree["zone-usw2-az1"] == ("core-a", "t")
    assert tree["t"] == ("u0", "u1")
    assert findings == []


def test_nodes_of_unknown_position_are_in_a_catch_all_leaf_under_the_root() -> None:
    """Beside the network's top switch, not below it: nobody said that they are there."""
    tree, findings = build(tree_cluster("c/l1: a b", "c/l2: d e", ": x y"))
    assert tree["zone"] == ("c", "unplaced")
    assert tree["c"] == ("l1", "l2")
    assert tree["unplaced"] == ("x", "y")
    assert [(finding.id, finding.subject) for finding in findings] == [("TOPO301", "x")]


def test_a_catch_all_beside_a_single_leaf() -> None:
    tree, _ = build(tree_cluster("c/l1: a b", ": x"))
    assert tree == {"zone": ("l1", "unplaced"), "l1": ("a", "b"), "unplaced": ("x",)}


def test_two_zones_never_share_a_root() -> None:
    """EFA can't cross zones; a node of unknown position is in the catch-all of its own zone."""
    one = tree_cluster("c1/l1: a b", "c1/l2: d e", ": x", zone="z1")
    two = tree_cluster("c2/l3: f g", "c2/l4: h i", zone="z2")
    tree, findings = build(one + two)
    assert tree["zone-z1"] == ("c1", "unplaced-z1")
    assert tree["c2"] == ("l3", "l4")
    assert not any({"zone-z1", "c2"} & set(below) for below in tree.values())
    assert ids(findings) == ["TOPO301", "TOPO310"]


def test_a_node_without_zone_is_in_the_zone_of_its_switch() -> None:
    known = tree_cluster("c1/l1: a b", zone="z1") + tree_cluster("c2/l3: f g", zone="z2")
    tree, findings = build(known + tree_cluster("c1/l1: x", "c2/l5: y"))
    assert tree["l1"] == ("a", "b", "x")
    assert tree["c2"] == ("l3", "l5")
    assert ids(findings) == ["TOPO310"]


def test_a_node_of_no_known_zone_among_several_stands_alone() -> None:
    known = tree_cluster("c1/l1: a", zone="z1") + tree_cluster("c2/l3: f", zone="z2")
    tree, findings = build(known + tree_cluster(": x"))
    assert tree == {"unplaced": ("x",), "l1": ("a",), "l3": ("f",)}
    assert ids(findings) == ["TOPO301", "TOPO306", "TOPO310"]


def test_a_switch_that_two_zones_name_becomes_two() -> None:
    tree, findings = build(tree_cluster("c/l1: a b", zone="z1") + tree_cluster("c/l1: f g", zone="z2"))
    assert sorted(tree.values()) == [("a", "b"), ("f", "g")]
    assert ids(findings) == ["TOPO305", "TOPO310"]


def test_two_parents_are_settled_by_the_majority() -> None:
    tree, findings = build(tree_cluster("c/s1/l1: a b", "c/s2/l1: d", "c/s2/l2: e f", "c/s1/l3: g h"))
    assert tree["s1"] == ("l1", "l3")
    assert tree["l1"] == ("a", "b", "d")
    assert [(finding.id, finding.subject) for finding in findings] == [("TOPO303", "l1")]


def test_a_loop_is_cut() -> None:
    tree, findings = build(tree_cluster("x/y/l1: a b", "y/x/l2: d e"))
    assert leaves(tree) == ["a", "b", "d", "e"]
    assert ids(findings) == ["TOPO304"]


def test_an_ultraserver_is_a_leaf_of_its_own_below_its_switch() -> None:
    """Two UltraServers on one network leaf: NVLink is nearer than the network."""
    nodes = [
        node._replace(placement=Placement(("c", "l"), node.placement.ultraserver_id))
        for node in ultra_cluster(us1=2, us2=2)
    ]
    assert build(nodes)[0] == {"l": ("us1", "us2"), "us1": ("us1-1", "us1-2"), "us2": ("us2-1", "us2-2")}


def test_a_member_without_labels_is_where_its_ultraserver_is() -> None:
    nodes = ultra_cluster(us1=3, us2=2)
    nodes[2] = nodes[2]._replace(placement=Placement((), "us1"))
    tree, findings = build(nodes)
    assert tree["us1"] == ("us1-1", "us1-2", "us1-3")
    assert findings == []


def test_an_ultraserver_over_several_leaves_is_no_leaf() -> None:
    nodes = ultra_cluster(us1=4)
    nodes[2:] = [node._replace(placement=Placement(("core", "sp", "other"), "us1")) for node in nodes[2:]]
    tree, _ = build(nodes)
    assert tree == {"sp": ("leaf-us1", "other"), "leaf-us1": ("us1-1", "us1-2"), "other": ("us1-3", "us1-4")}


def test_a_very_deep_path_is_no_problem() -> None:
    """Deeper than Python's recursion limit."""
    deep = "/".join(f"s{n}" for n in range(3000))
    tree, _ = build(tree_cluster(f"{deep}/l1: a b", f"{deep}/l2: d e"))
    assert tree == {"s2999": ("l1", "l2"), "l1": ("a", "b"), "l2": ("d", "e")}


def test_no_nodes_no_switches() -> None:
    assert build_tree({}) == (Tree(), ())


def test_the_example_in_the_documentation_is_true() -> None:
    """docs/topology.md shows labels, the tree that they give, and the beginning of its file."""
    page = (Path(__file__).parents[2] / "docs" / "topology.md").read_text()
    labels = re.findall(r"^ (ip-10-1-0-\d)  (\S+ / \S+(?: / \S+)?|\(none yet\))", page, re.MULTILINE)
    assert len(labels) == 8
    places = [f"{'' if path.startswith('(') else path.replace(' ', '')}: {name}" for name, path in labels]
    tree, _ = build_tree(places_of(tree_cluster(*places)))
    lines = render_conf.render(ClusterTopology((NamedTopology("tree", tree, True),))).splitlines()
    shown = re.findall(r"SwitchName=\S+ \w+=\S+", page)
    assert shown == [line for line in lines if line.startswith("SwitchName")][: len(shown)]
    assert len(shown) == 5


# ---- the switch budget


def wide(spines: int, leaves: int, nodes: int) -> list[Node]:
    """core ── spines ── leaves in each ── nodes on each."""
    places = [(spine, leaf) for spine in range(spines) for leaf in range(leaves)]
    names = {(spine, leaf): " ".join(f"n{spine}-{leaf}-{n}" for n in range(nodes)) for spine, leaf in places}
    return tree_cluster(*(f"core/s{spine}/l{spine}-{leaf}: {names[spine, leaf]}" for spine, leaf in places))


def test_within_the_budget_nothing_is_lost() -> None:
    tree, findings = build(wide(4, 4, 2), budget=21)
    assert (len(tree), findings) == (21, [])


def test_above_the_budget_the_smallest_lowest_switches_become_leaves() -> None:
    """Only as many as needed, and what is lost is said."""
    tree, findings = build(wide(4, 4, 2), budget=14)
    assert len(tree) == 13
    assert [name for name, below in tree.items() if len(below) == 8] == ["s0", "s1"]
    assert [finding.id for finding in findings] == ["TOPO307"]
    assert "of up to 8 nodes" in findings[0].message


def test_smaller_switches_go_first() -> None:
    tree, _ = build([*wide(3, 3, 3), *tree_cluster("core/tiny/t1: x1 x2", "core/tiny/t2: x3 x4")], budget=14)
    assert tree["tiny"] == ("x1", "x2", "x3", "x4")


def test_levels_go_one_after_the_other_but_the_root_stays() -> None:
    places = [f"core/a{i // 8}/s{i // 4}/l{i // 2}/m{i}: n{i} o{i}" for i in range(16)]
    tree, findings = build(tree_cluster(*places), budget=4)
    assert tree["core"] == ("a0", "a1")
    assert len(tree) == 3
    assert ids(findings) == ["TOPO307"]


def test_a_root_with_too_many_leaves_keeps_them_and_says_what_it_costs() -> None:
    tree, findings = build(tree_cluster(*(f"core/l{i // 2}: n{i}" for i in range(40))), budget=10)
    assert len(tree) == 21
    assert [finding.id for finding in findings] == ["TOPO308"]


def zone_of_five(z: int) -> SwitchTree:
    """r ─┬─ s ─┬─ a; b
    └─ t  ┘"""
    children = {f"r{z}": [f"s{z}", f"t{z}"], f"s{z}": [f"a{z}", f"b{z}"]}
    return SwitchTree(f"r{z}", children, {f"{leaf}{z}": ["1", "2"] for leaf in "abt"})


def test_the_same_budget_serves_all_zones() -> None:
    trees = [zone_of_five(z) for z in range(3)]
    assert fit_budget(trees, 15) == []
    assert fit_budget(trees, 12) == ["s0", "s1"]


@pytest.mark.parametrize("budget", [1, 5, 13, 17, 21, 50])
def test_every_node_survives_any_budget(budget: int) -> None:
    nodes = wide(4, 4, 2)
    assert leaves(build(nodes, budget=budget)[0]) == sorted(node.name for node in nodes)
