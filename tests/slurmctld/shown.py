"""`scontrol show topology` → topology, to compare what slurmctld has with what was written."""

from __future__ import annotations

import re

from slurm_topology.core.hostlist import expand
from slurm_topology.core.model import Block, Blocks, Switch, Tree

__all__ = ["shown"]

_PAIR = re.compile(r"(\w+)=(\S*)")
_RECORD = re.compile(r"\n(?=SwitchName=|BlockName=|AggregatedBlock=)")


def shown(text: str) -> Tree | Blocks:
    """What is in force. Aggregated blocks are left out: slurmctld makes them from the others."""
    records = [dict(_fields(record)) for record in _RECORD.split(text)]
    blocks = [record for record in records if "BlockName" in record]
    if blocks:
        sizes = {int(record["BlockSize"]) for record in blocks}
        units = tuple(Block(record["BlockName"], _names(record.get("Nodes", ""))) for record in blocks)
        return Blocks(tuple(sorted(sizes)), units)
    return Tree(tuple(_switch(record) for record in records if "SwitchName" in record))


def _fields(record: str) -> list[tuple[str, str]]:
    """Children come last, just as they were written: blanks and line ends, too."""
    fields, _, children = record.partition(" Switches=")
    return [*_PAIR.findall(fields), *([("Switches", children.strip("\n"))] if children else [])]


def _switch(record: dict[str, str]) -> Switch:
    """Of a switch above others, slurmctld shows all nodes below it too."""
    children = tuple(expand(record.get("Switches", "")))
    return Switch(record["SwitchName"], children, () if children else _names(record["Nodes"]))


def _names(nodes: str) -> tuple[str, ...]:
    return tuple(sorted(expand(nodes)))
