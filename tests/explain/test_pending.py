"""Why jobs wait, on one small cluster whose right answers can be seen at a glance (small.py)."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.clusters import trees
from explain.small import BLOCK, LATER, NODES, TREE, cluster, job
from slurm_topology.core.explain import Context, NodeFacts, NodeState, Snapshot, Waiting, explain_pending, forest_of
from slurm_topology.core.model import ClusterTopology, Flat, NamedTopology, Partition, Switch, Tree
from slurm_topology.view import job_lines, pending_lines


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


# every reason of 24.11's and 26.05's job_reason_codes that no free node would change, by example of each kind
@pytest.mark.parametrize(
    "reason",
    ["JobHeldUser", "JobHeldAdmin", "Dependency", "DependencyNeverSatisfied", "BeginTime", "JobArrayTaskLimit",
     "Licenses", "QOSMaxNodePerUserLimit", "AssocGrpNodeLimit", "PartitionDown", "PartitionTimeLimit", "Reservation"],
)  # fmt: skip
@pytest.mark.parametrize("busy", [0, 16], ids=["all free", "none free"])
def test_what_slurm_keeps_back_for_reasons_of_its_own_waits_for_no_node(reason: str, busy: int) -> None:
    waiting = job(7, node_count=4, switches=1, reason=reason, started=LATER)
    found = explain_pending(cluster(*[job(2, NODES[:busy])] * bool(busy)), waiting)
    assert found.waiting is Waiting.SLURM
    assert found.hints[-1].startswith(f"Slurm's reason is {reason}, ")
    assert found.hints[-1].endswith(f"; it expects a start at {LATER}")
    assert ("scontrol release 7" in found.hints[-1]) is reason.startswith("JobHeld")
    assert [demand.met for demand in found.demands] == [not busy] * 3
    line = list(job_lines([found]))
    assert line[0].strip() == "1 job: pending, Slurm keeps it back for a reason of its own, whatever nodes are free"
    assert f"waits: {reason}" in line[-1]


@pytest.mark.parametrize(
    "reason",
    ["", "None", "Resources", "Priority", "BadConstraints", "ReqNodeNotAvail, May be reserved for other job",
     "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"],
)  # fmt: skip
def test_reasons_about_nodes_leave_the_answer_to_the_nodes(reason: str) -> None:
    assert explain_pending(cluster(job(2, NODES[:13])), job(1, node_count=4, reason=reason)).waiting is Waiting.NODES


def test_a_job_too_large_for_ever_says_so_though_it_is_held() -> None:
    found = explain_pending(cluster(), job(7, node_count=17, reason="JobHeldUser"))
    assert found.waiting is Waiting.NEVER
    assert "JobHeldUser" in found.hints[-1]


@pytest.mark.parametrize("topology", [TREE, BLOCK, NamedTopology("flat", Flat(), True)], ids=lambda each: each.name)
def test_nodes_asked_for_by_name_have_to_be_free(topology: NamedTopology) -> None:
    context = cluster(job(3, ["a1", "a2"]), away=["b1"], topology=topology)
    found = explain_pending(context, job(4, node_count=2, required_nodes=("a1", "a2")))
    assert (found.waiting, found.place_now) == (Waiting.NODELIST, None)
    assert found.demands[1].text == "2 nodes that it names (--nodelist): 0 free, job 3 holds 2"
    drained = explain_pending(context, job(4, node_count=1, required_nodes=("b1",)))
    assert drained.waiting is Waiting.NODELIST
    assert drained.demands[1].text.endswith("0 free, 1 out of service, b1 first")
    outside = explain_pending(context, job(4, node_count=1, required_nodes=("c1",), excluded_nodes=("c1",)))
    assert outside.waiting is Waiting.NEVER
    free = explain_pending(context, job(4, node_count=1, required_nodes=("c1", "c2", "c3")))
    assert free.waiting is Waiting.OTHER
    assert free.place_now is not None
    assert set(free.place_now.nodes) == {"c1", "c2", "c3"}


def test_the_topologys_demands_hold_around_the_nodes_asked_for_by_name() -> None:
    """Four nodes with a1, of which three of leaf1 are busy: a leaf is free, but not that one."""
    context = cluster(job(3, ["a2", "a3", "a4"]))
    named = job(4, node_count=4, required_nodes=("a1",))
    tree = explain_pending(context, named._replace(switches=1))
    assert tree.waiting is Waiting.TOPOLOGY
    assert "the free nodes need 2, an empty cluster 1" in tree.demands[-1].text
    block = explain_pending(cluster(job(3, ["a2", "a3", "a4"]), topology=BLOCK), named)
    assert (block.waiting, block.demands[-1].met, block.demands[-1].ever) == (Waiting.TOPOLOGY, False, True)
    spread = explain_pending(cluster(topology=BLOCK), job(4, node_count=2, required_nodes=("a1", "b1")))
    assert spread.waiting is Waiting.NEVER


@settings(deadline=None)
@given(trees(8), st.data())
def test_switches_are_counted_as_trying_everything_does(topology: NamedTopology, data: st.DataObject) -> None:
    forest = forest_of(topology)
    everyone = sorted(forest.leaf_of)
    free = data.draw(st.sets(st.sampled_from(everyone)))
    count, switches = data.draw(st.integers(1, len(everyone))), data.draw(st.integers(1, 3))
    nodes = {name: NodeFacts(name, NodeState.IDLE if name in free else NodeState.DRAINED) for name in everyone}
    context = Context(Snapshot(ClusterTopology((topology,)), nodes, (), (Partition("p", nodes=tuple(everyone)),)))
    required = data.draw(st.sets(st.sampled_from(everyone), max_size=2))
    found = explain_pending(context, job(1, node_count=count, switches=switches, required_nodes=tuple(required)))
    leaves = [
        len({forest.leaf_of[node] for node in chosen})
        for chosen in combinations(sorted(free), max(count, len(required)))
        if required <= set(chosen)
        and all(forest.distance(one, other) is not None for one, other in combinations(chosen, 2))
    ]
    met = next(demand.met for demand in found.demands if demand.name == "switches")
    assert met is (bool(leaves) and min(leaves) <= switches)


@pytest.mark.parametrize("topology", [TREE, BLOCK], ids=lambda each: each.name)
def test_one_node_is_one_node(topology: NamedTopology) -> None:
    found = explain_pending(cluster(topology=topology), job(4, node_count=1, required_nodes=("c1",), switches=1))
    words = "\n".join(pending_lines(found))
    assert "1 node " in words
    assert "1 nodes" not in words
    assert "1 leaf switches" not in words
