"""Placed jobs, waiting jobs and fragmentation on one small cluster whose right answers can be seen at a glance.

::

    root ── s1 ── leaf1: a1 a2 a3 a4        root ── s2 ── leaf3: c1 c2 c3 c4
              └── leaf2: b1 b2 b3 b4                 └── leaf4: d1 d2 d3 d4
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.clusters import every_choice, trees
from slurm_topology.core.explain import (
    Context,
    Job,
    JobPhase,
    NodeFacts,
    NodeState,
    Snapshot,
    Verdict,
    Waiting,
    explain_nodes,
    explain_pending,
    explain_placed,
    forest_of,
    fragmentation,
)
from slurm_topology.core.model import (
    Block,
    Blocks,
    ClusterTopology,
    Flat,
    NamedTopology,
    Partition,
    Switch,
    Tree,
)

LEAVES = {f"leaf{number}": [f"{letter}{index}" for index in range(1, 5)] for number, letter in enumerate("abcd", 1)}
NODES = [node for nodes in LEAVES.values() for node in nodes]
TREE = NamedTopology(
    "tree",
    Tree(
        (
            *(Switch(name, (), tuple(nodes)) for name, nodes in LEAVES.items()),
            Switch("s1", ("leaf1", "leaf2")),
            Switch("s2", ("leaf3", "leaf4")),
            Switch("root", ("s1", "s2")),
        )
    ),
    True,
)
BLOCK = NamedTopology("block", Blocks((4, 8, 16), tuple(Block(n, tuple(nodes)) for n, nodes in LEAVES.items())), True)
NOON, LATER = "2026-12-01T12:00:00", "2026-12-01T13:00:00"


def job(number: int, nodes: Iterable[str] = (), **facts: object) -> Job:
    held = tuple(nodes)
    phase = JobPhase.RUNNING if held else JobPhase.PENDING
    common = Job(str(number), str(number), "name", "ada", ("p",), phase, phase.value.upper(), "", held, len(held), NOON)
    return common._replace(started=NOON if held else None)._replace(**facts)  # type: ignore[arg-type]


def cluster(*jobs: Job, away: Iterable[str] = (), topology: NamedTopology = TREE, **facts: object) -> Context:
    held = {node for each in jobs if each.phase is JobPhase.RUNNING for node in each.nodes}
    nodes = {}
    for name in NODES:
        state = NodeState.ALLOCATED if name in held else NodeState.IDLE
        nodes[name] = NodeFacts(name, state, partitions=("p",))
        if name in set(away):
            nodes[name] = NodeFacts(name, NodeState.DRAINED, partitions=("p",), reason="ecc", **facts)  # type: ignore[arg-type]
    return Context(Snapshot(ClusterTopology((topology,)), nodes, jobs, (Partition("p", nodes=tuple(NODES)),)))


# ---- placed


def test_a_job_in_one_leaf_cannot_be_nearer() -> None:
    found = explain_placed(cluster(job(1, ["a1", "a2"])), job(1, ["a1", "a2"]))
    assert found.verdict is Verdict.BEST
    assert found.score.worst_hops == 1
    assert found.obstacle is None


def test_a_scattered_job_with_a_free_leaf_beside_it_could_have_been_nearer() -> None:
    mine = job(1, ["a1", "c1"])
    found = explain_placed(cluster(mine), mine)
    assert found.verdict is Verdict.BETTER_WAS_FREE
    assert found.possible is not None
    assert found.possible.leaves == ("leaf1",)
    assert any("MinJobAge" in caveat for caveat in found.caveats)


def test_what_stood_in_the_way_is_named() -> None:
    """Every leaf has at most one free node: others' jobs and a drained node are why."""
    mine = job(1, ["a1", "b1"])
    others = [job(2, ["a2", "a3", "b2", "b3"]), job(3, ["c1", "c2", "c3", "d1", "d2", "d3"])]
    found = explain_placed(cluster(mine, *others, away=["a4", "b4"]), mine)
    assert found.verdict is Verdict.BEST_FREE
    assert found.ideal is not None
    assert found.ideal.worst_hops == 1
    assert found.obstacle is not None
    assert (found.obstacle.unit, found.obstacle.capacity, found.obstacle.free) == ("leaf1", 4, 1)
    assert found.obstacle.jobs == {"2": 2}
    assert found.obstacle.out_of_service == {"a4": "ecc"}


def test_what_was_free_is_judged_at_the_start_of_the_job() -> None:
    """A job that ended before is no obstacle; one that ended later was one; a node drained later was free then."""
    mine = job(1, ["a1", "c1"])
    ended_before = job(2, ["a2", "a3", "a4"], phase=JobPhase.ENDED, started="2026-12-01T10:00:00", ended=NOON)
    ended_later = replace_ended(ended_before, LATER)
    drained_later = {"away": ["b1", "b2", "b3", "b4"], "reason_since": LATER}
    assert explain_placed(cluster(mine, ended_before), mine).verdict is Verdict.BETTER_WAS_FREE
    context = cluster(mine, ended_later, **drained_later)  # type: ignore[arg-type]
    assert context.free_when_started(mine) >= {"b1", "b2", "b3", "b4", "a1", "c1"}
    assert not context.free_when_started(mine) & {"a2", "a3", "a4"}


