"""Short ways to write down nodes, groups and inventories in tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slurm_topology.core.model import (
    Block,
    Blocks,
    Capability,
    ClusterTopology,
    Flat,
    Group,
    Inventory,
    Node,
    NodeRole,
    Partition,
    Placement,
    Switch,
    Tree,
)
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = [
    "GB200",
    "P5",
    "V24_11",
    "V25_11",
    "blocks_of",
    "body_of",
    "cpu",
    "gb200",
    "ids",
    "inventory",
    "p5",
    "switches",
    "tree_cluster",
    "tree_of",
    "ultra_cluster",
]

V24_11 = SlurmVersion.parse("24.11.5")
V25_11 = SlurmVersion.parse("25.11.4")
P5 = "ml.p5.48xlarge"
GB200 = "ml.p6e-gb200.36xlarge"


def p5(name: str = "train", **facts: object) -> Group:
    return Group(name, P5, NodeRole.COMPUTE, Capability.TREE)._replace(**facts)  # type: ignore[arg-type]


def gb200(name: str = "ultra", **facts: object) -> Group:
    return Group(name, GB200, NodeRole.COMPUTE, Capability.BLOCK)._replace(**facts)  # type: ignore[arg-type]


def cpu(name: str = "cpu", **facts: object) -> Group:
    return Group(name, "ml.c5.9xlarge", NodeRole.COMPUTE)._replace(**facts)  # type: ignore[arg-type]


def tree_cluster(*places: str, zone: str | None = None) -> list[Node]:
    """Nodes from lines such as "core/spine/leaf: a b"; ": x" is a node of which nothing is known."""
    nodes = []
    for place in places:
        path, _, names = place.partition(":")
        placement = Placement(tuple(filter(None, path.split("/"))), None, zone)
        nodes += [Node(name, f"i-{name}", P5, "train", placement) for name in names.split()]
    return nodes


def ultra_cluster(zone: str | None = None, spine: str = "sp", group: str = "ultra", **sizes: int) -> list[Node]:
    """UltraServers by id, each with so many nodes, which are called ``<id>-<n>``."""
    return [
        Node(f"{us}-{n}", f"i-{us}-{n}", GB200, group, Placement(("core", spine, f"leaf-{us}"), us, zone))
        for us, size in sizes.items()
        for n in range(1, size + 1)
    ]


def inventory(nodes: Iterable[Node], groups: Iterable[Group], partitions: Sequence[Partition] = ()) -> Inventory:
    return Inventory(tuple(nodes), tuple(groups), tuple(partitions))


def switches(tree: Tree) -> dict[str, tuple[str, ...]]:
    """Switch → its children or nodes."""
    return {switch.name: switch.children or switch.nodes for switch in tree.switches}


def body_of(topology: ClusterTopology, name: str) -> Tree | Blocks | Flat:
    return next(entry.body for entry in topology.topologies if entry.name == name)


def tree_of(topology: ClusterTopology, name: str = "tree") -> tuple[Switch, ...]:
    body = body_of(topology, name)
    assert isinstance(body, Tree)
    return body.switches


def blocks_of(topology: ClusterTopology, name: str = "block") -> tuple[tuple[int, ...], tuple[Block, ...]]:
    """Block sizes and blocks of one topology."""
    body = body_of(topology, name)
    assert isinstance(body, Blocks)
    return body.block_sizes, body.blocks


def ids(findings: Iterable[object]) -> list[str]:
    return sorted({str(getattr(finding, "id", finding)) for finding in findings})
