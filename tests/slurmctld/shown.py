"""`scontrol show topology` → topology, to compare what slurmctld has with what was written."""

from __future__ import annotations

import re

from slurm_topology.core.hostlist import expand
from slurm_topology.core.model import Block, Blocks, Switch, Tree

__all__ = ["shown"]

_PAIR = re.compile(r"(\w+)=(\S*)")


def shown(text: str) -> Tree | Blocks:
    """What is in force. Aggregated blocks are left out: slurmctld makes them from the others."""
    lines = [dict(_PAIR.findall(line)) for line in text.splitlines()]
    blocks = [line for line in lines if "BlockName" in line]
    if blocks:
        sizes = {int(line["BlockSize"]) for line in blocks}
        units = tuple(Block(line["BlockName"], _names(line.get("Nodes", ""))) for line in blocks)
        return Blocks(tuple(sorted(sizes)), units)
    return Tree(tuple(_switch(line) for line in lines if "SwitchName" in line))


def _switch(line: dict[str, str]) -> Switch:
    """Of a switch above others, slurmctld shows all nodes below it too."""
    children = tuple(expand(line.get("Switches", "")))
    return Switch(line["SwitchName"], children, () if children else _names(line["Nodes"]))


def _names(nodes: str) -> tuple[str, ...]:
    return tuple(sorted(expand(nodes)))