def replace_ended(one: Job, moment: str) -> Job:
    return one._replace(ended=moment)


def test_excluded_nodes_and_nodelist_are_taken_into_account() -> None:
    mine = job(1, ["a1", "c1"], excluded_nodes=tuple(NODES[1:8]), required_nodes=("a1",))
    found = explain_placed(cluster(mine), mine)
    assert found.possible is not None
    assert found.possible.leaves == ("leaf3",)
    assert any("--nodelist" in caveat for caveat in found.caveats)


def test_nodes_in_different_roots_or_outside_have_no_way() -> None:
    apart = NamedTopology("tree", Tree((Switch("leaf1", (), ("a1", "a2")), Switch("leaf2", (), ("b1",)))), True)
    mine = job(1, ["a1", "b1"])
    assert explain_placed(cluster(mine, topology=apart), mine).verdict is Verdict.NO_WAY
    outside = job(1, ["a1", "a2", "d4"])
    found = explain_placed(cluster(outside, topology=apart), outside)
    assert found.verdict is Verdict.NO_WAY
    assert found.score.unplaced == ("d4",)


def test_flat_knows_no_distances() -> None:
    mine = job(1, ["a1", "c1"])
    assert (
        explain_placed(cluster(mine, topology=NamedTopology("flat", Flat(), True)), mine).verdict is Verdict.NO_TOPOLOGY
    )


def test_a_partition_has_its_own_topology() -> None:
    """The partition's live topology counts, then the file's, then the default."""
    context = cluster(job(1, ["a1"]))
    both = ClusterTopology((TREE, replace(BLOCK, cluster_default=False)), {"p": "block"})
    assert Context(replace(context.snapshot, topology=both)).topology_of("p") == both.topologies[1]
    live = (Partition("p", nodes=tuple(NODES), topology="tree"),)
    assert Context(replace(context.snapshot, topology=both, partitions=live)).topology_of("p") == TREE
    assert Context(replace(context.snapshot, topology=both)).topology_of("other") == TREE


def test_any_nodes_are_compared_with_what_is_free_now() -> None:
    context = cluster(job(1, ["b2", "b3", "b4"]), away=["a2", "a3", "a4"])
    found = explain_nodes(context, ["a1", "b1"])
    assert found.verdict is Verdict.BETTER_WAS_FREE
    assert explain_nodes(context, ["c1", "c4"]).verdict is Verdict.BEST


@settings(deadline=None)
@given(trees(8), st.data())
def test_the_verdict_is_what_trying_everything_says(topology: NamedTopology, data: st.DataObject) -> None:
    forest = forest_of(topology)
    everyone = sorted(forest.leaf_of)
    held = data.draw(st.sets(st.sampled_from(everyone), min_size=1))
    away = data.draw(st.sets(st.sampled_from(everyone))) - held
    mine = job(1, sorted(held))
    states = {name: NodeState.DRAINED if name in away else NodeState.IDLE for name in everyone}
    nodes = {name: NodeFacts(name, state) for name, state in states.items()}
    context = Context(Snapshot(ClusterTopology((topology,)), nodes, (mine,), (Partition("p", nodes=tuple(everyone)),)))
    own = every_choice(forest, held, len(held))
    possible = every_choice(forest, set(everyone) - away, len(held))
    ideal = every_choice(forest, everyone, len(held))
    expected = Verdict.NO_WAY
    if own:
        expected = (
            Verdict.BEST
            if own[0] == min(ideal)
            else Verdict.BEST_FREE
            if own[0] == min(possible)
            else Verdict.BETTER_WAS_FREE
        )
    assert explain_placed(context, mine).verdict is expected


# ---- pending


def test_a_job_larger_than_its_partition_never_starts() -> None:
    found = explain_pending(cluster(), job(1, node_count=17))
    assert found.waiting is Waiting.NEVER


def test_too_few_free_nodes() -> None:
    found = explain_pending(cluster(job(2, NODES[:10])), job(1, node_count=8))
    assert (found.waiting, found.free) == (Waiting.NODES, 6)


def test_switches_keep_it_waiting_though_enough_nodes_are_free() -> None:
    busy = [job(2, ["a1", "b1", "c1", "d1"])]
    found = explain_pending(cluster(*busy), job(1, node_count=4, switches=1, switches_wait="00:05:00"))
    assert found.waiting is Waiting.TOPOLOGY
    switches = next(demand for demand in found.demands if demand.name == "switches")
    assert "the free nodes need 2, an empty cluster 1" in switches.text
    assert found.hints[0].endswith("scontrol update JobId=1 Switches=2")


