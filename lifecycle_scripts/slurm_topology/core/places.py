"""Nodes by place: thousands of nodes share some hundreds of places, and all decisions are about places.

Everything after this module costs by the place, not by the node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from .model import Finding, Node, Placement, Severity

__all__ = ["Places", "join", "only", "places_by_group", "places_of", "unique"]

Places = Mapping[Placement, Sequence[str]]  # names of the nodes in each place, in no particular order


def places_of(nodes: Iterable[Node]) -> Places:
    """Placement → names of the nodes there."""
    places: defaultdict[Placement, list[str]] = defaultdict(list)
    for name, _, _, _, placement in nodes:
        places[placement].append(name)
    return places


def places_by_group(nodes: Iterable[Node]) -> dict[str | None, Places]:
    """Group → placement → names of the nodes there."""
    groups: defaultdict[str | None, defaultdict[Placement, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, _, _, group, placement in nodes:
        groups[group][placement].append(name)
    return dict(groups)


def join(several: Sequence[Places]) -> Places:
    """The places of several disjoint sets of nodes together."""
    if len(several) == 1:
        return several[0]
    joined: defaultdict[Placement, list[str]] = defaultdict(list)
    for places in several:
        for placement, names in places.items():
            joined[placement].extend(names)
    return joined


def only(places: Places, wanted: set[str]) -> Places:
    """The part of the places that these nodes are in."""
    part = {placement: [name for name in names if name in wanted] for placement, names in places.items()}
    return {placement: names for placement, names in part.items() if names}


def unique(nodes: Sequence[Node]) -> tuple[Sequence[Node], tuple[Finding, ...]]:
    """The nodes, each name once, and a finding about each name that was there with different facts.

    Facts with a group are taken before those without, which would lose the node's partitions.
    """
    if len({node.name for node in nodes}) == len(nodes):
        return nodes, ()
    kept: dict[str, Node] = {}
    torn: set[str] = set()
    for node in sorted(nodes, key=lambda node: (node.group is None, repr(node))):
        if kept.setdefault(node.name, node) != node:
            torn.add(node.name)
    return list(kept.values()), tuple(_two_places(kept[name]) for name in sorted(torn))


def _two_places(node: Node) -> Finding:
    return Finding(
        "TOPO317",
        Severity.WARNING,
        node.name,
        f"node {node.name} is in the inventory more than once, with different facts; taken: {node.instance_id}",
        "one of the sources names it twice: compare its instance ids",
    )
