"""From plan and inventory to the topologies of one Slurm version."""

from __future__ import annotations

import pytest

from slurm_topology.core.choose import make_plan
from slurm_topology.core.model import (
    Blocks,
    ClusterTopology,
    Finding,
    Flat,
    Group,
    Node,
    NodeRole,
    Partition,
    Placement,
    TopologyKind,
    Tree,
)
from slurm_topology.core.slurm_version import SlurmVersion
from slurm_topology.core.topology import build

from .clusters import (
    V24_11,
    V25_11,
    blocks_of,
    body_of,
    cpu,
    gb200,
    ids,
    inventory,
    p5,
    tree_cluster,
    tree_of,
    ultra_cluster,
)

CPU_NODES = [Node(f"cpu-{n}", f"i-c{n}", "ml.c5.9xlarge", "cpu") for n in (1, 2)]
TRAIN_NODES = tree_cluster("c/l1: a b", "c/l2: d e")
TRAIN, CPU, DEV = Partition("train", ("train",)), Partition("cpu", ("cpu",)), Partition("dev", ("train", "cpu"))


def made(
    nodes: list[Node],
    groups: list[Group],
    partitions: tuple[Partition, ...] = (),
    version: SlurmVersion = V25_11,
    last_known: dict[str, Placement] | None = None,
) -> tuple[ClusterTopology, tuple[Finding, ...]]:
    everything = inventory(nodes, groups, partitions)
    return build(everything, make_plan(groups, partitions, version), version, last_known or {})


def names(topology: ClusterTopology) -> list[tuple[str, str, bool]]:
    return [(entry.name, type(entry.body).__name__, entry.cluster_default) for entry in topology.topologies]


# ---- per partition


def test_a_partition_gets_its_own_topology_with_its_own_nodes() -> None:
    topology, _ = made(TRAIN_NODES + CPU_NODES, [p5(), cpu()], (TRAIN, CPU, DEV))
    assert names(topology) == [("flat", "Flat", True), ("tree", "Tree", False)]
    assert topology.partitions == {"train": "tree"}
    assert {node for switch in tree_of(topology) for node in switch.nodes} == {"a", "b", "d", "e"}


def test_a_partition_like_the_default_shares_it() -> None:
    topology, _ = made(TRAIN_NODES, [p5()], (TRAIN,))
    assert names(topology) == [("tree", "Tree", True)]
    assert topology.partitions == {}


def test_ultraservers_and_trees_side_by_side() -> None:
    """The default holds them all in a tree; the UltraServer partition gets blocks."""
    topology, _ = made(TRAIN_NODES + ultra_cluster(us1=2), [p5(), gb200()], (TRAIN, Partition("ultra", ("ultra",))))
    assert names(topology) == [("tree", "Tree", True), ("block", "Blocks", False)]
    assert topology.partitions == {"ultra": "block"}
    assert [block.nodes for block in blocks_of(topology)[1]] == [("us1-1", "us1-2")]


def test_login_nodes_in_the_dev_partition_are_placed_and_decide_nothing() -> None:
    login = Group("login", "ml.m5.xlarge", NodeRole.LOGIN)
    nodes = [*TRAIN_NODES, Node("login-1", "i-l", "ml.m5.xlarge", "login")]
    dev = Partition("dev", ("login", "train"), nodes=("a", "b", "d", "e", "login-1"))
    topology, _ = made(nodes, [p5(), login], (TRAIN, dev))
    assert names(topology) == [("tree", "Tree", True)]
    assert tree_of(topology)[-1].nodes == ("login-1",)


def test_the_nodes_of_a_partition_are_those_that_slurm_lists() -> None:
    some = Partition("some", ("train",), nodes=("a", "b", "gone"))
    topology, _ = made(TRAIN_NODES + CPU_NODES, [p5(), cpu()], (some,))
    assert [switch.nodes for switch in tree_of(topology)] == [("a", "b")]


def test_names_that_slurm_conf_uses_are_defined() -> None:
    """Without them slurmctld refuses every reconfigure; the partition is pointed at what the plan chose."""
    partitions = (TRAIN._replace(topology="of-hyperpod"), CPU._replace(topology="old"), DEV._replace(topology="old"))
    topology, _ = made(TRAIN_NODES + CPU_NODES, [p5(), cpu()], partitions)
    assert names(topology) == [
        ("flat", "Flat", True),
        ("of-hyperpod", "Tree", False),
        ("old", "Flat", False),
        ("tree", "Tree", False),
    ]
    assert topology.partitions == {"cpu": "flat", "dev": "flat", "train": "tree"}
    assert body_of(topology, "of-hyperpod") == body_of(topology, "tree")


