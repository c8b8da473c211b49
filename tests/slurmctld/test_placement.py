"""Where the real scheduler puts jobs under the topologies that the core makes, and where it puts them under none.

``build/placement.json`` has the numbers afterwards: how many leaf switches or UltraServers each job spans with it and
without.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_cases import CASES
from slurm_lab import NotRunnable, Root, wait_for
from slurm_lab.fixtures import not_runnable
from slurm_topology.core.model import Blocks, Inventory, TopologyKind
from slurm_topology.core.pipeline import compute

from .placed_clusters import cpu, gb200, join, p5
from .placing import (
    EVERYBODY,
    Placing,
    Units,
    Want,
    busy_wants,
    case_inventory,
    leaves,
    members,
    rooms,
    some_of_each,
    spanned,
    ultraservers,
)

pytestmark = pytest.mark.slurm

BUILD = Path(__file__).parents[2] / "build"
WAITS_FOR_NODES = ("Resources", "No suitable topology unit found")  # the words of 24.11 and of 26.05
HYPERPOD, CLUSTERS = (Path(__file__).parents[1] / "cases" / name for name in ("hyperpod", "clusters"))


@pytest.fixture(scope="module")
def placing(slurm_root: Root) -> Iterator[Placing]:
    """Each packaged Slurm version in turn."""
    try:
        with Placing(slurm_root) as lab:
            yield lab
    except NotRunnable as reason:
        not_runnable(reason)


Record = Callable[[str, Placing, list[int], list[int], list[int]], None]


@pytest.fixture(scope="session")  # pytest may run all tests of one Slurm version before any of the other
def record() -> Iterator[Record]:
    """Take down how many units each job spans: (what, lab, sizes of the jobs, spans with topology, spans without)."""
    rows: list[dict[str, object]] = []

    def take(what: str, placing: Placing, sizes: list[int], with_it: list[int], without: list[int]) -> None:
        row = {"cluster": what, "slurm": str(placing.version), "job_nodes": sizes}
        rows.append({**row, "spanned_with_topology": with_it, "spanned_without": without})

    yield take
    BUILD.mkdir(exist_ok=True)
    (BUILD / "placement.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def with_room(units: Units, busy: Sequence[str], placed: Sequence[Sequence[str]]) -> list[bool]:
    """For each job, in the order of the scheduler: was there one unit that had room for all of it?"""
    taken, had_room = set(busy), []
    for nodes in placed:
        had_room.append(rooms(units, taken)[0] >= len(nodes))
        taken.update(nodes)
    return had_room


def assert_compact(units: Units, busy: Sequence[str], placed: Sequence[Sequence[str]]) -> None:
    """A job that one unit had room for is in one unit."""
    spans = [spanned(units, nodes) for nodes in placed]
    scattered = [
        (len(nodes), span)
        for nodes, span, room in zip(placed, spans, with_room(units, busy, placed), strict=True)
        if room and span > 1
    ]
    assert scattered == []


def compare(
    placing: Placing, inventory: Inventory, units: Units, busy: tuple[str, ...], sizes: list[int]
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The nodes of the same jobs, beside the same busy nodes, under our topology and under none."""
    others = busy_wants(units, busy)
    wants = [*others, *map(Want, sizes)]
    placing.begin(inventory)
    ours = placing.place(wants)[len(others) :]
    placing.begin(inventory, wanted=TopologyKind.FLAT)
    return ours, placing.place(wants)[len(others) :]


# ---- trees


def test_a_job_that_a_leaf_has_room_for_is_under_one_leaf(placing: Placing, record: Record) -> None:
    """80 nodes under ten leaves, 20 of them busy; a job of 17 first, which no leaf can hold."""
    inventory = p5([8] * 10)
    units = leaves(inventory)
    busy = tuple(node.name for node in inventory.nodes[::4])
    sizes = [17, 5, 3, 7, 4, 2, 6, 3, 2, 4]
    ours, flat = compare(placing, inventory, units, busy, sizes)
    spans, spans_flat = ([spanned(units, nodes) for nodes in placed] for placed in (ours, flat))
    record("tree: 10 leaves of 8, 20 nodes busy", placing, sizes, spans, spans_flat)
    assert_compact(units, busy, ours)
    assert sum(with_room(units, busy, ours)) >= 8
    assert spans[0] < spans_flat[0]
    assert sum(spans) * 2 < sum(spans_flat)


