"""The topology in force, asked from the running slurmctld and nobody else.

`scontrol show topology` prints `SwitchName=… Level=0 … Nodes=…` for a leaf and `BlockName=… Nodes=…` for a block.
Host lists are expanded by Slurm itself, so that this judge shares no code with what it judges.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from slurm_lab.lab import Lab

__all__ = ["changes", "leaves_in_force", "picture", "same_grouping", "switch_count"]

Leaves = dict[str, tuple[str, ...]]


def leaves_in_force(lab: Lab) -> Leaves:
    """Leaf switch (or block) → its nodes, as slurmctld uses them now."""
    shown = lab.scontrol("show", "topology", check=False)
    found: Leaves = {}
    for line in shown.splitlines():
        match = re.search(r"(?:SwitchName=(\S+) Level=0|BlockName=(\S+)) .*?Nodes=(\S+)", line)
        if match:
            hosts = lab.scontrol("show", "hostnames", match[3]).split()
            found[match[1] or match[2]] = tuple(hosts)
    return found


def switch_count(lab: Lab) -> int:
    return lab.scontrol("show", "topology", check=False).count("SwitchName=")


def same_grouping(leaves: Leaves, labels: Mapping[str, str | None]) -> bool:
    """Every node once, those with a label together with exactly those that carry the same label."""
    seen = [node for nodes in leaves.values() for node in nodes]
    if sorted(seen) != sorted(labels):
        return False
    wanted: dict[str, set[str]] = defaultdict(set)
    for node, label in labels.items():
        if label is not None:
            wanted[label].add(node)
    groups = [frozenset(node for node in nodes if labels[node] is not None) for nodes in leaves.values()]
    return {group for group in groups if group} == {frozenset(nodes) for nodes in wanted.values()}


def changes(before: Leaves, after: Leaves) -> dict[str, list[str]]:
    """What happened to the nodes: added, removed, moved (to another set of neighbours under another name)."""
    old = {node: leaf for leaf, nodes in before.items() for node in nodes}
    new = {node: leaf for leaf, nodes in after.items() for node in nodes}
    return {
        "added": sorted(set(new) - set(old)),
        "removed": sorted(set(old) - set(new)),
        "moved": sorted(node for node in set(old) & set(new) if old[node] != new[node]),
    }


def picture(leaves: Leaves, marks: Mapping[str, str] | None = None) -> str:
    """The leaves as lines, the ends of the node names, marked nodes with their mark (such as a job)."""
    marks = marks or {}
    lines = []
    for leaf, nodes in sorted(leaves.items()):
        cells = [f"{'-'.join(node.split('-')[-2:])}{marks.get(node, '')}" for node in nodes]
        lines.append(f"{leaf:<24} {len(nodes):3d} nodes: {' '.join(cells)}")
    return "\n".join(lines)
