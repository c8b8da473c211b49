"""The small scheduler: nobody gets a busy node, the first in the queue is never delayed, the truth is measured."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurm_topology.core.check import check_topology
from slurm_topology.core.errors import InputError
from slurm_topology.core.explain import forest_of
from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Severity, Switch, Tree
from slurm_topology.core.simulate import (
    Request,
    Run,
    WantedGroup,
    make_inventory,
    make_trace,
    measure,
    placer,
    read_trace,
    replay,
    true_network,
    variants,
)
from slurm_topology.core.slurm_version import SlurmVersion

VERSION = SlurmVersion(25, 11, 4)
NODES = [f"n{number:02d}" for number in range(12)]
LEAVES = [tuple(NODES[start : start + 4]) for start in (0, 4, 8)]
TREE = NamedTopology(
    "tree",
    Tree(
        (
            *(Switch(f"leaf{i}", (), nodes) for i, nodes in enumerate(LEAVES)),
            Switch("root", ("leaf0", "leaf1", "leaf2")),
        )
    ),
    True,
)
BLOCK = NamedTopology("block", Blocks((4,), tuple(Block(f"b{i}", nodes) for i, nodes in enumerate(LEAVES))), True)
FLAT = NamedTopology("flat", Flat(), True)
REQUESTS = st.lists(
    st.builds(
        Request, st.integers(1, 99), st.integers(1, 14), st.integers(1, 50), st.integers(0, 60)
    ),
    max_size=12,
    unique_by=lambda request: request.number,
)  # fmt: skip


@settings(deadline=None)
@given(REQUESTS, st.sampled_from([TREE, BLOCK, FLAT]))
def test_every_job_runs_once_on_nodes_of_its_own(requests: list[Request], topology: NamedTopology) -> None:
    runs = replay(NODES, requests, placer(topology, NODES))
    assert sorted(run.request for run in runs) == sorted(requests)
    for run in runs:
        assert len(set(run.nodes)) == len(run.nodes) == (run.request.node_count if run.nodes else 0)
        assert run.started >= run.request.submitted or not run.nodes
        assert bool(run.nodes) is (placer(topology, NODES)(NODES, run.request.node_count) is not None)
    held = [(node, run.started, run.ended) for run in runs for node in run.nodes]
    for index, (node, start, end) in enumerate(held):
        assert all(node != other or end <= begin or stop <= start for other, begin, stop in held[index + 1 :])


@settings(deadline=None)
@given(REQUESTS, st.sampled_from([TREE, BLOCK, FLAT]))
def test_backfill_never_delays_the_first_that_waits(requests: list[Request], topology: NamedTopology) -> None:
    """All are there from the beginning: the first that can't start then starts as if nobody were behind it."""
    place = placer(topology, NODES)
    in_order = [each._replace(submitted=0) for each in requests if place(NODES, each.node_count)]
    runs = replay(NODES, in_order, place)
    first = next((index for index, each in enumerate(in_order) if _start_of(each, runs) > 0), None)
    if first is not None:
        alone = replay(NODES, in_order[: first + 1], place)
        assert _start_of(in_order[first], runs) == _start_of(in_order[first], alone)


def _start_of(request: Request, runs: tuple[Run, ...]) -> int:
    return next(run.started for run in runs if run.request == request)


def test_a_large_job_is_passed_only_by_those_that_end_in_time() -> None:
    """8 of 12 nodes are busy until 100: job 2 (12 nodes) waits; a job of 50 s passes it, one of 150 s doesn't."""
    requests = [Request(1, 8, 100), Request(2, 12, 10), Request(3, 2, 50), Request(4, 2, 150)]
    started = {run.request.number: run.started for run in replay(NODES, requests, placer(FLAT, NODES))}
    assert started == {1: 0, 2: 100, 3: 0, 4: 110}


def test_trees_keep_jobs_together_that_no_topology_scatters() -> None:
    """Nodes n00, n04, n08 … are free in a row of names, but not under one leaf."""
    mixed = [node for leaf in zip(*LEAVES, strict=True) for node in leaf]
    forest = forest_of(TREE)
    flat, tree = placer(FLAT, mixed)(mixed, 3), placer(TREE, mixed)(mixed, 3)
    assert flat is not None
    assert tree is not None
    assert (len({forest.leaf_of[node] for node in flat}), len({forest.leaf_of[node] for node in tree})) == (3, 1)


def test_blocks_refuse_what_fits_into_no_block() -> None:
    runs = replay(NODES, [Request(1, 4, 10), Request(2, 13, 10)], placer(BLOCK, NODES))
    assert [bool(run.nodes) for run in runs] == [True, False]
    outcome = measure("block", forest_of(TREE), len(NODES), runs)
    assert (outcome.jobs, outcome.never, outcome.one_leaf_share, outcome.mean_leaves) == (1, 1, 1.0, 1.0)


