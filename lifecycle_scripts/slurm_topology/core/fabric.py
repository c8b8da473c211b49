"""Who is below whom: from the paths of many nodes to one forest of switches per Availability Zone.

Invariant: every switch has one parent at most, no switch is above itself, every node is in exactly one place, and no
two zones share a switch. Paths of any depth are welcome: a switch is what its id says, not what its layer's number
says, so paths meet where they share an id, and a short path hangs where its last known switch is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from .model import Finding, Node, Severity

__all__ = ["Fabric", "ZoneFabric", "build_fabric"]


class _Bucket(NamedTuple):
    """Nodes that share a place."""

    zone: str | None
    path: tuple[str, ...]
    nodes: list[str]


@dataclass(frozen=True)
class ZoneFabric:
    """The switches of one zone by id: ``parents`` has no entry for a top switch."""

    zone: str | None
    parents: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, list[str]] = field(default_factory=dict)  # last known switch → nodes
    unplaced: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Fabric:
    """All zones, sorted (the unknown one first)."""

    zones: tuple[ZoneFabric, ...]
    findings: tuple[Finding, ...]


def build_fabric(nodes: Iterable[Node]) -> Fabric:
    """Sort nodes into zones and below switches. The order of the nodes has no influence."""
    findings: list[Finding] = []
    buckets = _with_zones(_with_ultraservers(nodes), findings)
    by_zone: defaultdict[str | None, list[_Bucket]] = defaultdict(list)
    for bucket in buckets:
        by_zone[bucket.zone].append(bucket)
    zones = tuple(_zone_fabric(zone, by_zone[zone], findings) for zone in sorted(by_zone, key=lambda zone: zone or ""))
    return Fabric(zones, tuple(findings))


def _with_ultraservers(nodes: Iterable[Node]) -> list[_Bucket]:
    """Buckets of equal place, in which an UltraServer that sits below one switch is a leaf of its own.

    A member whose path is unknown is where its UltraServer is. An UltraServer whose members name different paths
    can't be a leaf: its nodes stay where their own paths say.
    """
    by_place: defaultdict[tuple[str | None, tuple[str, ...], str | None], list[str]] = defaultdict(list)
    for name, _, _, _, (path, ultraserver, zone) in nodes:
        by_place[zone, path, ultraserver].append(name)
    homes: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    switches: set[str] = set()
    for _, path, ultraserver in by_place:
        switches.update(path)
        if ultraserver is not None:
            homes[ultraserver].add(path)
    leaves: dict[str, tuple[str, ...]] = {}
    for ultraserver, paths in homes.items():
        known = paths - {()}
        if len(known) <= 1 and ultraserver not in switches:
            leaves[ultraserver] = (*next(iter(known), ()), ultraserver)
    merged: defaultdict[tuple[str | None, tuple[str, ...]], list[str]] = defaultdict(list)
    for (zone, path, ultraserver), names in by_place.items():
        merged[zone, leaves.get(ultraserver, path) if ultraserver is not None else path] += names
    return [_Bucket(zone, path, names) for (zone, path), names in merged.items()]


def _with_zones(buckets: list[_Bucket], findings: list[Finding]) -> list[_Bucket]:
    """Give buckets without a zone the one that their switches are in; with one zone at most, everything is in it."""
    known = {bucket.zone for bucket in buckets if bucket.zone is not None}
    if len(known) <= 1:
        only = next(iter(known), None)
        return [bucket._replace(zone=only) for bucket in buckets]
    zone_of = _zone_of_switches(buckets, findings)
    placed = []
    for bucket in buckets:
        zone = bucket.zone or next((zone_of[switch] for switch in reversed(bucket.path) if switch in zone_of), None)
        placed.append(bucket._replace(zone=zone))
        if zone is None:
            findings.append(_unknown_zone(bucket, len(known)))
    return placed


def _zone_of_switches(buckets: list[_Bucket], findings: list[Finding]) -> dict[str, str]:
    """The zone that most nodes below a switch are in; in a tie, the first by name."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for bucket in buckets:
        if bucket.zone is not None:
            for switch in bucket.path:
                votes[switch][bucket.zone] += len(bucket.nodes)
    torn = (switch for switch in sorted(votes) if len(votes[switch]) > 1)
    findings.extend(_two_zones(switch, sorted(votes[switch])) for switch in torn)
    return {switch: min(zones, key=lambda zone: (-zones[zone], zone)) for switch, zones in votes.items()}


def _zone_fabric(zone: str | None, buckets: list[_Bucket], findings: list[Finding]) -> ZoneFabric:
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    fabric = ZoneFabric(zone)
    for _, path, names in buckets:
        if not path:
            fabric.unplaced.extend(names)
            continue
        fabric.nodes.setdefault(path[-1], []).extend(names)
        for parent, child in pairwise(path):
            if parent != child:
                votes[child][parent] += len(names)
    fabric.parents.update(_parents(votes, findings))
    _cut_loops(fabric.parents, findings)
    return fabric


def _parents(votes: Mapping[str, Counter[str]], findings: list[Finding]) -> dict[str, str]:
    """One parent per switch: the one that most nodes name; in a tie, the first by name."""
    parents: dict[str, str] = {}
    for child in sorted(votes):
        candidates = votes[child]
        parents[child] = min(candidates, key=lambda parent: (-candidates[parent], parent))
        if len(candidates) > 1:
            findings.append(_two_parents(child, sorted(candidates), parents[child]))
    return parents


def _cut_loops(parents: dict[str, str], findings: list[Finding]) -> None:
    """Take the parent from the first switch by name of every loop."""
    settled: set[str] = set()
    for start in sorted(parents):
        way: dict[str, None] = {}
        switch = start
        while switch in parents and switch not in settled and switch not in way:
            way[switch] = None
            switch = parents[switch]
        if switch in way:
            loop = list(way)[list(way).index(switch) :]
            del parents[min(loop)]
            findings.append(_loop(sorted(loop)))
        settled.update(way)


def _two_parents(switch: str, candidates: list[str], chosen: str) -> Finding:
    return Finding(
        "TOPO303",
        Severity.WARNING,
        switch,
        f"network node {switch} is below {' and below '.join(candidates)}, depending on the node asked; taken: "
        f"{chosen}",
        "usually one node's labels are older than the others'; look at the nodes below the switch that was not taken",
    )


def _loop(switches: list[str]) -> Finding:
    return Finding(
        "TOPO304",
        Severity.WARNING,
        switches[0],
        f"network nodes {', '.join(switches)} are above each other; {switches[0]} is taken for the top one",
        "the labels of at least one node are wrong; compare those of the nodes below these switches",
    )


def _two_zones(switch: str, zones: list[str]) -> Finding:
    return Finding(
        "TOPO305",
        Severity.WARNING,
        switch,
        f"network node {switch} is named by nodes in {' and '.join(zones)}; each zone gets a switch of its own",
        "a network node is in one zone: compare labels and zones of the nodes below it",
    )


def _unknown_zone(bucket: _Bucket, zones: int) -> Finding:
    nodes = sorted(bucket.nodes)
    return Finding(
        "TOPO306",
        Severity.WARNING,
        nodes[0],
        f"{len(nodes)} node(s) beginning with {nodes[0]} are in no known zone while the cluster has {zones}: no job "
        "can use them together with others",
        "give the answers of DescribeClusterNode, which name the zone",
    )
