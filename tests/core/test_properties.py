"""What holds for any inventory whatsoever."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from slurm_topology.core.check import check_text, parse_file
from slurm_topology.core.compare import same_meaning
from slurm_topology.core.model import (
    Blocks,
    ClusterTopology,
    Flat,
    Inventory,
    Node,
    Placement,
    Severity,
    Tree,
)
from slurm_topology.core.pipeline import Rendering, compute
from slurm_topology.core.places import places_of
from slurm_topology.core.slurm_version import SlurmVersion
from slurm_topology.core.tree import build_tree

from .distances import nearness, same_order

Value = TypeVar("Value")


def nodes_in(body: Tree | Blocks | Flat) -> list[str]:
    if isinstance(body, Flat):
        return []
    units = body.switches if isinstance(body, Tree) else body.blocks
    return [node for unit in units for node in unit.nodes]


def nodes_of_partition(inventory: Inventory, name: str) -> set[str]:
    partition = next(each for each in inventory.partitions if each.name == name)
    if partition.nodes is not None:
        return {node.name for node in inventory.nodes} & set(partition.nodes)
    groups: defaultdict[str, set[str | None]] = defaultdict(
        set
    )  # a node that is listed twice may have several: whichever is taken, it may be no member
    for node in inventory.nodes:
        groups[node.name].add(node.group)
    return {name for name, of_node in groups.items() if of_node - {None} and of_node - {None} <= set(partition.groups)}


def errors(rendering: Rendering) -> list[str]:
    return [f"{each.id} {each.message}" for each in rendering.findings if each.severity is Severity.ERROR]


def default_of(topology: ClusterTopology) -> Tree | Blocks | Flat:
    return next(entry.body for entry in topology.topologies if entry.cluster_default)


@given(strategies.inventories(), strategies.versions())
@settings(max_examples=150, deadline=None)
def test_any_inventory_renders_and_the_checker_finds_no_fault(inventory: Inventory, version: SlurmVersion) -> None:
    rendering = compute(inventory, version)
    assert errors(rendering) == []
    if rendering.text is None:
        assert isinstance(default_of(rendering.topology), Flat)
        assert not version.has_topology_yaml
        return
    known = {node.name for node in inventory.nodes}
    used = [each.topology for each in inventory.partitions if each.topology]
    faults = check_text(rendering.text, rendering.file_name, version, known, used)
    assert [each for each in faults if each.severity is Severity.ERROR] == []


@given(strategies.inventories(), strategies.versions())
@settings(max_examples=80, deadline=None)
def test_every_node_is_placed_once(inventory: Inventory, version: SlurmVersion) -> None:
    """In the default, every node; in a partition's own topology, every node of the partition."""
    topology = compute(inventory, version).topology
    bodies = {entry.name: entry.body for entry in topology.topologies}
    everybody = {node.name for node in inventory.nodes}
    for entry in topology.topologies:
        placed = nodes_in(entry.body)
        assert len(placed) == len(set(placed))
        if entry.cluster_default and not isinstance(entry.body, Flat):
            assert set(placed) == everybody
    for partition, name in topology.partitions.items():
        if not isinstance(bodies[name], Flat):
            assert nodes_of_partition(inventory, partition) <= set(nodes_in(bodies[name]))


@given(strategies.inventories(), strategies.versions(), st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_any_order_gives_the_same_bytes(inventory: Inventory, version: SlurmVersion, random_: random.Random) -> None:
    def shuffled(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(random_.sample(values, len(values)))

    other = Inventory(
        shuffled(inventory.nodes),
        shuffled(inventory.groups),
        shuffled(inventory.partitions),
        shuffled(inventory.ultraservers),
    )
    assert compute(inventory, version) == compute(other, version)


@given(strategies.inventories(), strategies.versions(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_node_that_goes_and_comes_back_restores_the_bytes(
    inventory: Inventory, version: SlurmVersion, data: st.DataObject
) -> None:
    """Also when nothing is known about it for a while: its last place is remembered."""
    distinct = tuple({node.name: node for node in inventory.nodes}.values())
    inventory = Inventory(distinct, inventory.groups, inventory.partitions, inventory.ultraservers)
    before = compute(inventory, version)
    if not distinct:
        return
    gone = data.draw(st.sampled_from(distinct))
    without = Inventory(
        tuple(node for node in distinct if node != gone), inventory.groups, inventory.partitions, inventory.ultraservers
    )
    assert errors(compute(without, version)) == []
    unlabelled = Inventory(
        tuple(node._replace(placement=Placement()) if node == gone else node for node in distinct),
        inventory.groups,
        inventory.partitions,
        inventory.ultraservers,
    )
    again = compute(unlabelled, version, last_known={gone.name: gone.placement})
    assert before.text == again.text == compute(inventory, version).text


@given(strategies.inventories(), strategies.versions())
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_what_is_meant(inventory: Inventory, version: SlurmVersion) -> None:
    """Reading the file back gives the topology that was rendered."""
    rendering = compute(inventory, version)
    if rendering.text is None:
        return
    read_back = parse_file(rendering.text, rendering.file_name).topology
    assert same_meaning(read_back, rendering.topology)


@given(strategies.tidy_inventories())
@settings(max_examples=80, deadline=None)
def test_collapse_keeps_the_order_of_distances(inventory: Inventory) -> None:
    """For every node, the order of all other nodes by distance is that of their network paths."""
    tree, findings = build_tree(places_of(inventory.nodes))
    wanted = {
        one.name: {other.name: _shared_path(one, other) for other in inventory.nodes if other.name != one.name}
        for one in inventory.nodes
    }
    assert same_order(wanted, nearness(tree))
    assert {finding.id for finding in findings} <= {"TOPO301"}


def _shared_path(one: Node, other: Node) -> int:
    left, right = one.placement.network_nodes, other.placement.network_nodes
    shared = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        shared += 1
    return shared + (left == right)


@given(strategies.inventories())
@settings(max_examples=80, deadline=None)
def test_nodes_of_different_zones_never_share_a_root(inventory: Inventory) -> None:
    distinct = tuple({node.name: node for node in inventory.nodes}.values())
    tree, _ = build_tree(places_of(distinct))
    near = nearness(tree)
    zone_of = {node.name: node.placement.zone for node in distinct}
    for one, others in near.items():
        for other, depth in others.items():
            if zone_of[one] and zone_of[other]:
                assert (depth >= 0) == (zone_of[one] == zone_of[other])


@given(strategies.inventories())
@settings(max_examples=60, deadline=None)
def test_no_switch_without_meaning_is_left(inventory: Inventory) -> None:
    """Each switch has nodes, or at least two children that are not all leaves of one node."""
    distinct = tuple({node.name: node for node in inventory.nodes}.values())
    tree, _ = build_tree(places_of(distinct))
    sizes = {switch.name: len(switch.nodes) for switch in tree.switches}
    for switch in tree.switches:
        assert bool(switch.nodes) != bool(switch.children)
        if switch.children:
            assert len(switch.children) >= 2
            assert any(sizes[child] != 1 for child in switch.children)