def test_a_block_job_waits_for_one_block() -> None:
    busy = [job(2, ["a1", "b1", "c1", "d1"])]
    found = explain_pending(cluster(*busy, topology=BLOCK), job(1, node_count=4))
    assert found.waiting is Waiting.TOPOLOGY
    assert found.demands[-1].text == "4 nodes in one block of 4: the most that are free in one is 3"
    smaller = explain_pending(cluster(*busy, topology=BLOCK), job(1, node_count=3))
    assert smaller.waiting is Waiting.OTHER


def test_segments_and_whole_blocks() -> None:
    busy = [job(2, ["a1", "b1", "c1"])]
    segments = explain_pending(cluster(*busy, topology=BLOCK), job(1, node_count=8, segment=4))
    assert (segments.waiting, segments.demands[-1].name) == (Waiting.TOPOLOGY, "segment")
    whole = explain_pending(cluster(*busy, topology=BLOCK), job(1, node_count=3, exclusive_topology=True))
    assert whole.waiting is Waiting.OTHER
    two = explain_pending(cluster(*busy, topology=BLOCK), job(1, node_count=5, exclusive_topology=True))
    assert two.waiting is Waiting.TOPOLOGY


def test_disconnected_roots_hold_a_job_back_for_ever() -> None:
    apart = NamedTopology(
        "tree", Tree((Switch("one", (), tuple(NODES[:8])), Switch("two", (), tuple(NODES[8:])))), True
    )
    found = explain_pending(cluster(topology=apart), job(1, node_count=9))
    assert found.waiting is Waiting.NEVER


def test_a_job_held_by_an_earlier_topology_is_released_by_name() -> None:
    found = explain_pending(cluster(), job(7, node_count=4, reason="BadConstraints"))
    assert "scontrol release 7" in found.hints[0]


def test_other_reasons_are_slurms_own() -> None:
    found = explain_pending(cluster(), job(1, node_count=4, reason="Priority"))
    assert (found.waiting, found.hints) == (Waiting.OTHER, ("Slurm's own reason is Priority",))
    flat = explain_pending(cluster(topology=NamedTopology("flat", Flat(), True)), job(1, node_count=4))
    assert [demand.name for demand in flat.demands] == ["nodes"]


@settings(deadline=None)
@given(trees(8), st.data())
def test_switches_are_counted_as_trying_everything_does(topology: NamedTopology, data: st.DataObject) -> None:
    forest = forest_of(topology)
    everyone = sorted(forest.leaf_of)
    free = data.draw(st.sets(st.sampled_from(everyone)))
    count, switches = data.draw(st.integers(1, len(everyone))), data.draw(st.integers(1, 3))
    nodes = {name: NodeFacts(name, NodeState.IDLE if name in free else NodeState.DRAINED) for name in everyone}
    context = Context(Snapshot(ClusterTopology((topology,)), nodes, (), (Partition("p", nodes=tuple(everyone)),)))
    found = explain_pending(context, job(1, node_count=count, switches=switches))
    leaves = [
        len({forest.leaf_of[node] for node in chosen})
        for chosen in combinations(sorted(free), count)
        if all(forest.distance(one, other) is not None for one, other in combinations(chosen, 2))
    ]
    met = next(demand.met for demand in found.demands if demand.name == "switches")
    assert met is (bool(leaves) and min(leaves) <= switches)


# ---- fragmentation


def test_scattered_free_nodes_are_told_from_gathered_ones() -> None:
    gathered = fragmentation(cluster(job(1, NODES[:12])), TREE)
    scattered = fragmentation(cluster(job(1, [node for node in NODES if not node.endswith("4")])), TREE)
    assert (gathered.free, gathered.largest_free, gathered.scattered) == (4, 4, 0.0)
    assert (scattered.free, scattered.largest_free, scattered.scattered) == (4, 1, 0.75)
    four = {row.node_count: row for row in scattered.sizes}[4]
    assert four.now is not None
    assert (four.now.worst_hops, four.empty and four.empty.worst_hops, four.starts_now) == (5, 1, True)


def test_a_block_topology_refuses_what_is_scattered() -> None:
    report = fragmentation(cluster(job(1, [node for node in NODES if not node.endswith("4")]), topology=BLOCK), BLOCK)
    assert {row.node_count: row.starts_now for row in report.sizes} == {
        1: True,
        2: False,
        4: False,
        8: False,
        16: False,
    }


@pytest.mark.parametrize("topology", [TREE, BLOCK])
def test_an_idle_cluster_is_not_fragmented(topology: NamedTopology) -> None:
    report = fragmentation(cluster(topology=topology, away=["a1"]), topology)
    assert (report.nodes, report.free, report.out_of_service, report.scattered) == (16, 15, 1, 0.0)
    assert [row.free for row in report.leaves] == [3, 4, 4, 4]
