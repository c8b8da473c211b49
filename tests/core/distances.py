"""How near nodes are to each other in a tree: the measure that collapsing must not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slurm_topology.core.model import Tree

__all__ = ["nearness", "same_order"]


def nearness(tree: Tree) -> dict[str, dict[str, int]]:
    """node → other node → depth of their lowest common switch (-1: none). Deeper is nearer."""
    parents = {child: switch.name for switch in tree.switches for child in switch.children}
    ways = {node: _way(switch.name, parents) for switch in tree.switches for node in switch.nodes}
    return {one: {other: _common(way, ways[other]) for other in ways if other != one} for one, way in ways.items()}


def _way(switch: str, parents: Mapping[str, str]) -> list[str]:
    """The switches from the root down to this one."""
    way = [switch]
    while way[-1] in parents:
        way.append(parents[way[-1]])
    return way[::-1]


def _common(one: Iterable[str], other: Iterable[str]) -> int:
    depth = -1
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        depth += 1
    return depth


def same_order(one: Mapping[str, Mapping[str, int]], other: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether, for every node, all other nodes are in the same order by distance in both."""
    return one.keys() == other.keys() and all(_ranks(one[node]) == _ranks(other[node]) for node in one)


def _ranks(depths: Mapping[str, int]) -> dict[str, int]:
    order = {depth: rank for rank, depth in enumerate(sorted(set(depths.values())))}
    return {node: order[depth] for node, depth in depths.items()}
