"""Slurm's own view of the topology in force, read and held against what it should be. Pure.

Two forms: `scontrol show topology` (one topology, conf-like lines; a parent switch also lists the nodes below it; a
block's line has its size, and aggregates have lines of their own) and `scontrol show topoconf` (25.05+, YAML of all
topologies, empty when a topology.conf is in force). Both are what Slurm prints, so a few lines of our own read them;
10,000 nodes cost milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import NamedTuple

from slurm_topology.core import compare, hostlist
from slurm_topology.core.errors import HostListError
from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree

__all__ = ["FLAT", "Exempt", "agrees", "read_topoconf", "read_topology"]

_KEY = r"(?:SwitchName|Level|LinkSpeed|Switches|Nodes|BlockName|BlockIndex|BlockSize|AggregatedBlock)"
# A value ends at the next key: Slurm echoes lists as the file has them, and "s1, s2" in quotes is one for it.
FIELD = re.compile(rf"(?<!\S)({_KEY})=\s*(.*?)\s*(?=\s{_KEY}=|$)")
ENTRY = re.compile(
    r"^\s*(?:-\s+)?(topology|cluster_default|switch|children|nodes|block|block_sizes|flat)\s*:\s*(.*?)\s*$"
)
NUMBER = re.compile(r"^\s*-\s+(\d+)\s*$")
NODES_LIMIT = 200_000


FLAT = ClusterTopology((NamedTopology("", Flat(), True),))


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
    return ClusterTopology((NamedTopology("", body, True),))


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


class Exempt(NamedTuple):
    """Nodes that aren't where the file says, and for a reason."""

    elsewhere: Collection[str] = ()  # an override of their own places them
    absent: Collection[str] = ()  # powered down: 25.11.0 to .2 leave those out of blocks until a reconfigure


def agrees(wanted: ClusterTopology, seen: ClusterTopology, exempt: Exempt | None = None) -> bool:
    """Whether Slurm's view means the same as the wanted topology, apart from the exempt nodes.

    Block sizes above the base aren't compared: Slurm shows only those that its blocks can fill.
    """
    exempt = exempt or Exempt()
    spared = _Spared(frozenset(exempt.elsewhere), frozenset(exempt.absent) - _nodes(seen))
    shown = {each.name: each.body for each in seen.topologies}
    single = next(iter(shown.values())) if len(shown) == 1 else None
    sized = [
        _with_shown_sizes(each, shown.get(each.name, single if len(wanted.topologies) == 1 else None))
        for each in wanted.topologies
    ]
    return compare.same_meaning(_without(ClusterTopology(tuple(sized)), spared), _without(seen, spared))


def _nodes(topology: ClusterTopology) -> set[str]:
    return {node for each in topology.topologies for unit in _units(each.body) for node in unit.nodes}


def _units(body: Tree | Blocks | Flat) -> tuple[Switch, ...] | tuple[Block, ...]:
    if isinstance(body, Flat):
        return ()
    return body.switches if isinstance(body, Tree) else body.blocks


def _with_shown_sizes(wanted: NamedTopology, shown: Tree | Blocks | Flat | None) -> NamedTopology:
    """The wanted topology with only those block sizes that Slurm shows, when its base is the wanted one."""
    body = wanted.body
    if not isinstance(body, Blocks) or not isinstance(shown, Blocks):
        return wanted
    sizes = shown.block_sizes
    same_base = not sizes or (sizes[0] == body.block_sizes[0] and set(sizes) <= set(body.block_sizes))
    return replace(wanted, body=replace(body, block_sizes=sizes)) if same_base else wanted


class _Spared(NamedTuple):
    """Nodes that aren't compared: anywhere, and in blocks."""

    anywhere: frozenset[str]
    in_blocks: frozenset[str]


def _without(topology: ClusterTopology, spared: _Spared) -> ClusterTopology:
    if not spared.anywhere and not spared.in_blocks:
        return topology
    return ClusterTopology(tuple(replace(each, body=_body_without(each.body, spared)) for each in topology.topologies))


def _body_without(body: Tree | Blocks | Flat, spared: _Spared) -> Tree | Blocks | Flat:
    if isinstance(body, Tree):
        switches = (switch._replace(nodes=_kept(switch.nodes, spared.anywhere)) for switch in body.switches)
        return Tree(tuple(switches))
    if isinstance(body, Blocks):
        nowhere = spared.anywhere | spared.in_blocks
        return replace(body, blocks=tuple(block._replace(nodes=_kept(block.nodes, nowhere)) for block in body.blocks))
    return body


def _kept(names: tuple[str, ...], left_out: frozenset[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in left_out)
