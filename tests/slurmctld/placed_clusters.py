"""Clusters for placement tests: network places in random order, as launches come, so that names tell nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence

from slurm_topology.core.model import Capability, Group, Inventory, Node, NodeRole, Partition, Placement

__all__ = ["cpu", "gb200", "join", "p5"]

ZONE = "usw2-az1"


def p5(leaf_sizes: Sequence[int], *, leaves_per_spine: int = 2) -> Inventory:
    """Group "train": nodes under leaf switches of these sizes."""
    places = [
        Placement(("nn-core", f"nn-spine{leaf // leaves_per_spine}", f"nn-leaf{leaf}"), None, ZONE)
        for leaf, size in enumerate(leaf_sizes)
        for _ in range(size)
    ]
    group = Group("train", "ml.p5.48xlarge", NodeRole.COMPUTE, Capability.TREE, (), len(places))
    return _inventory(group, places, network=1)


def gb200(ultraserver_sizes: Sequence[int], *, spares: int = 0) -> Inventory:
    """Group "ultra": UltraServers of 18 with so many nodes in them."""
    places = [
        Placement(("nn-ultracore", "nn-ultraspine", f"nn-ultraleaf{number}"), f"us-{number}", ZONE)
        for number, size in enumerate(ultraserver_sizes)
        for _ in range(size)
    ]
    group = Group("ultra", "ml.p6e-gb200.36xlarge", NodeRole.COMPUTE, Capability.BLOCK, (), len(places), 18, spares)
    return _inventory(group, places, network=2)


def cpu(count: int) -> Inventory:
    """Group "cpu": nodes without a network topology."""
    group = Group("cpu", "ml.c5.9xlarge", NodeRole.COMPUTE, Capability.NONE, (), count)
    return _inventory(group, [Placement((), None, ZONE)] * count, network=3)


def join(*parts: Inventory, partitions: dict[str, tuple[str, ...]]) -> Inventory:
    """One cluster of these groups; ``partitions``: name → groups."""
    return Inventory(
        tuple(node for part in parts for node in part.nodes),
        tuple(group for part in parts for group in part.groups),
        tuple(Partition(name, groups) for name, groups in sorted(partitions.items())),
    )


def _inventory(group: Group, places: list[Placement], *, network: int) -> Inventory:
    shuffled = random.Random(network).sample(places, len(places))  # noqa: S311 (a test wants the same each time)
    nodes = [
        Node(
            f"ip-10-{network}-{index // 250}-{index % 250 + 1}",
            f"i-{network}{index}",
            group.instance_type,
            group.name,
            place,
        )
        for index, place in enumerate(shuffled)
    ]
    return Inventory(tuple(nodes), (group,))
