"""Slurm's own view of the topology in force, read and held against what it should be. Pure.

Two forms: `scontrol show topology` (one topology, conf-like lines; a parent switch also lists the nodes below it; a
block's line has its size, and aggregates have lines of their own) and `scontrol show topoconf` (25.05+, YAML of all
topologies, empty when a topology.conf is in force). Both are what Slurm prints, so a few lines of our own read them;
10,000 nodes cost milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from slurm_topology.core import hostlist
from slurm_topology.core.errors import HostListError
from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree

__all__ = ["FLAT", "Disagreement", "disagreements", "read_topoconf", "read_topology"]

FIELD = re.compile(r"(\w+)=(\S*)")
ENTRY = re.compile(
    r"^\s*(?:-\s+)?(topology|cluster_default|switch|children|nodes|block|block_sizes|flat)\s*:\s*(.*?)\s*$"
)
NUMBER = re.compile(r"^\s*-\s+(\d+)\s*$")
NODES_LIMIT = 200_000


FLAT = ClusterTopology((NamedTopology("default", Flat(), True),))


class Disagreement(NamedTuple):
    """One way in which Slurm's view differs from what was wanted."""

    topology: str
    message: str


def read_topology(text: str) -> ClusterTopology:
    """What `scontrol show topology` printed; no topology at all when it printed nothing of use."""
    switches: list[Switch] = []
    blocks: list[Block] = []
    sizes: set[int] = set()
    for line in text.splitlines():
        found = dict(FIELD.findall(line))
        if "SwitchName" in found:
            children = tuple(expand(found.get("Switches", "")))
            switches.append(
                Switch(found["SwitchName"], children, () if children else tuple(expand(found.get("Nodes", ""))))
            )
        elif "BlockName" in found:
            blocks.append(Block(found["BlockName"], tuple(expand(found.get("Nodes", "")))))
        if found.get("BlockSize", "").isdigit():
            sizes.add(int(found["BlockSize"]))
    if not blocks and not switches:
        return ClusterTopology()
    body = Blocks(tuple(sorted(sizes)), tuple(blocks)) if blocks else Tree(tuple(switches))
    return ClusterTopology((NamedTopology("default", body, True),))


def read_topoconf(text: str) -> ClusterTopology | None:
    """What `scontrol show topoconf` printed; None when no topology.yaml is in force."""
    topologies = [topology for piece in _pieces(text) if (topology := _named(piece)) is not None]
    return ClusterTopology(tuple(topologies)) if topologies else None


def _pieces(text: str) -> Iterator[list[tuple[str, str]]]:
    """The (key, value) pairs of each topology, in order; a list item that is a number has the key "-"."""
    piece: list[tuple[str, str]] = []
    for line in text.splitlines():
        if number := NUMBER.match(line):
            piece.append(("-", number[1]))
        elif entry := ENTRY.match(line):
            if entry[1] == "topology" and piece:
                yield piece
                piece = []
            piece.append((entry[1], entry[2].strip("'\"")))
    if piece:
        yield piece


def _named(pairs: list[tuple[str, str]]) -> NamedTopology | None:
    """One topology; None for the empty one that Slurm prints when it was configured by topology.conf."""
    values = dict(pairs)
    switches: list[Switch] = []
    blocks: list[Block] = []
    for key, value in pairs:
        if key == "switch":
            switches.append(Switch(value))
        elif key == "block" and value not in ("", "{}"):
            blocks.append(Block(value))
        elif key == "children" and value:
            switches[-1] = switches[-1]._replace(children=tuple(expand(value)))
        elif key == "nodes" and value:
            if blocks:
                blocks[-1] = blocks[-1]._replace(nodes=tuple(expand(value)))
            else:
                switches[-1] = switches[-1]._replace(nodes=tuple(expand(value)))
    sizes = tuple(int(value) for key, value in pairs if key == "-")
    body: Tree | Blocks | Flat | None = (
        Blocks(sizes, tuple(blocks)) if blocks or sizes else Tree(tuple(switches)) if switches else None
    )
    if body is None and values.get("flat") == "true":
        body = Flat()
    return (
        None
        if body is None
        else NamedTopology(values.get("topology", ""), body, values.get("cluster_default") == "true")
    )


def expand(text: str) -> list[str]:
    """A host list of Slurm's; empty when it is odd (Slurm cuts some lines), which then shows as a disagreement."""
    if text in ("", "(null)"):
        return []
    try:
        return hostlist.expand(text, NODES_LIMIT)
    except HostListError:
        return []


def disagreements(
    wanted: ClusterTopology, seen: ClusterTopology, *, absent_allowed: bool = False
) -> list[Disagreement]:
    """Where Slurm's view differs from the wanted one; empty when every node sits where it should.

    Names of the topologies are compared only when there is more than one (`scontrol show topology` doesn't tell
    them). Block sizes above the base aren't compared: Slurm shows only those that its blocks can fill.
    ``absent_allowed``: nodes may be missing in the view (25.11.0 to .2 leave powered-down nodes out of blocks).
    """
    if len(wanted.topologies) <= 1:
        pairs = [(topology, seen.topologies[0] if seen.topologies else None) for topology in wanted.topologies]
    else:
        named = {topology.name: topology for topology in seen.topologies}
        pairs = [(topology, named.get(topology.name)) for topology in wanted.topologies]
    found: list[Disagreement] = []
    for one, other in pairs:
        if other is None:
            found.append(Disagreement(one.name, "Slurm doesn't know this topology"))
        else:
            found += (Disagreement(one.name, text) for text in _differences(one.body, other.body, absent_allowed))
    return found


def _differences(wanted: Tree | Blocks | Flat, seen: Tree | Blocks | Flat, absent_allowed: bool) -> Iterator[str]:
    if type(wanted) is not type(seen):
        yield f"Slurm has {type(seen).__name__.lower()} where {type(wanted).__name__.lower()} is wanted"
        return
    if isinstance(wanted, Tree) and isinstance(seen, Tree):
        yield from _moved(_leaves(wanted), _leaves(seen), absent_allowed)
        if _parents(wanted) != _parents(seen):
            yield "switches hang together differently"
    if isinstance(wanted, Blocks) and isinstance(seen, Blocks):
        yield from _moved(_members(wanted), _members(seen), absent_allowed)
        if [block.name for block in wanted.blocks] != [block.name for block in seen.blocks]:
            yield "the blocks are in another order"
        if wanted.block_sizes[:1] != seen.block_sizes[:1] and seen.block_sizes:
            yield f"the base block size is {seen.block_sizes[0]}, {wanted.block_sizes[:1]} is wanted"


def _moved(wanted: dict[str, str], seen: dict[str, str], absent_allowed: bool) -> Iterator[str]:
    wrong = sorted(node for node, unit in wanted.items() if seen.get(node, unit if absent_allowed else None) != unit)
    extra = sorted(set(seen) - set(wanted))
    if wrong:
        yield f"{len(wrong)} nodes are elsewhere or missing, {wrong[0]} first"
    if extra:
        yield f"{len(extra)} nodes are there that shouldn't be, {extra[0]} first"


def _leaves(tree: Tree) -> dict[str, str]:
    return {node: switch.name for switch in tree.switches for node in switch.nodes}


def _parents(tree: Tree) -> dict[str, str]:
    return {child: switch.name for switch in tree.switches for child in switch.children}


def _members(blocks: Blocks) -> dict[str, str]:
    return {node: block.name for block in blocks.blocks for node in block.nodes}
