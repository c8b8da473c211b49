"""Nodes with UltraServers → topology/block: one block per UltraServer, in an order that is topology itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from .model import Block, Blocks, Finding, Node, Severity
from .names import legal_name, unplaced

__all__ = ["build_blocks", "levels"]

_Places = Counter[tuple[str, tuple[str, ...]]]


def levels(base: int, count: int) -> tuple[int, ...]:
    """``count`` block sizes from ``base`` on: each is base·2^k, the only form that every Slurm version takes."""
    return tuple(base << k for k in range(count))


def build_blocks(nodes: Iterable[Node], block_sizes: tuple[int, ...]) -> tuple[Blocks, tuple[Finding, ...]]:
    """The blocks for these nodes, UltraServers first and nodes without one in a catch-all block per zone at the end.

    Slurm aggregates consecutive blocks, so their order is topology: by zone, then by network path, so that blocks
    below one switch are neighbours, then by id. A node that comes, goes or is replaced moves no block that stays.
    """
    members: defaultdict[str, list[str]] = defaultdict(list)
    places: defaultdict[str, _Places] = defaultdict(Counter)
    loose: defaultdict[str | None, list[str]] = defaultdict(list)
    for name, _, _, _, (path, ultraserver, zone) in nodes:
        if ultraserver is None:
            loose[zone].append(name)
        else:
            members[ultraserver].append(name)
            places[ultraserver][zone or "", path] += 1
    order = sorted(members, key=lambda ultraserver: (_place(places[ultraserver]), ultraserver))
    blocks = [Block(legal_name(each), tuple(sorted(members[each]))) for each in order]
    blocks += [Block(unplaced(zone), tuple(sorted(loose[zone]))) for zone in sorted(loose, key=lambda zone: zone or "")]
    findings = [*_loose_findings(loose), *_zone_findings({_place(places[each])[0] for each in order})]
    return Blocks(block_sizes, tuple(blocks)), tuple(findings)


def _place(votes: _Places) -> tuple[str, tuple[str, ...]]:
    """Zone and path that most members name (known before unknown); in a tie, the first."""
    return min(votes, key=lambda place: (not place[1], -votes[place], place))


def _loose_findings(loose: dict[str | None, list[str]]) -> Iterable[Finding]:
    for zone in sorted(loose, key=lambda zone: zone or ""):
        nodes = sorted(loose[zone])
        yield Finding(
            "TOPO314",
            Severity.WARNING,
            nodes[0],
            f"the UltraServer of {len(nodes)} node(s) beginning with {nodes[0]} is unknown, or they have none: they "
            f"are in block {unplaced(zone)}",
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
            f"the UltraServers are in {len(known)} zones ({', '.join(known)}): a job larger than one UltraServer "
            "may span them, and EFA can't",
            "give each zone a partition of its own",
        )
