"""Blocks: one per UltraServer, in an order that means something, of a size that refuses no job."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurm_topology.core.block_rule import block_fit, largest_fit, refused_sizes
from slurm_topology.core.block_size import block_counts, feasible_base, lower
from slurm_topology.core.blocks import build_blocks, levels
from slurm_topology.core.model import Block, Blocks, Node, Placement
from slurm_topology.core.places import places_of

from .clusters import ids, tree_cluster, ultra_cluster


def test_a_block_per_ultraserver() -> None:
    blocks, findings = build_blocks(places_of(ultra_cluster(us2=2, us1=1)), (18,))
    assert blocks.blocks == (Block("us1", ("us1-1",)), Block("us2", ("us2-1", "us2-2")))
    assert blocks.block_sizes == (18,)
    assert findings == ()


def test_blocks_below_one_switch_are_neighbours() -> None:
    """Slurm aggregates consecutive lines, so the order of ids alone would mix the two spines."""
    nodes = [*ultra_cluster(us1=1, us3=1, spine="sp-b"), *ultra_cluster(us2=1, us4=1, spine="sp-a")]
    blocks, _ = build_blocks(places_of(nodes), (1,))
    assert [block.name for block in blocks.blocks] == ["us2", "us4", "us1", "us3"]


def test_a_replaced_node_moves_no_block() -> None:
    """Also while its labels are missing, or those of the old instance linger: the majority decides."""
    nodes = ultra_cluster(us1=3, us2=3)
    order = [block.name for block in build_blocks(places_of(nodes), (3,))[0].blocks]
    for path in ((), ("core", "elsewhere", "leaf")):
        nodes[0] = Node("us1-1", "i-new", None, "ultra", Placement(path, "us1"))
        assert [block.name for block in build_blocks(places_of(nodes), (3,))[0].blocks] == order


def test_nodes_without_ultraserver_are_in_a_catch_all_block_at_the_end() -> None:
    nodes = [*tree_cluster(": a", "core/x: b"), *ultra_cluster(zz=2)]
    blocks, findings = build_blocks(places_of(nodes), (2,))
    assert blocks.blocks[-1] == Block("unplaced", ("a", "b"))
    assert [(finding.id, finding.subject) for finding in findings] == [("TOPO314", "a")]


def test_several_zones_are_grouped_and_warned_about() -> None:
    nodes = [
        *ultra_cluster(us1=1, us3=1, zone="z2"),
        *ultra_cluster(us2=1, zone="z1"),
        *tree_cluster(": x", zone="z2"),
    ]
    blocks, findings = build_blocks(places_of(nodes), (1,))
    assert [block.name for block in blocks.blocks] == ["us2", "us1", "us3", "unplaced-z2"]
    assert ids(findings) == ["TOPO314", "TOPO315"]


@pytest.mark.parametrize(
    ("wanted", "counts", "base"),
    [
        (18, [18, 18], 18),
        (18, [17, 17], 17),
        (18, [18, 2], 18),
        (18, [9, 2], 9),
        (17, [17, 17, 5, 5], 13),
        (17, [17, 2, 2, 2], 7),
        (18, [9], 18),
        (18, [], 18),
        (18, [1, 1], 1),
        (9, [18, 18], 9),
        (17, [17, 17, 17, 3], 17),
    ],
)
def test_the_largest_base_that_refuses_no_job(wanted: int, counts: list[int], base: int) -> None:
    """The first numbers were tried on slurmctld 24.11.5 and 26.05.5: one more, and some jobs are refused."""
    assert feasible_base(wanted, counts) == base


@given(st.integers(1, 40), st.lists(st.integers(1, 20), max_size=8))
@settings(max_examples=200, deadline=None)
def test_every_job_size_has_a_place_and_no_larger_base_gives_one(wanted: int, sizes: list[int]) -> None:
    """slurmctld gives a job of N nodes at most ⌈N / base⌉ blocks."""
    counts = sorted(sizes, reverse=True)

    def all_fit(base: int) -> bool:
        return all(sum(counts[: -(-job // base)]) >= job for job in range(1, sum(counts) + 1))

    base = feasible_base(wanted, counts)
    assert all_fit(base)
    assert base == wanted or not all_fit(base + 1)


def test_block_counts_are_those_of_the_blocks() -> None:
    nodes = ultra_cluster(us1=3, us2=5, zone="z1") + tree_cluster(": x y", zone="z1") + tree_cluster(": w")
    blocks, _ = build_blocks(places_of(nodes), (5,))
    assert sorted((len(block.nodes) for block in blocks.blocks), reverse=True) == [5, 3, 2, 1]
    assert block_counts(places_of(nodes)) == [5, 3, 2, 1]


def test_levels() -> None:
    assert levels(17, 3) == (17, 34, 68)
    assert lower((18, 36), 17) == (17, 34)
    assert lower((18, 36), 20) == (18, 36)


@pytest.mark.parametrize(
    ("sizes", "counts", "largest"),
    [
        ((17,), [17] * 5, 85),
        ((17, 34, 68), [17] * 5, 68),
        ((17, 34), [18, 18, 2], 36),
        ((17, 34, 68), [17] * 4, 68),
        ((18, 36), [18], 18),
    ],
)
def test_higher_levels_refuse_large_jobs(sizes: tuple[int, ...], counts: list[int], largest: int) -> None:
    """Tried on slurmctld 24.11.5 and 26.05.5."""
    assert largest_fit(Blocks(sizes), counts) == largest


@settings(max_examples=400)
@given(
    base=st.integers(1, 5),
    spans=st.lists(st.sampled_from([2, 4, 8, 16]), unique=True, max_size=3),
    unset=st.booleans(),
    counts=st.lists(st.integers(0, 7), max_size=20),
)
def test_the_largest_job_and_those_that_are_refused(
    base: int, spans: list[int], unset: bool, counts: list[int]
) -> None:
    """By trying each size; tests/slurmctld/test_largest_job.py asks slurmctld."""
    sizes = () if unset else (base, *(base * span for span in sorted(spans)))
    blocks = Blocks(sizes, tuple(Block(f"b{n}", ("n",) * count) for n, count in enumerate(counts)))
    possible = [size for size in range(1, sum(counts) + 1) if block_fit(blocks, counts, size).fits]
    assert largest_fit(blocks, counts) == max(possible, default=0)
    refused = [size for run in refused_sizes(blocks, counts) for size in run]
    assert refused == [size for size in range(1, sum(counts) + 1) if size not in possible]


def test_what_is_refused_is_not_always_the_largest() -> None:
    assert refused_sizes(Blocks((17,)), [17, 17, 15, 15, 15]) == [range(50, 52), range(65, 69)]
    assert refused_sizes(Blocks((100,)), [18, 18, 18]) == [range(19, 55)]
    assert refused_sizes(Blocks((18, 36)), [18, 18, 18]) == [range(37, 55)]
    assert refused_sizes(Blocks((18,)), [18, 18, 18]) == []