def test_a_name_that_slurm_conf_uses_rightly_stays() -> None:
    topology, _ = made(TRAIN_NODES + CPU_NODES, [p5(), cpu()], (TRAIN._replace(topology="tree"), CPU))
    assert topology.partitions == {}
    assert names(topology) == [("flat", "Flat", True), ("tree", "Tree", False)]


def test_a_partition_whose_slurm_conf_line_names_another_kind_is_moved() -> None:
    topology, _ = made(TRAIN_NODES + CPU_NODES, [p5(), cpu()], (CPU._replace(topology="tree"), TRAIN))
    assert topology.partitions == {"cpu": "flat", "train": "tree"}


# ---- block sizes


def test_blocks_that_are_not_full_get_a_size_that_refuses_no_job() -> None:
    topology, findings = made(ultra_cluster(us1=17, us2=17, us3=5, us4=5), [gb200(ultraserver_instances=18)])
    assert blocks_of(topology)[0] == (13,)
    assert ids(findings) == ["TOPO313"]


def test_a_small_partition_of_ultraservers_does_not_lower_the_others() -> None:
    groups = [gb200(ultraserver_instances=18), gb200("debug", ultraserver_instances=18)]
    nodes = ultra_cluster(us1=18, us2=18) + ultra_cluster(us8=1, us9=1, group="debug")
    partitions = (Partition("debug", ("debug",)), Partition("ultra", ("ultra",)))
    topology, _ = made(nodes, groups, partitions)
    assert topology.partitions == {"debug": "block-1", "ultra": "block-18"}
    assert [blocks_of(topology, name)[0] for name in ("block", "block-1", "block-18")] == [
        ((18 + 18 + 1) // 3,),
        (1,),
        (18,),
    ]


def wished(nodes: list[Node], group: Group, version: SlurmVersion, *sizes: int) -> tuple[ClusterTopology, Finding]:
    """The topology and its one finding, with these block sizes asked for."""
    everything = inventory(nodes, [group])
    topology, findings = build(everything, make_plan(everything.groups, (), version, block_sizes=sizes), version, {})
    (finding,) = findings
    return topology, finding


@pytest.mark.parametrize("version", [V24_11, V25_11])
def test_a_size_above_the_ultraservers_is_not_blamed_on_them(version: SlurmVersion) -> None:
    """They are full, and on 24.11 they get blocks all the same."""
    spared = gb200(ultraserver_instances=18, spare_instances=1)
    topology, finding = wished(ultra_cluster(us1=17, us2=17), spared, version, 100)
    assert blocks_of(topology)[0] == (17,)
    assert (finding.id, finding.message.split(": ")[1]) == (
        "TOPO313",
        "block size 17 instead of 100, because there are UltraServers of 17 usable nodes",
    )
    assert "full" not in finding.message
    assert "rises" not in finding.remedy


def test_a_size_above_ultraservers_that_are_not_full_has_both_causes() -> None:
    _, finding = wished(ultra_cluster(us1=17, us2=9, us3=2), gb200(ultraserver_instances=18), V25_11, 36)
    assert "there are UltraServers of 18 usable nodes and the UltraServers aren't full" in finding.message
    assert finding.remedy.endswith("it rises as they fill")


# ---- nothing known, last known


@pytest.mark.parametrize("version", [V24_11, V25_11])
@pytest.mark.parametrize("group", [p5(), gb200("train", ultraserver_instances=18)])
def test_nothing_known_is_flat(version: SlurmVersion, group: Group) -> None:
    topology, findings = made(tree_cluster(": a b"), [group], (TRAIN,), version)
    assert [type(entry.body) for entry in topology.topologies] == [Flat]
    assert ids(findings) == ["TOPO309"]


def test_a_node_stays_where_it_was_last_known() -> None:
    topology, findings = made(
        [*TRAIN_NODES[:3], *tree_cluster(": e")], [p5()], last_known={"e": Placement(("c", "l2"))}
    )
    assert topology == made(TRAIN_NODES, [p5()])[0]
    assert [(finding.id, finding.subject) for finding in findings] == [("TOPO302", "e")]


def test_what_is_known_now_wins_over_what_was() -> None:
    topology, findings = made(TRAIN_NODES, [p5()], last_known={"a": Placement(("c", "l2")), "gone": Placement(("x",))})
    assert topology == made(TRAIN_NODES, [p5()])[0]
    assert findings == ()


def test_a_node_that_moved_takes_nothing_from_its_old_place() -> None:
    """Its UltraServer is another one now, so its old path is worthless."""
    nodes = ultra_cluster(us1=2, us2=2)
    moved = nodes[0]._replace(placement=Placement((), "us2"))
    topology, findings = made([moved, *nodes[1:]], [p5()], last_known={nodes[0].name: nodes[0].placement})
    assert {switch.name: switch.nodes for switch in tree_of(topology) if switch.nodes}["us2"] == (
        "us1-1",
        "us2-1",
        "us2-2",
    )
    assert findings == ()


def test_a_node_that_is_listed_twice_is_placed_once() -> None:
    nodes = [*TRAIN_NODES, *tree_cluster("c/l2: a")]
    for order in (nodes, nodes[::-1]):
        topology, findings = made(order, [p5()])
        assert sum(switch.nodes.count("a") for switch in tree_of(topology)) == 1
        assert [(finding.id, finding.subject) for finding in findings] == [("TOPO317", "a")]
        assert topology == made(nodes, [p5()])[0]


# ---- before 25.05


def test_blocks_that_become_a_tree_are_told() -> None:
    """Asked for on nodes without UltraServers: "topology.conf: tree" must not come without a word."""
    everything = inventory(TRAIN_NODES, [p5()])
    plan = make_plan(everything.groups, (), V24_11, wanted=TopologyKind.BLOCK)
    topology, findings = build(everything, plan, V24_11, {})
    assert [type(entry.body) for entry in topology.topologies] == [Tree]
    assert ids(findings) == ["TOPO309"]
    assert "is a tree for now" in findings[0].message


def test_one_topology_for_all_and_no_assignments() -> None:
    topology, _ = made(TRAIN_NODES + CPU_NODES, [p5(), cpu()], (TRAIN, CPU), V24_11)
    assert names(topology) == [("tree", "Tree", True)]
    assert topology.partitions == {}
    assert tree_of(topology)[-1].nodes == ("cpu-1", "cpu-2")


def test_full_ultraservers_get_their_full_size() -> None:
    topology, findings = made(ultra_cluster(us1=18, us2=18), [gb200(ultraserver_instances=18)], (), V24_11)
    assert blocks_of(topology)[0] == (18,)
    assert findings == ()


@pytest.mark.parametrize(("sizes", "base"), [((18, 17), 17), ((18, 10), 10), ((18, 9), 9)])
def test_a_short_block_shrinks_the_size_before_slurmctld_could_die_of_it(sizes: tuple[int, int], base: int) -> None:
    topology, findings = made(ultra_cluster(us1=sizes[0], us2=sizes[1]), [gb200(ultraserver_instances=18)], (), V24_11)
    assert blocks_of(topology)[0] == (base,)
    assert ids(findings) == ["TOPO311"]


@pytest.mark.parametrize("short", [1, 2, 8])
def test_a_very_short_block_makes_it_a_tree(short: int) -> None:
    topology, findings = made(ultra_cluster(us1=18, us2=short), [gb200(ultraserver_instances=18)], (), V24_11)
    assert isinstance(topology.topologies[0].body, Tree)
    assert ids(findings) == ["TOPO312"]


def test_a_node_outside_all_ultraservers_makes_it_a_tree() -> None:
    """On 24.11 multi-node jobs never use a node outside all blocks, and a catch-all block would be too short."""
    nodes = [*ultra_cluster(us1=18), Node("login-1", None, None, "login")]
    topology, _ = made(nodes, [gb200(ultraserver_instances=18)], (), V24_11)
    assert isinstance(topology.topologies[0].body, Tree)


def test_from_25_05_on_the_same_clusters_get_blocks() -> None:
    for version in ("25.05", "25.11", "26.05"):
        topology, _ = made(
            ultra_cluster(us1=18, us2=2), [gb200(ultraserver_instances=18)], (), SlurmVersion.parse(version)
        )
        assert isinstance(topology.topologies[0].body, Blocks)
