"""Hypothesis strategies for clusters: from well-behaved to hostile. Shared by all property tests of the core."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from slurm_topology.core.model import (
    Capability,
    Group,
    Inventory,
    Node,
    NodeRole,
    Partition,
    Placement,
    UltraServer,
)
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = [
    "fabric_paths",
    "groups",
    "hostile_ids",
    "inventories",
    "node_names",
    "partitions",
    "placements",
    "tidy_inventories",
    "versions",
]

TYPES = {
    "ml.p5.48xlarge": Capability.TREE,
    "ml.p6-b200.48xlarge": Capability.TREE,
    "ml.p6e-gb200.36xlarge": Capability.BLOCK,
    "ml.c5.9xlarge": Capability.NONE,
    "ml.x99.large": Capability.NONE,
}


def versions() -> st.SearchStrategy[SlurmVersion]:
    """Versions on both sides of each change: one topology or several, short blocks fatal or not."""
    return st.sampled_from(
        [SlurmVersion.parse(text) for text in ("24.05", "24.11.0", "24.11.5", "25.05", "25.11.4", "26.05.5")]
    )


def node_names() -> st.SearchStrategy[str]:
    """Names that Slurm takes: HyperPod's, with and without zero padding, with dots and many digits."""
    octet = st.integers(0, 255)
    return st.one_of(
        st.builds("ip-10-{}-{}-{}".format, octet, octet, octet),
        st.builds("train-{}".format, st.integers(0, 2000)),
        st.builds("node{:04d}".format, st.integers(0, 99)),
        st.from_regex(r"[a-z][a-z0-9_-]{0,8}[0-9]{0,6}", fullmatch=True),
    )


def hostile_ids() -> st.SearchStrategy[str]:
    """What a source could name a switch, an UltraServer or a zone: never empty, else anything."""
    return st.one_of(
        st.builds("nn-{:016x}".format, st.integers(0, 2**64 - 1)),
        st.sampled_from(
            [
                "zone",
                "zone-a",
                "unplaced",
                "unplaced-zone-a",
                "leaf-of-nn-1",
                "nn-1",
                "ALL",
                "default",
                "a b",
                "a,b",
                "a[1-2]",
                "a=b",
                "a#b",
                'a"b',
                "a\\b",
                "nn-" + "0" * 80,
                "nn" + "9" * 20,
                "x-h0123456789ab",
                "é",
                "-",
                ".",
            ]
        ),
        st.text(min_size=1, max_size=70),
    )


def placements(ids: Sequence[str], ultraservers: Sequence[str], zones: Sequence[str]) -> st.SearchStrategy[Placement]:
    """Any path over a few ids, so that nodes share, contradict and loop."""
    return st.builds(
        Placement,
        st.lists(st.sampled_from(ids), max_size=5).map(tuple),
        st.none() | st.sampled_from(ultraservers),
        st.none() | st.sampled_from(zones),
    )


def groups(names: Sequence[str]) -> st.SearchStrategy[Group]:
    """A group of one of these names: any type, mostly for compute."""

    def make(name: str, instance_type: str, role: NodeRole, count: int | None, size: int | None, spare: int) -> Group:
        capability = TYPES[instance_type]
        ultraserver = (size, spare) if capability is Capability.BLOCK else (None, 0)
        return Group(name, instance_type, role, capability, (), count, *ultraserver)

    roles = st.sampled_from([NodeRole.COMPUTE] * 4 + [NodeRole.LOGIN, NodeRole.CONTROLLER])
    return st.builds(
        make,
        st.sampled_from(names),
        st.sampled_from(sorted(TYPES)),
        roles,
        st.none() | st.integers(0, 40),
        st.sampled_from([None, 9, 18]),
        st.integers(0, 2),
    )


def partitions(nodes: Sequence[str], group_names: Sequence[str]) -> st.SearchStrategy[Partition]:
    """A partition over groups, or with Slurm's own list of nodes (which may name nodes that nobody knows)."""
    listed = st.none() | st.lists(st.sampled_from([*nodes, "unknown-1"]), unique=True, max_size=8).map(tuple)
    return st.builds(
        Partition,
        st.sampled_from(["train", "dev", "debug"]),
        st.lists(st.sampled_from(group_names), unique=True).map(tuple),
        listed,
        st.sampled_from([None, None, "tree", "block", "block-9", "flat", "of-hyperpod"]),
    )


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    """Any inventory at all: any depth, missing and contradictory places, hostile ids, duplicate nodes."""
    group_names = ["alpha", "beta", "gamma"]
    some_groups = draw(st.lists(groups(group_names), unique_by=lambda group: group.name, max_size=3))
    ids = draw(st.lists(hostile_ids(), min_size=1, max_size=8, unique=True))
    ultraservers = draw(st.lists(hostile_ids(), min_size=1, max_size=3, unique=True)) + ids[:1]
    zones = draw(st.lists(hostile_ids(), min_size=1, max_size=2, unique=True))
    node = st.builds(
        Node,
        node_names(),
        st.none() | st.builds("i-{:017x}".format, st.integers(0, 2**30)),
        st.none() | st.sampled_from(sorted(TYPES)),
        st.none() | st.sampled_from(group_names),
        placements(ids, ultraservers, zones),
    )
    nodes = draw(st.lists(node, max_size=25))
    names = [node.name for node in nodes] or ["nobody"]
    some_partitions = draw(st.lists(partitions(names, group_names), unique_by=lambda each: each.name, max_size=3))
    facts = [UltraServer(each, None, 18, 1) for each in ultraservers]
    return Inventory(tuple(nodes), tuple(some_groups), tuple(some_partitions), tuple(facts))


@st.composite
def fabric_paths(draw: st.DrawFn, max_nodes: int = 24) -> list[tuple[str, ...]]:
    """One path per node through a real tree: each switch has one parent, paths may end early (missing labels)."""
    parents: dict[str, tuple[str, ...]] = {}
    for number in range(draw(st.integers(1, 10))):
        above = draw(st.sampled_from([(), *parents.values()]))
        parents[f"nn-{number:02d}"] = (*above, f"nn-{number:02d}")
    return draw(st.lists(st.sampled_from([(), *parents.values()]), min_size=1, max_size=max_nodes))


@st.composite
def tidy_inventories(draw: st.DrawFn) -> Inventory:
    """A well-behaved tree cluster: consistent paths, distinct names, one group, one zone or none named."""
    paths = draw(fabric_paths())
    names = draw(st.lists(node_names(), min_size=len(paths), max_size=len(paths), unique=True))
    zone = draw(st.none() | st.just("usw2-az1"))
    nodes = [
        Node(name, f"i-{index}", "ml.p5.48xlarge", "train", Placement(path, None, zone))
        for index, (name, path) in enumerate(zip(names, paths, strict=True))
    ]
    group = Group("train", "ml.p5.48xlarge", NodeRole.COMPUTE, Capability.TREE, ("train",), len(nodes))
    return Inventory(tuple(nodes), (group,), (Partition("train", ("train",)),))
