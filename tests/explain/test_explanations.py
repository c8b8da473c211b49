"""Placed jobs and fragmentation on one small cluster whose right answers can be seen at a glance (small.py)."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.clusters import every_choice, trees
from explain.small import BLOCK, LATER, NODES, NOON, TREE, cluster, job
from slurm_topology.core.explain import (
    Context,
    Job,
    JobPhase,
    NodeFacts,
    NodeState,
    Snapshot,
    Verdict,
    explain_nodes,
    explain_pending,
    explain_placed,
    forest_of,
    fragmentation,
)
from slurm_topology.core.model import (
    ClusterTopology,
    Flat,
    NamedTopology,
    Partition,
    Switch,
    Tree,
)
from slurm_topology.view import placed_lines

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


MOMENTS = [f"2026-12-01T{hour:02}:00:00" for hour in range(10, 15)]


@settings(deadline=None)
@given(st.data())
def test_what_was_free_at_a_start_is_what_no_other_job_held_then(data: st.DataObject) -> None:
    """Against the definition, job by job, in any order of jobs and of questions."""
    jobs = []
    for number in range(1, data.draw(st.integers(1, 7)) + 1):
        start, ends = data.draw(st.integers(0, 3)), data.draw(st.booleans())
        phase = data.draw(st.sampled_from(JobPhase))
        held = data.draw(st.sets(st.sampled_from(NODES), max_size=5))
        ended = data.draw(st.sampled_from(MOMENTS[start:])) if phase is JobPhase.ENDED and ends else None
        jobs.append(job(number, sorted(held), phase=phase, started=MOMENTS[start], ended=ended))
    context = cluster(*jobs)
    for mine in data.draw(st.permutations(jobs)):
        moment = mine.started or ""
        taken = {
            node
            for other in jobs
            if other.number != mine.number and other.phase is not JobPhase.PENDING
            if (other.started or "") <= moment and (other.ended is None or moment < other.ended)
            for node in other.nodes
        }
        assert context.free_when_started(mine) == (set(NODES) - taken) | set(mine.nodes)


def test_explaining_every_job_takes_work_in_proportion_to_the_jobs() -> None:
    """Calls of functions, counted: four times the jobs may not mean 16 times the work. No clock."""
    leaves = 20

    def calls(times: int) -> int:
        names = [[f"n{leaf}-{node}" for node in range(4)] for leaf in range(leaves)]
        tree = Tree((*(Switch(f"l{i}", (), tuple(each)) for i, each in enumerate(names)),
                     Switch("top", tuple(f"l{i}" for i in range(leaves)))))  # fmt: skip
        pairs = [[each[0], names[i - 1][1]] for i, each in enumerate(names)] * times
        running = [job(i, pair, started=f"t{i:04}") for i, pair in enumerate(pairs)]
        waiting = [job(1000 + i, node_count=5, switches=1, reason="Resources") for i in range(leaves * times)]
        facts = {name: NodeFacts(name, NodeState.IDLE, partitions=("p",)) for each in names for name in each}
        snapshot = Snapshot(ClusterTopology((NamedTopology("t", tree, True),)), facts, (*running, *waiting))
        context, count = Context(snapshot), 0

        def counted(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(counted)
        try:
            for each in snapshot.jobs:
                explain_pending(context, each) if each.phase is JobPhase.PENDING else explain_placed(context, each)
        finally:
            sys.setprofile(None)
        return count

    assert calls(8) < 5 * calls(2)


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


@pytest.mark.parametrize("topology", [TREE, BLOCK, NamedTopology("flat", Flat(), True)], ids=lambda each: each.name)
def test_a_job_that_failed_before_it_had_nodes_has_none(topology: NamedTopology) -> None:
    failed = job(1, phase=JobPhase.ENDED, started=NOON, ended=NOON)
    found = explain_placed(cluster(failed, topology=topology), failed)
    assert found.verdict is Verdict.NO_NODES
    assert len(list(placed_lines(found))) == 2


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