def test_a_job_of_two_leaves_is_below_one_spine(placing: Placing) -> None:
    """What the middle layer is for. One node is busy under each spine but the last."""
    inventory = p5([8] * 6)
    spines = {node.name: node.placement.network_nodes[-2] for node in inventory.nodes}
    busy = some_of_each(spines, 1)[:2]
    placing.begin(inventory)
    *_, nodes = placing.place([*busy_wants(leaves(inventory), busy), Want(16)])
    assert (spanned(spines, nodes), spanned(leaves(inventory), nodes)) == (1, 2)


def test_after_a_scale_up_new_nodes_belong_to_their_leaves(placing: Placing) -> None:
    """6 → 12 nodes in one reconfigure; nodes 5 to 8 share a leaf, half of them new."""
    placing.begin(case_inventory([HYPERPOD / "p5-scale-up.json"]))
    after = case_inventory([HYPERPOD / "p5-scale-up.after.json"])
    units = leaves(after)
    placing.change(after)
    busy = some_of_each(units, 1)
    placed = placing.place([*busy_wants(units, busy), Want(2), Want(3), Want(3)])[len(busy) :]
    assert_compact(units, busy, placed)
    assert all(with_room(units, busy, placed))


def test_after_a_replacement_the_node_belongs_to_its_new_leaf(placing: Placing) -> None:
    """The node keeps its name and moves to the last leaf, which then has five nodes: a job of five needs it."""
    before, after = (case_inventory([HYPERPOD / name]) for name in ("p5-16.json", "p5-16.after.json"))
    (moved,) = (node for node, leaf in leaves(after).items() if leaves(before)[node] != leaf)
    placing.begin(before)
    placing.change(after)
    (nodes,) = placing.place([Want(5)])
    assert moved in nodes
    assert spanned(leaves(after), nodes) == 1


def test_no_job_spans_two_zones(placing: Placing) -> None:
    """EFA can't. Without topology the same job is taken."""
    inventory = case_inventory(sorted((CLUSTERS / "two-zones").glob("*.json")))
    zones = {node.name: str(node.placement.zone) for node in inventory.nodes}
    largest = max(Counter(zones.values()).values())
    busy = some_of_each(zones, 1)
    others = busy_wants(zones, busy)
    placing.begin(inventory)
    assert placing.possible([Want(largest)]) == []
    assert len(placing.possible([Want(largest + 1)])) == 1
    placed = placing.place([*others, Want(4), Want(3), Want(2)])
    assert [spanned(zones, nodes) for nodes in placed] == [1] * len(placed)
    placing.begin(inventory, wanted=TopologyKind.FLAT)
    assert placing.possible([Want(largest + 1)]) == []


# ---- blocks


def test_a_job_up_to_the_block_size_is_inside_one_ultraserver(placing: Placing, record: Record) -> None:
    """Four UltraServers of 18, three nodes busy in each."""
    inventory = gb200([18] * 4)
    units = ultraservers(inventory)
    busy = some_of_each(units, 3)
    sizes = [12, 9, 11, 3, 6, 4, 6, 3]
    ours, flat = compare(placing, inventory, units, busy, sizes)
    spans, spans_flat = ([spanned(units, nodes) for nodes in placed] for placed in (ours, flat))
    record("blocks: 4 UltraServers of 18, 3 nodes busy in each", placing, sizes, spans, spans_flat)
    assert spans == [1] * len(sizes)
    assert sum(spans) * 2 < sum(spans_flat)


def test_a_job_that_no_ultraserver_has_room_for_waits_instead_of_crossing(placing: Placing) -> None:
    """Nine nodes are free in each of two UltraServers; without topology a job of ten starts at once."""
    inventory = gb200([18, 18])
    units = ultraservers(inventory)
    busy = some_of_each(units, 9)
    others = busy_wants(units, busy)
    placing.begin(inventory)
    placing.place(others)
    job = placing.lab.jobs.submit(10)
    wait_for(lambda: placing.lab.jobs.get(job).reason in WAITS_FOR_NODES, f"job {job} waits for nodes")
    placing.begin(inventory, wanted=TopologyKind.FLAT)
    *_, crossing = placing.place([*others, Want(10)])
    assert spanned(units, crossing) == 2


def test_with_a_spare_in_each_ultraserver_seventeen_nodes_are_one_job(placing: Placing) -> None:
    inventory = case_inventory([HYPERPOD / "gb200-with-spares.json"])
    placing.begin(inventory)
    placed = placing.place([Want(17), Want(17)])
    assert [spanned(ultraservers(inventory), nodes) for nodes in placed] == [1, 1]


