"""A cluster and a trace of jobs out of nothing, for capacity planning. Deterministic: the same seed, the same cluster.

What is assumed where nobody knows better: leaves of 16 nodes, spines of 4 leaves, one zone, UltraServers of the type's
largest size with one spare each. Which node sits under which leaf follows no order, because EC2 places instances where
there is room, not by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..errors import InputError
from ..instance_types import lookup
from ..model import Capability, Group, Inventory, Node, NodeRole, Placement
from .model import Request

__all__ = ["Dice", "WantedGroup", "make_inventory", "make_trace", "read_trace"]

LEAF_NODES = 16
SPINE_LEAVES = 4
SPARES = 1


class Dice:
    """Pseudo-random numbers, the same on every Python (a 64-bit linear congruential generator, Knuth's MMIX)."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, limit: int) -> int:
        """In [0, limit)."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % limit

    def shuffled(self, count: int) -> list[int]:
        order = list(range(count))
        for index in range(count - 1, 0, -1):
            other = self.below(index + 1)
            order[index], order[other] = order[other], order[index]
        return order


class WantedGroup(NamedTuple):
    """A group as the user wants it."""

    name: str
    instance_type: str
    node_count: int


def make_inventory(wanted: Sequence[WantedGroup], *, leaf_nodes: int = LEAF_NODES, seed: int = 1) -> Inventory:
    """An inventory with made-up placements. Raises InputError for a type that the catalogue doesn't know."""
    dice = Dice(seed)
    nodes: list[Node] = []
    groups = []
    for group in wanted:
        facts = lookup(group.instance_type)
        if facts is None:
            raise InputError(f"{group.instance_type}: not in the catalogue: expected a type such as ml.p5.48xlarge")
        size = facts.largest_ultraserver
        spares = SPARES if size else 0
        usable = max(1, size - spares) if size else leaf_nodes
        order = dice.shuffled(group.node_count)
        first = len(nodes)
        for index in range(group.node_count):
            placement = _placement(group.name, order[index] // usable, facts.capability)
            nodes.append(Node(_name(first + index), None, group.instance_type, group.name, placement))
        groups.append(
            Group(
                group.name, group.instance_type, NodeRole.COMPUTE, facts.capability, (), group.node_count, size, spares
            )
        )
    return Inventory(tuple(nodes), tuple(groups))


def _placement(group: str, leaf: int, capability: Capability) -> Placement:
    if capability is Capability.NONE:
        return Placement(zone="az1")
    spine = f"{group}-spine{leaf // SPINE_LEAVES}"
    if capability is Capability.BLOCK:
        return Placement(("core", spine), f"{group}-us{leaf}", "az1")
    return Placement(("core", spine, f"{group}-leaf{leaf}"), None, "az1")


def _name(number: int) -> str:
    return f"ip-10-{1 + number // 65536}-{number // 256 % 256}-{number % 256}"


def make_trace(node_count: int, job_count: int, *, seed: int = 1, load_percent: int = 95) -> tuple[Request, ...]:
    """Jobs of many sizes, small ones more often, that ask for ``load_percent`` of the nodes while they arrive."""
    dice = Dice(seed + 1)
    sizes = [1, 2, 2, 4, 4, 4, 8, 8, 8, 16, 16, 24, 32, 64, 128]
    possible = [size for size in sizes if size <= max(1, node_count // 2)]
    requests = []
    moment = 0
    for number in range(1, job_count + 1):
        size = possible[dice.below(len(possible))]
        seconds = 600 + dice.below(10_200)
        requests.append(Request(number, size, seconds, moment))
        moment += size * seconds * 100 // (node_count * load_percent)
    return tuple(requests)


def read_trace(lines: Sequence[str]) -> tuple[Request, ...]:
    """A trace: a line a job, ``SUBMITTED_SECONDS NODES RUN_SECONDS``; ``#`` begins a comment.

    Raises InputError with the number of the line that is wrong.
    """
    requests = list(_read_lines(lines))
    if not requests:
        raise InputError("the trace has no job: expected lines such as '0 8 3600' (submitted, nodes, seconds)")
    return tuple(sorted(requests, key=lambda request: (request.submitted, request.number)))


def _read_lines(lines: Sequence[str]) -> Iterator[Request]:
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 3 or not all(word.isdecimal() for word in words) or "0" in (words[1], words[2]):
            raise InputError(
                f"trace line {number}: expected three whole numbers, submitted, nodes and seconds, got {line.strip()!r}"
            )
        yield Request(number, int(words[1]), int(words[2]), int(words[0]))
