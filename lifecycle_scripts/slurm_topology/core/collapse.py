"""Fewer switches with the same meaning, and, only above the budget, with less of it.

slurmctld's start and reconfigure cost grows with the cube of the number of switches (switch_record.c; measured 2.4 to
3·10⁻¹⁰ s · S³: 1,000 switches 0.3 s, 2,000 switches 2.4 s, 4,220 switches 22 s, during which no RPC is answered). A
switch that carries no information is therefore removed. "No information" is: for every node, the order of all other
nodes by distance stays the same.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

__all__ = ["SWITCH_BUDGET", "SwitchTree", "collapse", "fit_budget", "reconfigure_seconds"]

SWITCH_BUDGET = 1000  # 0.3 s; the next measured point, 2,111 switches, took 3.5 to 4.5 s


def reconfigure_seconds(switches: int) -> float:
    """What slurmctld spends on that many switches at a start or reconfigure, at least: measured on an idle machine; a
    busy one with 10,000 nodes took ten times as long (benchmarks/bench_slurmctld.py)."""
    return 3e-10 * switches**3


@dataclass
class SwitchTree:
    """One zone's switches by name while they are being worked on. A switch has children or nodes, never both."""

    root: str
    children: dict[str, list[str]] = field(default_factory=dict)
    nodes: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.children) + len(self.nodes)

    def top_down(self) -> list[str]:
        """Every switch, each before its children. Not recursive: a path may be deeper than Python's stack."""
        order = [self.root]
        for switch in order:
            order.extend(self.children.get(switch, ()))
        return order


def collapse(tree: SwitchTree) -> None:
    """Remove every switch that carries no information, from the bottom up:

    * a switch below which there are no nodes goes (contradictory paths can leave one);
    * a switch with a single child is replaced by that child: nothing is nearer to anything because of it;
    * a switch whose children are all leaves of one node becomes one leaf: all those nodes were equally near before,
      too.
    """
    replaced: dict[str, str | None] = {}
    for switch in reversed(tree.top_down()):
        if switch in tree.nodes:
            continue
        candidates = (replaced.get(child, child) for child in tree.children.get(switch, ()))
        below = [child for child in candidates if child is not None]
        tree.children[switch] = below
        if len(below) <= 1:
            del tree.children[switch]
            replaced[switch] = below[0] if below else None
        elif all(len(tree.nodes.get(child, ())) == 1 for child in below):
            _merge_leaves(tree, switch)
    tree.root = replaced.get(tree.root, tree.root) or tree.root


def _merge_leaves(tree: SwitchTree, switch: str) -> None:
    """Make a switch above leaves a leaf with all their nodes."""
    tree.nodes[switch] = [node for leaf in tree.children.pop(switch) for node in tree.nodes.pop(leaf)]


def fit_budget(trees: list[SwitchTree], budget: int) -> list[str]:
    """Make leaves of the smallest lowest-but-one switches until at most ``budget`` switches are left, or no more can
    go.

    Inside such a leaf Slurm no longer knows who is nearer; between leaves nothing is lost. Roots stay, so that
    something is left to tell apart. Returns the switches that became leaves.
    """
    total = sum(map(len, trees))
    if total <= budget:
        return []
    parents = [{child: switch for switch, below in tree.children.items() for child in below} for tree in trees]
    heap = [(size, name, index) for index, tree in enumerate(trees) for name, size in _mergeable(tree)]
    heapq.heapify(heap)
    merged: list[str] = []
    while total > budget and heap:
        _, switch, index = heapq.heappop(heap)
        tree = trees[index]
        total -= len(tree.children[switch])
        _merge_leaves(tree, switch)
        merged.append(switch)
        above = parents[index].get(switch)
        if above is not None and above != tree.root and _only_leaves_below(tree, above):
            heapq.heappush(heap, (_size(tree, above), above, index))
    return merged


def _mergeable(tree: SwitchTree) -> list[tuple[str, int]]:
    return [
        (switch, _size(tree, switch))
        for switch in tree.children
        if switch != tree.root and _only_leaves_below(tree, switch)
    ]


def _only_leaves_below(tree: SwitchTree, switch: str) -> bool:
    return all(child in tree.nodes for child in tree.children[switch])


def _size(tree: SwitchTree, switch: str) -> int:
    return sum(len(tree.nodes[leaf]) for leaf in tree.children[switch])
