"""sagemaker:ListUltraServersByReservedCapacity answers: how many instances an UltraServer has, and how many are kept
back."""

from __future__ import annotations

from dataclasses import dataclass

from .model import UltraServer
from .shapes import fact, mapping, members, number, pages

__all__ = ["UltraServers", "read"]

_WHERE = "ListUltraServersByReservedCapacity answer"


@dataclass(frozen=True)
class UltraServers:
    """UltraServers by id, and the zone (by name, such as us-west-2a) that each is in."""

    ultraservers: tuple[UltraServer, ...] = ()
    zone_names: tuple[tuple[str, str], ...] = ()  # (UltraServer id, zone name)


def read(document: object) -> UltraServers:
    """Read one answer or a list of pages, sorted by id. Raises InputError when it is no such answer."""
    found: dict[str, UltraServer] = {}
    zones: dict[str, str] = {}
    for answer in pages(document, _WHERE):
        for entry in (mapping(each, f"{_WHERE}.UltraServers") for each in members(answer, "UltraServers", _WHERE)):
            ultraserver_id = fact(entry.get("UltraServerId"))
            if ultraserver_id is None:
                continue
            found[ultraserver_id] = UltraServer(
                ultraserver_id,
                fact(entry.get("UltraServerType")),
                number(entry.get("TotalInstanceCount")),
                number(entry.get("ConfiguredSpareInstanceCount")),
            )
            zone = fact(entry.get("AvailabilityZone"))
            if zone is not None:
                zones[ultraserver_id] = zone
    return UltraServers(tuple(found[key] for key in sorted(found)), tuple(sorted(zones.items())))
