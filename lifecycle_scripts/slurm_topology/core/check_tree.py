"""What slurmctld refuses or quietly mangles in a tree (src/plugins/topology/tree/switch_record.c)."""

from __future__ import annotations

from . import check_rules as rules
from .check_names import check_unit_names
from .check_rules import Report, shorten, unit_subject
from .model import Tree
from .slurm_version import SlurmVersion

__all__ = ["SWITCH_BUDGET", "check_tree"]

SWITCH_BUDGET = 1000  # start and reconfigure cost 2.4 to 3e-10 s times the switches cubed, twice that was seen at 2,111
_SECONDS_PER_CUBIC_SWITCH = 3e-10


def check_tree(report: Report, tree: Tree, topology: str, version: SlurmVersion) -> None:
    """``topology``: its name, for subjects; "" in a topology.conf."""
    check_unit_names(report, "switch", [switch.name for switch in tree.switches], topology)
    _check_members(report, tree, topology, version)
    parents = _parents(report, tree, topology)
    _check_loops(report, tree, topology, parents)
    _check_roots(report, tree, topology, parents)
    count = len(tree.switches)
    if count > SWITCH_BUDGET:
        cost = f"about {_SECONDS_PER_CUBIC_SWITCH * count**3:.1f} s of each start and reconfigure"
        message = f"{count} switches cost slurmctld {cost}, expected up to {SWITCH_BUDGET}"
        report.add(rules.MANY_SWITCHES, _subject(topology), message)


def _subject(topology: str) -> str:
    return f"topology {topology}" if topology else "the tree"


def _check_members(report: Report, tree: Tree, topology: str, version: SlurmVersion) -> None:
    empty = rules.EMPTY_SWITCH if version.has_topology_yaml else rules.EMPTY_SWITCH_FATAL
    for name, children, nodes in tree.switches:
        if children and nodes:
            message = f"has {len(children)} child switches and {shorten(set(nodes))}: expected one of the two"
            report.add(rules.NODES_AND_CHILDREN, unit_subject("switch", name, topology), message)
        elif not children and not nodes:
            report.add(empty, unit_subject("switch", name, topology), "has neither nodes nor child switches")


def _parents(report: Report, tree: Tree, topology: str) -> dict[str, list[str]]:
    """Switch → the switches above it, undefined children left out (and reported)."""
    parents: dict[str, list[str]] = {switch.name: [] for switch in tree.switches}
    for name, children, _ in tree.switches:
        for child in children:
            if child in parents:
                parents[child].append(name)
            else:
                message = f"has the child {child!r}, which is not defined"
                report.add(rules.UNDEFINED_CHILD, unit_subject("switch", name, topology), message)
    for child, above in parents.items():
        if len(above) > 1:
            message = f"is a child of {' and of '.join(above[:5])}: expected one parent, once"
            report.add(rules.TWO_PARENTS, unit_subject("switch", child, topology), message)
    return parents


def _check_loops(report: Report, tree: Tree, topology: str, parents: dict[str, list[str]]) -> None:
    """Take away switches with nothing above them, again and again: what stays is in a loop or below one."""
    above = {child: len(names) for child, names in parents.items()}
    children: dict[str, list[str]] = {}
    for name, below, _ in tree.switches:
        children.setdefault(name, []).extend(below)
    free = [name for name, count in above.items() if not count]
    for name in free:
        for child in children[name]:
            if child in above:
                above[child] -= 1
                if not above[child]:
                    free.append(child)
    if len(free) < len(above):
        looping = sorted(set(above) - set(free))
        shown = ", ".join(looping[:10]) + (", …" if len(looping) > 10 else "")
        message = f"is in a loop or below one, with {len(looping)} switches in all: {shown}"
        report.add(rules.LOOP, unit_subject("switch", looping[0], topology), message)


def _check_roots(report: Report, tree: Tree, topology: str, parents: dict[str, list[str]]) -> None:
    """Jobs never span roots. Empty switches join nothing and are no roots."""
    roots = [switch for switch in tree.switches if not parents[switch.name] and (switch.nodes or switch.children)]
    if len(roots) < 2:
        return
    lone = [root.name for root in roots if root.nodes]
    leaves = f"; {len(lone)} of them are leaf switches without a parent: {', '.join(lone[:5])}" if lone else ""
    shown = ", ".join(root.name for root in roots[:10]) + (", …" if len(roots) > 10 else "")
    report.add(rules.SEVERAL_ROOTS, _subject(topology), f"no job spans its {len(roots)} roots ({shown}){leaves}")