def test_outcomes_are_measured_on_the_true_network() -> None:
    runs = (Run(Request(1, 2, 30), ("n00", "n04"), 0), Run(Request(2, 2, 30, 10), ("n08", "n09"), 30))
    outcome = measure("x", forest_of(TREE), 12, runs)
    assert (outcome.one_leaf_share, outcome.mean_leaves, outcome.mean_worst_hops) == (0.5, 1.5, 2.0)
    assert (outcome.mean_wait_seconds, outcome.last_end_seconds) == (10.0, 60)
    assert outcome.utilisation_share == pytest.approx(120 / (12 * 60))
    assert measure("nothing", forest_of(TREE), 12, ()).jobs == 0


def test_made_up_clusters_and_traces_are_the_same_every_time() -> None:
    wanted = [WantedGroup("train", "ml.p5.48xlarge", 70), WantedGroup("ultra", "ml.p6e-gb200.36xlarge", 20)]
    one, other = (make_inventory(wanted, seed=3) for _ in range(2))
    assert one == other
    assert len({node.name for node in one.nodes}) == 90
    assert {node.placement.ultraserver_id for node in one.nodes if node.group == "ultra"} == {"ultra-us0", "ultra-us1"}
    assert make_trace(90, 50, seed=3) == make_trace(90, 50, seed=3) != make_trace(90, 50, seed=4)
    assert max(request.node_count for request in make_trace(10, 50)) <= 5


def test_variants_follow_what_the_types_can_do() -> None:
    def labels(*types: str, sizes: tuple[tuple[int, ...], ...] = ()) -> list[str]:
        inventory = make_inventory([WantedGroup(f"g{index}", each, 20) for index, each in enumerate(types)])
        return [label for label, _ in variants(inventory, VERSION, sizes)]

    assert labels("ml.m5.4xlarge") == ["no topology"]
    assert labels("ml.p5.48xlarge") == ["no topology", "tree"]
    assert labels("ml.p6e-gb200.36xlarge") == ["no topology", "tree", "block 17"]
    assert labels("ml.p6e-gb200.36xlarge", sizes=((4,), (4, 8))) == ["no topology", "tree", "block 4", "block 4,8"]


@pytest.mark.parametrize("version", [SlurmVersion(24, 11, 5), VERSION], ids=str)
@given(st.lists(st.integers(1, 120), min_size=1, max_size=3, unique=True), st.integers(2, 60))
@settings(deadline=None, max_examples=30)
def test_a_row_is_what_its_label_says_or_an_error(version: SlurmVersion, sizes: list[int], count: int) -> None:
    """Every size that is asked for is the one simulated, in blocks; what slurmctld would refuse is no row."""
    inventory = make_inventory([WantedGroup("u", "ml.p6e-gb200.36xlarge", count)])
    try:
        label, topology = list(variants(inventory, version, [tuple(sizes)]))[-1]
    except InputError as error:
        label, topology = str(error), None
    if topology is None:
        assert ",".join(map(str, sizes)) in label.replace(", ", ",")
        return
    assert isinstance(topology.body, Blocks)
    assert (label, topology.body.block_sizes) == (f"block {','.join(map(str, sizes))}", tuple(sizes))
    errors = check_topology(ClusterTopology((topology,)), version, [node.name for node in inventory.nodes])
    assert [each for each in errors if each.severity is Severity.ERROR] == []


def test_a_block_size_that_is_too_large_shows_its_cost() -> None:
    """BlockSizes=100 over UltraServers of 17: whatever needs more than one of them is refused (as by 26.05.5)."""
    inventory = make_inventory([WantedGroup("u", "ml.p6e-gb200.36xlarge", 51)])
    label, topology = list(variants(inventory, VERSION, [(100,)]))[-1]
    names = [node.name for node in inventory.nodes]
    runs = replay(names, [Request(1, 17, 10), Request(2, 18, 10), Request(3, 51, 10)], placer(topology, names))
    assert (label, [bool(run.nodes) for run in runs]) == ("block 100", [True, False, False])


def test_what_takes_the_place_of_blocks_is_said() -> None:
    """Up to 24.11 a tree serves UltraServers of 17 and 1 better; a size that slurmctld would die of is an error."""
    uneven, old = make_inventory([WantedGroup("u", "ml.p6e-gb200.36xlarge", 18)]), SlurmVersion(24, 11, 5)
    assert [label for label, _ in variants(uneven, old)][-1] == "block → tree"
    with pytest.raises(InputError, match=r"block size 17: Slurm 24\.11\.5 wouldn't start with it"):
        list(variants(uneven, old, [(17,)]))


def test_the_true_network_has_a_leaf_for_each_ultraserver() -> None:
    inventory = make_inventory([WantedGroup("ultra", "ml.p6e-gb200.36xlarge", 40)])
    assert sorted(len(unit.nodes) for unit in true_network(inventory, VERSION).units if unit.nodes) == [6, 17, 17]


def test_bad_input_says_which_line() -> None:
    assert read_trace(["# a trace", "10 4 60", "0 8 30 # first"]) == (Request(3, 8, 30, 0), Request(2, 4, 60, 10))
    with pytest.raises(InputError, match="line 2"):
        read_trace(["0 1 1", "0 0 1"])
    with pytest.raises(InputError, match="no job"):
        read_trace(["", "# nothing"])
    with pytest.raises(InputError, match="not in the catalogue"):
        make_inventory([WantedGroup("x", "ml.none.large", 1)])
