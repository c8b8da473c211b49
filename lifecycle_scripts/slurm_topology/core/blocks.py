"""Nodes with UltraServers → topology/block: one block per UltraServer, in an order that is topology itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from .model import Block, Blocks, Finding, Severity
from .names import legal_name, unplaced
from .places import Places

__all__ = ["build_blocks", "levels"]

_Site = tuple[str, tuple[str, ...]]  # zone ("" unknown), network path


def levels(base: int, count: int) -> tuple[int, ...]:
    """``count`` block sizes from ``base`` on: each is base·2^k, the only form that every Slurm version takes."""
    return tuple(base << k for k in range(count))


def build_blocks(places: Places, block_sizes: tuple[int, ...]) -> tuple[Blocks, tuple[Finding, ...]]:
    """The blocks for these nodes, UltraServers first and nodes without one in a catch-all block per zone at the end.

    Slurm aggregates consecutive blocks, so their order is topology: by zone, then by network path, so that blocks below
    one switch are neighbours, then by id. A node that comes, goes or is replaced moves no block that stays.
    """
    members: defaultdict[str, list[str]] = defaultdict(list)
    sites: defaultdict[str, list[tuple[int, _Site]]] = defaultdict(list)
    loose: defaultdict[str | None, list[str]] = defaultdict(list)
    for (path, ultraserver, zone), names in places.items():
        if ultraserver is None:
            loose[zone].extend(names)
        else:
            members[ultraserver].extend(names)
            sites[ultraserver].append((len(names), (zone or "", path)))
    site = {ultraserver: _main_site(candidates) for ultraserver, candidates in sites.items()}
    order = sorted(members, key=lambda ultraserver: (site[ultraserver], ultraserver))
    blocks = [Block(legal_name(each), tuple(sorted(members[each]))) for each in order]
    zones = sorted(loose, key=lambda zone: zone or "")
    blocks += [Block(unplaced(zone), tuple(sorted(loose[zone]))) for zone in zones]
    findings = [_loose(zone, loose[zone]) for zone in zones]
    return Blocks(block_sizes, tuple(blocks)), (*findings, *_zone_findings({zone for zone, _ in site.values()}))


def _main_site(candidates: list[tuple[int, _Site]]) -> _Site:
    """Where most members are; a known path before an unknown one, and in a tie the first."""
    return min(candidates, key=lambda candidate: (not candidate[1][1], -candidate[0], candidate[1]))[1]


def _loose(zone: str | None, nodes: list[str]) -> Finding:
    return Finding(
        "TOPO314",
        Severity.WARNING,
        min(nodes),
        f"the UltraServer of {len(nodes)} node(s) beginning with {min(nodes)} is unknown, or they have none: they are "
        f"in block {unplaced(zone)}",
        "ListClusterNodes tells the UltraServer minutes after launch; keep other instance types out of a block "
        "partition",
    )


def _zone_findings(zones: set[str]) -> Iterable[Finding]:
    known = sorted(zones - {""})
    if len(known) > 1:
        yield Finding(
            "TOPO315",
            Severity.WARNING,
            "block",
            f"the UltraServers are in {len(known)} zones ({', '.join(known)}): a job larger than one UltraServer may "
            "span them, and EFA can't",
            "give each zone a partition of its own",
        )
