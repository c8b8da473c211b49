"""Faults of nodes that come, go, sleep and are replaced."""

from __future__ import annotations

import pytest

from core.clusters import V24_11, V25_11, inventory, p5, tree_cluster, tree_of
from slurm_topology.agent.observation import Role
from slurm_topology.agent.observe import role_of
from slurm_topology.agent.places import Place, last_known, remembered
from slurm_topology.agent.slurm import ControllerLine
from slurm_topology.core.model import Inventory, Node, Placement
from slurm_topology.core.pipeline import compute

NODES = tree_cluster("c/s/l1: a b", "c/s/l2: d e")
PLACES = remembered(inventory(NODES, [p5()]), {})


def cluster(*nodes: Node) -> Inventory:
    return inventory(nodes, [p5()])


def without_labels(node: Node, instance_id: str | None) -> Node:
    return node._replace(placement=Placement(), instance_id=instance_id)


def test_a_replaced_node_is_not_kept_where_its_old_instance_was() -> None:
    """HyperPod's replacement has the same name and address: whoever watches names only never notices."""
    assert "a" not in last_known(cluster(without_labels(NODES[0], "i-new")), PLACES)


@pytest.mark.parametrize("instance_id", ["i-a", None])
def test_the_same_instance_without_labels_stays_where_it_was(instance_id: str | None) -> None:
    """Slurm and AWS disagree for minutes around a change, and an answer may lack an instance."""
    quiet = cluster(without_labels(NODES[0], instance_id), *NODES[1:])
    for version in (V24_11, V25_11):
        text = compute(quiet, version, last_known=last_known(quiet, PLACES)).text
        assert text == compute(cluster(*NODES), version).text


def test_a_node_that_is_missing_from_one_answer_and_back_in_the_next_moves_nobody() -> None:
    """Its place is remembered while it is away, so that it comes back to it even before its labels do."""
    places = remembered(cluster(*NODES[1:]), PLACES)
    back = cluster(without_labels(NODES[0], None), *NODES[1:])
    assert compute(back, V25_11, last_known=last_known(back, places)).text == compute(cluster(*NODES), V25_11).text


def test_places_of_nodes_that_are_gone_for_good_do_not_pile_up() -> None:
    """A cluster that churns for years forgets."""
    old = {f"gone-{n}": Place(Placement(("c", "l"))) for n in range(5000)}
    assert len(remembered(cluster(*NODES), old)) < 500


def test_a_replacement_that_lands_on_another_leaf_leaves_no_empty_leaf_behind() -> None:
    """Both nodes of l1 are replaced and come up under l2: l1 must not stay as a switch without nodes (fatal)."""
    moved = [node._replace(instance_id=f"i-2-{node.name}", placement=NODES[2].placement) for node in NODES[:2]]
    switches = tree_of(
        compute(cluster(*moved, *NODES[2:]), V24_11, last_known=last_known(cluster(*moved), PLACES)).topology
    )
    assert [(switch.name, switch.nodes) for switch in switches] == [("l2", ("a", "b", "d", "e"))]


@pytest.mark.parametrize(
    ("up", "host", "role"),
    [
        ((True, True), "ctl-1", Role.ACTIVE),
        ((True, True), "ctl-2", Role.STANDBY),
        ((False, True), "ctl-2.cluster.internal", Role.ACTIVE),
        ((False, True), "ctl-1", Role.STANDBY),
        ((False, False), "ctl-1", Role.DOWN),
    ],
)
def test_of_several_controllers_only_the_one_in_charge_acts(up: tuple[bool, bool], host: str, role: Role) -> None:
    """They share /opt/slurm/etc: two agents that write it would undo each other."""
    lines = (ControllerLine("primary", "ctl-1", up[0]), ControllerLine("backup", "ctl-2", up[1]))
    assert role_of(lines, host)[0] is role
