"""Nodes with network paths → topology/tree: one root per zone, every node in one leaf, no switch without meaning."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from .collapse import SWITCH_BUDGET, SwitchTree, collapse, fit_budget, reconfigure_seconds
from .fabric import ZoneFabric, build_fabric
from .model import Finding, Severity, Switch, Tree
from .names import leaf_of_switch, legal_name, name_in_zone, unplaced, zone_root
from .places import Places

__all__ = ["build_tree"]


def build_tree(places: Places, *, switch_budget: int = SWITCH_BUDGET) -> tuple[Tree, tuple[Finding, ...]]:
    """The tree for these nodes and what a person should know about it.

    Every node is in exactly one leaf, a node of unknown position in the catch-all leaf of its zone. Nodes of one zone
    share a root, nodes of different zones never do. Switches are in the order of a walk from each root, children and
    nodes by name, so that the same nodes in any order give an equal tree.
    """
    fabric = build_fabric(places)
    findings = list(fabric.findings)
    shared = _ids_of_several_zones(fabric.zones)
    trees = [_zone_tree(zone, shared) for zone in fabric.zones]
    for tree in trees:
        collapse(tree)
    findings += _unplaced_findings(fabric.zones)
    if len(fabric.zones) > 1:
        findings.append(_several_zones(fabric.zones))
    findings += _fit_budget(trees, switch_budget)
    return Tree(tuple(switch for tree in trees for switch in _emit(tree))), tuple(findings)


def _ids_of_several_zones(zones: Iterable[ZoneFabric]) -> set[str]:
    seen = Counter(switch for zone in zones for switch in zone.switches)
    return {switch for switch, times in seen.items() if times > 1}


def _zone_tree(zone: ZoneFabric, shared: set[str]) -> SwitchTree:
    """All switches of a zone under one root, before anything is collapsed."""
    switches = zone.switches
    name = {switch: name_in_zone(switch, zone.zone) if switch in shared else legal_name(switch) for switch in switches}
    children: defaultdict[str, list[str]] = defaultdict(list)
    for child, parent in zone.parents.items():
        children[name[parent]].append(name[child])
    leaves: dict[str, list[str]] = {}
    for switch, nodes in zone.nodes.items():
        leaf = name[switch]
        if leaf in children:
            children[leaf].append(leaf := leaf_of_switch(leaf))
        leaves[leaf] = nodes
    tops = [name[switch] for switch in switches if switch not in zone.parents]
    if zone.unplaced:
        leaves[unplaced(zone.zone)] = zone.unplaced
        tops.append(unplaced(zone.zone))
    root = tops[0]
    if len(tops) > 1:
        root = zone_root(zone.zone)
        children[root] = tops
    return SwitchTree(root, dict(children), leaves)


def _emit(tree: SwitchTree) -> Iterable[Switch]:
    """Depth first, so that what is near in the network is near in the file."""
    stack = [tree.root]
    while stack:
        switch = stack.pop()
        if switch in tree.nodes:
            yield Switch(switch, nodes=tuple(sorted(tree.nodes[switch])))
        else:
            below = sorted(tree.children[switch])
            yield Switch(switch, children=tuple(below))
            stack.extend(reversed(below))


def _fit_budget(trees: list[SwitchTree], budget: int) -> Iterable[Finding]:
    before = sum(map(len, trees))
    merged = fit_budget(trees, budget)
    after = sum(map(len, trees))
    if merged:
        largest = max(len(tree.nodes[switch]) for tree in trees for switch in merged if switch in tree.nodes)
        yield Finding(
            "TOPO307",
            Severity.WARNING,
            "tree",
            f"{before} switches would cost slurmctld at least {reconfigure_seconds(before):.1f} s at each start and "
            f"reconfigure, so {len(merged)} switches "
            f"became leaves ({after} switches are left): inside each of them, of up to {largest} nodes, Slurm can't "
            "tell which nodes are nearer",
            "nothing to do; split the cluster if jobs smaller than such a leaf must be compact",
        )
    if after > budget:
        yield Finding(
            "TOPO308",
            Severity.WARNING,
            "tree",
            f"the tree has {after} switches, more than {budget}: slurmctld needs at least "
            f"{reconfigure_seconds(after):.1f} s for each start and reconfigure",
            "all that is left carries information; split the cluster if that is too long",
        )


def _unplaced_findings(zones: Iterable[ZoneFabric]) -> Iterable[Finding]:
    for zone in zones:
        if zone.unplaced:
            nodes = sorted(zone.unplaced)
            yield Finding(
                "TOPO301",
                Severity.WARNING,
                nodes[0],
                f"the network position of {len(nodes)} node(s) beginning with {nodes[0]} is unknown: they are in "
                f"leaf {unplaced(zone.zone)}",
                "labels come minutes after launch; types without instance topology never get any",
            )


def _several_zones(zones: tuple[ZoneFabric, ...]) -> Finding:
    names = ", ".join(zone.zone or "unknown" for zone in zones)
    return Finding(
        "TOPO310",
        Severity.INFO,
        "tree",
        f"the nodes are in {len(zones)} zones ({names}), each with a root of its own: no job spans them, as EFA can't",
        "keep nodes that are to work together in one zone",
    )