def test_an_ultraserver_that_has_filled_up_takes_jobs_of_its_full_size(placing: Placing) -> None:
    """18 + 2 nodes become 18 + 18 in one reconfigure; on 24.11 the tree becomes blocks by it."""
    placing.begin(case_inventory([HYPERPOD / "gb200-partly-filled.json"]))
    after = case_inventory([HYPERPOD / "gb200-two-ultraservers.json"])
    rendering = placing.change(after)
    assert isinstance(rendering.topology.topologies[0].body, Blocks)
    placed = placing.place([Want(18), Want(18)])
    assert [spanned(ultraservers(after), nodes) for nodes in placed] == [1, 1]


def test_a_lowered_block_size_keeps_jobs_inside_an_ultraserver_that_has_room(placing: Placing) -> None:
    """UltraServers that are not full lower the base (24.11: make it a tree), so jobs above the base may be split. A
    job that fits into one must not be."""
    inventory = gb200([17, 17, 5, 5], spares=1)
    units = ultraservers(inventory)
    placing.begin(inventory)
    placed = placing.place([Want(15), Want(5), Want(16), Want(4)])
    assert_compact(units, (), placed)
    assert all(with_room(units, (), placed))


# ---- partitions


def mixed() -> Inventory:
    """p5, GB200 and CPU nodes in one cluster, a partition each, and one of everybody for development."""
    every_group = ("cpu", "train", "ultra")
    partitions = {"cpu": ("cpu",), "train": ("train",), "ultra": ("ultra",), "dev": every_group}
    return join(p5([8, 8, 8]), gb200([18, 18]), cpu(4), partitions=partitions)


def test_each_partition_of_a_mixed_cluster_is_placed_by_its_own_topology(placing: Placing, record: Record) -> None:
    """From 25.05 on tree, blocks and flat side by side; before, one tree that holds them all."""
    inventory = mixed()
    units = {**leaves(inventory), **ultraservers(inventory), **dict.fromkeys(members(inventory, "cpu"), "cpu")}
    sizes = {"train": [5, 6, 3, 7, 2], "ultra": [11, 10, 7, 8], "cpu": [4]}
    wants = [Want(size, partition) for partition, some in sizes.items() for size in some]
    rendering = placing.begin(inventory)
    spans = [spanned(units, nodes) for nodes in placing.place(wants)]
    placing.begin(inventory, wanted=TopologyKind.FLAT)
    spans_flat = [spanned(units, nodes) for nodes in placing.place(wants)]
    what = "mixed: 3 leaves of 8, 2 UltraServers of 18, 4 CPU nodes"
    record(what, placing, [want.nodes for want in wants], spans, spans_flat)
    own = {"train": "tree", "ultra": "block"} if placing.version.has_topology_yaml else {}
    assert rendering.topology.partitions == own
    assert spans == [1] * len(wants)
    assert sum(spans_flat) > sum(spans)


def test_every_partition_of_a_mixed_cluster_takes_jobs_of_every_size(placing: Placing) -> None:
    inventory = mixed()
    placing.begin(inventory)
    wants = [
        Want(size, partition.name)
        for partition in inventory.partitions
        for size in range(1, len(members(inventory, partition.name)) + 1)
    ]
    assert placing.possible(wants) == []


# ---- every node of every case


def test_every_node_of_every_case_is_usable_alone_and_all_of_them_together(placing: Placing) -> None:
    """Nodes in catch-all leaves too; all together means in one zone, as no job spans two."""
    unusable = {}
    for case in CASES:
        inventory = case_inventory(case.sources)
        if inventory.nodes:
            placing.begin(inventory)
            unusable[case.name] = placing.possible(
                [*(Want(1, on=(node.name,)) for node in inventory.nodes), *whole_partitions(inventory)]
            )
    assert len(unusable) >= 17
    assert {name: said for name, said in unusable.items() if said} == {}


def whole_partitions(inventory: Inventory) -> Iterator[Want]:
    zone = {node.name: node.placement.zone for node in inventory.nodes}
    everybody = [(EVERYBODY, tuple(zone))]
    for name, nodes in [*everybody, *((each.name, members(inventory, each.name)) for each in inventory.partitions)]:
        yield Want(max(Counter(zone[node] for node in nodes).values()), name)


def test_a_node_left_out_would_be_seen(placing: Placing) -> None:
    """The test above can fail: with a tree that lacks a node slurmctld refuses jobs."""
    inventory = case_inventory([HYPERPOD / "p5-scale-up.json"])
    placing.begin(inventory)
    text = compute(replace(inventory, nodes=inventory.nodes[1:]), placing.version).text
    assert text is not None
    placing.lab.write_topology(text)
    assert placing.lab.reconfigure().accepted
    alone = placing.possible([Want(1, on=(inventory.nodes[0].name,))])
    assert len(placing.possible(whole_partitions(inventory))) == 1
    assert len(alone) == (0 if placing.version >= (26, 5) else 1)
