"""Scores and best places against trying every pair and every set of nodes of small clusters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.clusters import blocks, distances_by_walking, every_choice, trees
from slurm_topology.core.explain import best_place, forest_of, score
from slurm_topology.core.model import Block, Blocks, Flat, NamedTopology, Switch, Tree

ANY = trees() | blocks()
TWO_LEVELS = NamedTopology(
    "tree",
    Tree(
        (
            Switch("leaf1", (), ("a1", "a2")),
            Switch("leaf2", (), ("b1", "b2")),
            Switch("leaf3", (), ("c1", "c2", "c3")),
            Switch("mid1", ("leaf1", "leaf2")),
            Switch("root", ("mid1", "leaf3")),
        )
    ),
    True,
)


@settings(deadline=None)
@given(ANY, st.data())
def test_a_score_is_what_every_pair_says(topology: NamedTopology, data: st.DataObject) -> None:
    forest = forest_of(topology)
    nodes = data.draw(st.sets(st.sampled_from(sorted(forest.leaf_of)))) if forest.leaf_of else set()
    hops = distances_by_walking(forest, nodes)
    found = score(forest, nodes)
    assert found.node_count == len(nodes)
    assert len(found.leaves) == len({forest.leaf_of[node] for node in nodes})
    if None in hops:
        assert (found.worst_hops, found.mean_hops, found.holder) == (None, None, None)
        assert found.worst_pair is not None
        assert forest.distance(*found.worst_pair) is None
    elif hops:
        known = [hop for hop in hops if hop is not None]
        assert found.worst_hops == max(known)
        assert found.mean_hops == pytest.approx(sum(known) / len(known))
        assert found.worst_pair is not None
        assert forest.distance(*found.worst_pair) == max(known)


@settings(deadline=None)
@given(ANY, st.data())
def test_no_set_of_nodes_is_better_than_the_best_place(topology: NamedTopology, data: st.DataObject) -> None:
    forest = forest_of(topology)
    available = data.draw(st.sets(st.sampled_from(sorted(forest.leaf_of)))) if forest.leaf_of else set()
    count = data.draw(st.integers(1, max(1, len(available))))
    required = data.draw(st.sets(st.sampled_from(sorted(forest.leaf_of)), max_size=3)) if forest.leaf_of else set()
    place = best_place(forest, available, count, required)
    ranks = every_choice(forest, available, count, required)
    if place is None:
        assert ranks == []
        return
    assert place.rank == min(ranks)
    assert len(place.nodes) == count
    assert required <= set(place.nodes) <= available
    scored = score(forest, place.nodes)
    assert (scored.worst_hops, scored.leaves, scored.holder) == (place.worst_hops, place.leaves, place.holder)


@settings(deadline=None)
@given(ANY)
def test_a_forest_keeps_every_node_and_lies_depth_first(topology: NamedTopology) -> None:
    forest = forest_of(topology)
    body = topology.body
    assert not isinstance(body, Flat)
    written = [node for unit in (body.switches if isinstance(body, Tree) else body.blocks) for node in unit.nodes]
    assert sorted(forest.leaf_of) == sorted(written)
    for index, unit in enumerate(forest.units):
        assert all(index < child < forest.ends[index] for child in unit.children)
        assert all(forest.units[child].parent == index for child in unit.children)
        assert unit.height == max((forest.units[child].height + 1 for child in unit.children), default=0)


def test_heights_count_from_the_leaf_so_that_a_collapsed_chain_is_no_shortcut() -> None:
    """leaf3 hangs directly under the root; its nodes are as far from leaf1's as if its chain had been written."""
    forest = forest_of(TWO_LEVELS)
    assert forest.distance("a1", "a2") == 1
    assert forest.distance("a1", "b1") == 3
    assert forest.distance("a1", "c1") == 5
    assert forest.distance("a1", "elsewhere") is None


def test_units_spanned_are_counted_level_by_level() -> None:
    found = score(forest_of(TWO_LEVELS), ["a1", "b1", "c1", "lost"])
    assert found.spanned == (3, 1, 1)
    assert found.holder == "root"
    assert found.unplaced == ("lost",)


def test_the_best_place_is_the_lowest_and_then_the_tightest() -> None:
    """Two nodes fit into every leaf; the one that stays full is taken, not the larger one."""
    place = best_place(forest_of(TWO_LEVELS), ["a1", "a2", "b1", "c1", "c2", "c3"], 2)
    assert place is not None
    assert place.leaves == ("leaf1",)


def test_foreign_files_with_two_parents_loops_and_twins_are_survived() -> None:
    odd = Tree(
        (
            Switch("top", ("one", "two")),
            Switch("two", ("one", "top", "two")),
            Switch("one", (), ("n1", "n1", "n2")),
            Switch("twin", (), ("n2", "n3")),
            Switch("one", (), ("n9",)),
        )
    )
    forest = forest_of(NamedTopology("odd", odd))
    assert [unit.name for unit in forest.units] == ["top", "one", "two", "twin"]
    assert dict(forest.leaf_of) == {"n1": 1, "n2": 1, "n3": 3}


def test_consecutive_blocks_make_aggregates_and_the_last_may_be_short() -> None:
    body = Blocks((2, 4), tuple(Block(f"b{index}", (f"n{index}a", f"n{index}b")) for index in range(5)))
    forest = forest_of(NamedTopology("block", body))
    assert [unit.name for unit in forest.units if unit.height] == ["all blocks", "b0 … b1", "b2 … b3"]
    assert [forest.distance("n0a", other) for other in ("n0b", "n1a", "n2a", "n4a")] == [1, 3, 5, 5]


def test_flat_holds_everybody_in_one_unit() -> None:
    forest = forest_of(NamedTopology("flat", Flat()), ["n1", "n2"])
    assert forest.distance("n1", "n2") == 1
    assert forest_of(NamedTopology("flat", Flat())).units == ()


@pytest.mark.parametrize("depth", [2_000])
def test_a_long_chain_needs_no_recursion(depth: int) -> None:
    switches = [Switch(f"s{index}", (f"s{index + 1}",)) for index in range(depth)]
    forest = forest_of(NamedTopology("chain", Tree((*switches, Switch(f"s{depth}", (), ("n1", "n2"))))))
    assert forest.nodes_under(0) == ["n1", "n2"]
    assert score(forest, ["n1", "n2"]).holder == f"s{depth}"
