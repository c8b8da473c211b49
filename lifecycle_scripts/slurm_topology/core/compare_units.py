"""What changed inside one topology: nodes, switches and blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from .difference import Change, UnitChanges
from .model import Blocks, Flat, Tree

__all__ = ["below", "diff_topology"]

_Body = Tree | Blocks | Flat


class _Units(NamedTuple):
    """A topology's switches or blocks, as far as they can be compared."""

    leaf_of: dict[str, str]  # node → its leaf switch or block
    members: dict[str, frozenset[str]]  # leaf switch or block → its nodes
    inner: dict[str, frozenset[str]]  # other switch → the nodes below it
    parent_of: dict[str, str]  # switch → the switch above it


def diff_topology(a: _Body | None, b: _Body | None) -> tuple[str, str, UnitChanges]:
    """(kind before, kind after, changes); a kind is "" where there is no such topology."""
    return _kind(a), _kind(b), _changes(a, b)


def below(tree: Tree) -> dict[str, frozenset[str]]:
    """Switch → all nodes below it. Where switches loop (slurmctld refuses that), only the nodes of their own."""
    waiting = {switch.name: len(set(switch.children)) for switch in tree.switches}
    parents: dict[str, list[str]] = {}
    for switch in tree.switches:
        for child in set(switch.children):
            if child in waiting:
                parents.setdefault(child, []).append(switch.name)
            else:
                waiting[switch.name] -= 1
    found: dict[str, set[str]] = {switch.name: set(switch.nodes) for switch in tree.switches}
    ready = [name for name, count in waiting.items() if not count]
    for name in ready:
        for parent in parents.get(name, ()):
            found[parent] |= found[name]
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    return {name: frozenset(nodes) for name, nodes in found.items()}


def _kind(body: _Body | None) -> str:
    return "" if body is None else {Tree: "tree", Blocks: "block", Flat: "flat"}[type(body)]


def _changes(a: _Body | None, b: _Body | None) -> UnitChanges:
    before, after = _units(a), _units(b)
    if _kind(a) != _kind(b):
        return UnitChanges()
    renamed = {**_renamed(before.members, after.members), **_renamed(before.inner, after.inner)}
    common = before.leaf_of.keys() & after.leaf_of.keys()
    return UnitChanges(
        added=tuple(sorted(after.leaf_of.keys() - common)),
        lost=tuple(sorted(before.leaf_of.keys() - common)),
        moved=_moved({node: before.leaf_of[node] for node in common}, after.leaf_of, renamed),
        renamed=tuple(Change(old, old, new) for old, new in sorted(renamed.items())),
        moved_switches=_moved(before.parent_of, after.parent_of, renamed),
        sizes_before=a.block_sizes if isinstance(a, Blocks) else (),
        sizes_after=b.block_sizes if isinstance(b, Blocks) else (),
        reordered=_reordered(a, b, renamed),
    )


def _units(body: _Body | None) -> _Units:
    leaf_of: dict[str, str] = {}
    if isinstance(body, Blocks):
        members = {block.name: frozenset(block.nodes) for block in body.blocks}
        for name, nodes in members.items():
            leaf_of.update(dict.fromkeys(nodes, name))
        return _Units(leaf_of, members, {}, {})
    if not isinstance(body, Tree):
        return _Units({}, {}, {}, {})
    members = {switch.name: frozenset(switch.nodes) for switch in body.switches if not switch.children}
    for name, nodes in members.items():
        leaf_of.update(dict.fromkeys(nodes, name))
    inner = {name: nodes for name, nodes in below(body).items() if name not in members}
    parent_of = {child: switch.name for switch in body.switches for child in switch.children}
    return _Units(leaf_of, members, inner, parent_of)


def _renamed(before: Mapping[str, frozenset[str]], after: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Old name → new name: more than half of the nodes of the one are more than half of those of the other."""
    gone = {name: nodes for name, nodes in before.items() if name not in after}
    new_of: dict[str, list[str]] = {}
    for name, nodes in after.items():
        if name not in before:
            for node in nodes:
                new_of.setdefault(node, []).append(name)
    renamed: dict[str, str] = {}
    for old, nodes in sorted(gone.items()):
        shared = Counter(name for node in nodes for name in new_of.get(node, ()))
        for new, count in sorted(shared.items(), key=lambda item: (-item[1], item[0])):
            if 2 * count > max(len(nodes), len(after[new])) and new not in renamed.values():
                renamed[old] = new
                break
    return renamed


def _moved(before: Mapping[str, str], after: Mapping[str, str], renamed: Mapping[str, str]) -> tuple[Change, ...]:
    """What is below another switch or in another block than before, by its name of before."""
    changes = []
    for name, old in sorted(before.items()):
        new = after.get(renamed.get(name, name))
        if new is not None and new != renamed.get(old, old):
            changes.append(Change(name, old, new))
    return tuple(changes)


def _reordered(a: _Body | None, b: _Body | None, renamed: Mapping[str, str]) -> bool:
    """Whether blocks that are in both stand in another order: Slurm aggregates neighbours."""
    if not isinstance(a, Blocks) or not isinstance(b, Blocks):
        return False
    before = [renamed.get(block.name, block.name) for block in a.blocks]
    after = [block.name for block in b.blocks]
    common = set(before) & set(after)
    return [name for name in before if name in common] != [name for name in after if name in common]
