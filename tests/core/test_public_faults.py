"""Faults that others' tools had in public, one test each: they are designed out."""

from __future__ import annotations

from slurm_topology.core.model import Blocks, Inventory, Node, Partition, Placement, Tree
from slurm_topology.core.pipeline import compute
from slurm_topology.core.slurm_version import SlurmVersion

from .clusters import V24_11, V25_11, blocks_of, cpu, gb200, inventory, p5, tree_cluster, tree_of, ultra_cluster

OLD_AND_NEW = (V24_11, V25_11)
TREE_NODES = tree_cluster("c/s1/l1: a b", "c/s1/l2: d e", "c/s2/l3: f g", "c/s2/l4: h i")


def train(*nodes: Node) -> Inventory:
    return inventory(nodes, [p5()], [Partition("train", ("train",))])


def ultra(*nodes: Node) -> Inventory:
    return inventory(nodes, [gb200(ultraserver_instances=18)], [Partition("ultra", ("ultra",))])


def placed(cluster: Inventory, version: SlurmVersion) -> list[str]:
    body = compute(cluster, version).topology.topologies[0].body
    assert isinstance(body, Tree | Blocks)
    units = body.switches if isinstance(body, Tree) else body.blocks
    return sorted(node for unit in units for node in unit.nodes)


def test_paths_of_mixed_depth_print_no_switch_twice() -> None:
    """A switch printed once as a leaf and once above others is fatal to slurmctld."""
    cluster = train(*tree_cluster("c/s1/l1: a b", "c/s1: d", "s1/l1: e", "l1: f", "c: g"))
    for version in OLD_AND_NEW:
        switches = tree_of(compute(cluster, version).topology)
        assert len({switch.name for switch in switches}) == len(switches)
        assert placed(cluster, version) == ["a", "b", "d", "e", "f", "g"]


def test_nodes_without_data_are_not_dropped() -> None:
    """A node outside the tree runs nothing at all on 24.11 and 25.11."""
    for version in OLD_AND_NEW:
        assert "x" in placed(train(*TREE_NODES, *tree_cluster(": x")), version)


def test_known_nodes_are_not_dropped_while_they_are_down() -> None:
    """A node that powers down or is being replaced keeps its last place: no churn."""
    gone_quiet = [node._replace(placement=Placement()) if node.name == "a" else node for node in TREE_NODES]
    last_known = {node.name: node.placement for node in TREE_NODES}
    for version in OLD_AND_NEW:
        again = compute(train(*gone_quiet), version, last_known=last_known)
        assert again.text == compute(train(*TREE_NODES), version).text


def test_the_smallest_block_does_not_set_the_block_size() -> None:
    """An UltraServer that is filling would make jobs of 18 nodes span NVLink domains."""
    cluster = ultra(*ultra_cluster(us1=18, us2=18, us3=2))
    assert blocks_of(compute(cluster, V25_11).topology)[0] == (18,)


def test_block_names_do_not_depend_on_their_position() -> None:
    """One new UltraServer renamed all blocks after it, and with them every override and reservation."""
    before = blocks_of(compute(ultra(*ultra_cluster(us2=18, us3=18)), V25_11).topology)[1]
    after = blocks_of(compute(ultra(*ultra_cluster(us1=18, us2=18, us3=18)), V25_11).topology)[1]
    assert set(before) < set(after)


def test_names_are_not_random() -> None:
    """Each rendering differed from the last one, so each pass reconfigured."""
    cluster = train(*tree_cluster("c/s 1/l,1: a b", "c/s 1/l,2: d e", ": x"))
    assert compute(cluster, V25_11).text == compute(cluster, V25_11).text
    assert "l-1-h" in (compute(cluster, V25_11).text or "")


def test_the_same_answer_in_another_order_changes_nothing() -> None:
    for version in OLD_AND_NEW:
        assert compute(train(*TREE_NODES), version).text == compute(train(*TREE_NODES[::-1]), version).text


def test_fabrics_in_different_zones_are_not_under_one_root() -> None:
    """Jobs spanned two zones, which EFA can't cross."""
    nodes = tree_cluster("c1/l1: a b", zone="z1") + tree_cluster("c2/l2: d e", zone="z2")
    switches = tree_of(compute(train(*nodes), V25_11).topology)
    assert [(switch.name, switch.children) for switch in switches] == [("l1", ()), ("l2", ())]


def test_a_switch_that_was_emptied_is_nobodys_child() -> None:
    """After a scale-down the parent still named the leaf that was gone: fatal."""
    cluster = train(*(node for node in TREE_NODES if node.name not in "de"))
    for version in OLD_AND_NEW:
        switches = tree_of(compute(cluster, version).topology)
        names = {switch.name for switch in switches}
        assert {child for switch in switches for child in switch.children} <= names
        assert "l2" not in names


def test_a_switch_never_has_two_parents() -> None:
    """slurmctld takes such a file without a word."""
    cluster = train(*TREE_NODES, *tree_cluster("c/s2/l1: x"))
    children = [child for switch in tree_of(compute(cluster, V25_11).topology) for child in switch.children]
    assert len(children) == len(set(children))


def test_an_empty_cluster_is_never_an_empty_file() -> None:
    """`[]` is a crash loop, an empty file fatal."""
    text = compute(inventory([], []), V25_11).text
    assert text
    assert "flat" in text
    assert compute(inventory([], []), V24_11).text is None


def test_a_short_block_never_reaches_slurmctld_24_11() -> None:
    """It dies of a block with fewer nodes than the block size, at the reconfigure and at every start after it."""
    for last in range(1, 19):
        body = compute(ultra(*ultra_cluster(us1=18, us2=last)), V24_11).topology.topologies[0].body
        assert isinstance(body, Tree | Blocks)
        if isinstance(body, Blocks):
            assert min(len(each.nodes) for each in body.blocks) >= body.block_sizes[0]


def test_a_cpu_partition_does_not_take_the_network_from_the_others() -> None:
    nodes = [*TREE_NODES, Node("cpu-1", None, "ml.c5.9xlarge", "cpu")]
    partitions = (Partition("cpu", ("cpu",)), Partition("train", ("train",)))
    rendering = compute(inventory(nodes, [p5(), cpu()], partitions), V25_11)
    assert rendering.topology.partitions == {"train": "tree"}


def test_an_unknown_label_is_not_a_switch_called_null() -> None:
    """See test_read_resource_config for all shapes."""
    assert "null" not in (compute(train(*TREE_NODES, *tree_cluster(": x")), V25_11).text or "null")
