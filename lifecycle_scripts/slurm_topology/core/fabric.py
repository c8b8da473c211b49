"""Who is below whom: from the paths of many nodes to one forest of switches per Availability Zone.

Invariant: every switch has one parent at most, no switch is above itself, every node is in exactly one place, and no
two zones share a switch. Paths of any depth are welcome: a switch is what its id says, not what its layer's number
says, so paths meet where they share an id, and a short path hangs where its last known switch is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from .model import Finding, Severity
from .places import Places

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

    @property
    def switches(self) -> set[str]:
        return {*self.parents, *self.parents.values(), *self.nodes}


@dataclass(frozen=True)
class Fabric:
    """All zones, sorted (the unknown one first)."""

    zones: tuple[ZoneFabric, ...]
    findings: tuple[Finding, ...]


def build_fabric(places: Places) -> Fabric:
    """Sort nodes into zones and below switches. The order of the places has no influence."""
    findings: list[Finding] = []
    by_zone: defaultdict[str | None, list[_Bucket]] = defaultdict(list)
    for bucket in _with_zones(_with_ultraservers(places), findings):
        by_zone[bucket.zone].append(bucket)
    zones = sorted(by_zone, key=lambda zone: zone or "")
    return Fabric(tuple(_zone_fabric(zone, by_zone[zone], findings) for zone in zones), tuple(findings))


def _with_ultraservers(places: Places) -> list[_Bucket]:
    """Buckets in which an UltraServer that sits below one switch is a leaf of its own: nothing is nearer than NVLink.

    A member whose path is unknown is where its UltraServer is. An UltraServer whose members name different paths can't
    be a leaf: its nodes stay where their own paths say.
    """
    paths: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    switches: set[str] = set()
    for path, ultraserver, _ in places:
        switches.update(path)
        if ultraserver is not None:
            paths[ultraserver].add(path)
    leaves: dict[str | None, tuple[str, ...]] = {}
    for ultraserver, own in paths.items():
        known = own - {()}
        if len(known) <= 1 and ultraserver not in switches:
            leaves[ultraserver] = (*next(iter(known), ()), ultraserver)
    merged: defaultdict[tuple[str | None, tuple[str, ...]], list[str]] = defaultdict(list)
    for (path, ultraserver, zone), names in places.items():
        merged[zone, leaves.get(ultraserver, path)] += names
    return [_Bucket(zone, path, names) for (zone, path), names in merged.items()]


def _with_zones(buckets: list[_Bucket], findings: list[Finding]) -> list[_Bucket]:
    """Give buckets without a zone the one that their switches are in; with one zone at most, everything is in it."""
    known = {bucket.zone for bucket in buckets if bucket.zone is not None}
    if len(known) <= 1:
        only = next(iter(known), None)
        return [bucket if bucket.zone == only else bucket._replace(zone=only) for bucket in buckets]
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
    return {switch: _winner(zones) for switch, zones in votes.items()}


def _winner(votes: Counter[str]) -> str:
    """Who has most votes; in a tie, the first by name."""
    return min(votes, key=lambda candidate: (-votes[candidate], candidate))


def _zone_fabric(zone: str | None, buckets: list[_Bucket], findings: list[Finding]) -> ZoneFabric:
    fabric = ZoneFabric(zone)
    contested: set[str] = set()
    for _, path, names in buckets:
        if not path:
            fabric.unplaced.extend(names)
            continue
        fabric.nodes.setdefault(path[-1], []).extend(names)
        for parent, child in pairwise(path):
            if parent != child and fabric.parents.setdefault(child, parent) != parent:
                contested.add(child)
    if contested:
        _settle(fabric.parents, contested, buckets, findings)
    _cut_loops(fabric.parents, findings)
    return fabric


def _settle(parents: dict[str, str], contested: set[str], buckets: Iterable[_Bucket], findings: list[Finding]) -> None:
    """Give each switch for which several parents were named the one that most nodes name."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for bucket in buckets:
        for parent, child in pairwise(bucket.path):
            if child in contested and parent != child:
                votes[child][parent] += len(bucket.nodes)
    for child in sorted(contested):
        parents[child] = _winner(votes[child])
        findings.append(_two_parents(child, sorted(votes[child]), parents[child]))


def _cut_loops(parents: dict[str, str], findings: list[Finding]) -> None:
    """Take the parent from the first switch by name of every loop."""
    settled: set[str] = set()
    for start in list(parents):
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
    first = min(bucket.nodes)
    return Finding(
        "TOPO306",
        Severity.WARNING,
        first,
        f"{len(bucket.nodes)} node(s) beginning with {first} are in no known zone while the cluster has {zones}: no "
        "job can use them together with others",
        "give the answers of DescribeClusterNode, which name the zone",
    )
