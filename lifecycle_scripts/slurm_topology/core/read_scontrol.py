"""What Slurm itself knows: ``scontrol show nodes`` and ``scontrol show partitions``, as parsed ``--json`` or as text.

Both text forms are read, several lines a record and ``--oneliner``. Free text (Reason, Comment, Extra) can hold
anything, so fields are taken from where Slurm prints them: names, addresses and state before the free text, instance
and override after it. Recordings of 24.11.5 and 26.05.5 with hostile free text are in tests/cases/scontrol.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from .errors import InputError
from .hostlist import expand
from .model import Partition
from .shapes import describe, items, mapping, members, text

__all__ = ["SlurmNode", "read_nodes", "read_partitions"]

_LAST_FIELDS = re.compile(r"\sInstanceId=(\S*) InstanceType=(\S*)(?:\s+Topology=(\S*))?\s*\Z")
_OVERRIDE = re.compile(r"\sTopology=(\S*)\s*\Z")


class SlurmNode(NamedTuple):
    """A node as slurmctld knows it; unknown parts are None or empty."""

    name: str
    address: str | None = None  # NodeAddr
    host_name: str | None = None  # NodeHostName
    states: tuple[str, ...] = ()  # "IDLE", "CLOUD", "POWERED_DOWN"
    partitions: tuple[str, ...] = ()
    instance_id: str | None = None  # only when slurmd or an administrator has set it
    instance_type: str | None = None
    topology: str | None = None  # an override of the node's place (25.05+), such as "tree:leaf1"


def read_nodes(document: object) -> tuple[SlurmNode, ...]:
    """All nodes, in Slurm's order. ``document`` is the text form, or the parsed JSON.

    Raises InputError when it is neither.
    """
    if isinstance(document, str):
        return _nodes_of_text(document)
    answer = mapping(document, "scontrol show nodes --json")
    entries = members(answer, "nodes", "scontrol show nodes --json")
    return tuple(_node_of_json(mapping(entry, "nodes")) for entry in entries)


def _node_of_json(entry: Mapping[str, Any]) -> SlurmNode:
    name = text(entry.get("name"))
    if name is None:
        raise InputError(f"scontrol show nodes --json: a node without name: {describe(entry)}")
    states = entry.get("state")
    return SlurmNode(
        name,
        text(entry.get("address")),
        text(entry.get("hostname")),
        tuple(states.split("+")) if isinstance(states, str) else tuple(map(str, items(states, f"{name}.state"))),
        tuple(map(str, items(entry.get("partitions"), f"{name}.partitions"))),
        text(entry.get("instance_id")),
        text(entry.get("instance_type")),
        text(entry.get("topology")),
    )


def _nodes_of_text(document: str) -> tuple[SlurmNode, ...]:
    records = _records(document, "NodeName=")
    if not records and document.strip() and "No nodes in the system" not in document:
        got = describe(document.strip())
        raise InputError(f"scontrol show nodes: expected records that begin with NodeName=, got {got}")
    return tuple(map(_node_of_record, records))


def _records(document: str, key: str) -> list[str]:
    """What follows the key at the beginning of each line that begins with it, up to the next such line."""
    return ("\n" + document).split("\n" + key)[1:]


def _node_of_record(record: str) -> SlurmNode:
    """Cheap searches from left to right, no pattern: a cluster of 10,000 nodes prints six million characters."""
    head, _, rest = record.partition(" NodeAddr=")
    address, _, rest = rest.partition(" NodeHostName=")
    host_name, _, rest = rest.partition(" ")
    last = _LAST_FIELDS.search(rest) if " InstanceId=" in rest else None
    override = last[3] if last else _match(_OVERRIDE, rest) if " Topology=" in rest else None
    return SlurmNode(
        head.split(None, 1)[0],
        _told(address),
        _told(host_name.rstrip()),
        _words(_field(rest, " State="), "+"),
        _words(_field(rest, " Partitions="), ","),
        _told(last[1]) if last else None,
        _told(last[2]) if last else None,
        _told(override),
    )


def _field(record: str, key: str) -> str:
    """The value of the first field of this name: up to the next blank; "" when there is no such field."""
    value = record.partition(key)[2]
    return "" if not value or value[0].isspace() else value.split(None, 1)[0]


@lru_cache(maxsize=1024)  # thousands of nodes have the same few states and partitions
def _words(value: str, separator: str) -> tuple[str, ...]:
    return tuple(value.split(separator)) if value else ()


def _told(value: str | None) -> str | None:
    """A field's value, unless it is one of Slurm's words for "none"."""
    return None if value in (None, "", "(null)", "N/A") else value


def _match(pattern: re.Pattern[str], record: str) -> str | None:
    found = pattern.search(record)
    return found[1] if found else None


def read_partitions(document: object) -> tuple[Partition, ...]:
    """All partitions with their nodes and the topology that each is in now, in Slurm's order.

    ``topology`` is the live value, which ``scontrol update`` may have set over slurm.conf's. Raises InputError when
    the document is neither the text form nor the parsed JSON.
    """
    if isinstance(document, str):
        return tuple(_partitions_of_text(document))
    answer = mapping(document, "scontrol show partitions --json")
    entries = members(answer, "partitions", "scontrol show partitions --json")
    return tuple(_partition_of_json(mapping(entry, "partitions")) for entry in entries)


def _partition_of_json(entry: Mapping[str, Any]) -> Partition:
    name = text(entry.get("name"))
    if name is None:
        raise InputError(f"scontrol show partitions --json: a partition without name: {describe(entry)}")
    configured = text(mapping(entry.get("nodes") or {}, f"{name}.nodes").get("configured"))
    return Partition(name, nodes=tuple(expand(configured or "")), topology=text(entry.get("topology")))


def _partitions_of_text(document: str) -> Iterator[Partition]:
    records = _records(document, "PartitionName=")
    if not records and document.strip():
        raise InputError(
            "scontrol show partitions: expected records that begin with PartitionName=, got "
            f"{describe(document.strip())}"
        )
    for record in records:
        nodes = _told(_field(record, " Nodes="))
        topology = _told(_field(record, " Topology="))
        yield Partition(record.split(None, 1)[0], nodes=tuple(expand(nodes or "")), topology=topology)
