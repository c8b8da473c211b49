"""The last known place of every node. Pure.

It belongs to the instance: a node whose instance was replaced keeps its name and may be elsewhere now, so its old
place is forgotten as soon as the new instance is known, and only then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from slurm_topology.core.model import Inventory, Node, Placement

__all__ = ["Place", "last_known", "remembered"]

FORGET_BEYOND = (
    256  # places of nodes that are gone are kept, up to as many as there are nodes, and these: memory stays bounded
)

NOWHERE = Placement()


class Place(NamedTuple):
    """Where the node was seen last, and which instance it was then (None: unknown)."""

    placement: Placement
    instance_id: str | None = None


def last_known(inventory: Inventory, places: Mapping[str, Place]) -> dict[str, Placement]:
    """The places that still count."""
    return {node.name: places[node.name].placement for node in inventory.nodes if _counts(node, places.get(node.name))}


def _counts(node: Node, place: Place | None) -> bool:
    return place is not None and (
        node.instance_id is None or place.instance_id is None or node.instance_id == place.instance_id
    )


def remembered(inventory: Inventory, places: Mapping[str, Place]) -> dict[str, Place]:
    """The places with today's news: where a source is silent, what was known stays."""
    present = {node.name for node in inventory.nodes}
    gone = sorted(set(places) - present)[: len(present) + FORGET_BEYOND]
    kept = {name: places[name] for name in gone}
    for node in inventory.nodes:
        old = places.get(node.name)
        known = old if old is not None and _counts(node, old) else Place(NOWHERE)
        merged = Place(_merged(node.placement, known.placement), node.instance_id or known.instance_id)
        if merged.placement != NOWHERE:
            kept[node.name] = merged
    return kept


def _merged(new: Placement, old: Placement) -> Placement:
    return Placement(
        new.network_nodes or old.network_nodes, new.ultraserver_id or old.ultraserver_id, new.zone or old.zone
    )
