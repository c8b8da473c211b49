"""Where instances stand: racks, switches and UltraServers, made up by simple rules and always the same.

A *pool* is a part of the fabric in one Availability Zone that holds one kind of instance. Its leaves are filled one
after the other; a slot that becomes free is taken again first. Nothing here is random: the same calls in the same order
give the same network nodes, so that a test or a demonstration can be told by heart.

    core (layer 1) ── spine (layer 2) ── leaf (layer 3) ── slots      (4 layers: core, aggregation, spine, leaf)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

__all__ = ["Fabric", "NoRoomError", "Pool", "Racks", "Slot"]


class NoRoomError(Exception):
    """The pool has no free slot (only pools of reserved capacity end)."""


@dataclass(frozen=True)
class Racks:
    """The shape of the fabric; 4 nodes a leaf make small clusters interesting, 16 and more are closer to life."""

    nodes_per_leaf: int = 4
    leaves_per_spine: int = 2
    spines_per_core: int = 32

    def to_text(self) -> str:
        """For the server's environment."""
        return f"{self.nodes_per_leaf},{self.leaves_per_spine},{self.spines_per_core}"

    @classmethod
    def from_text(cls, text: str) -> Racks:
        return cls(*map(int, text.split(",")))


@dataclass(frozen=True)
class Pool:
    """One kind of instance in one zone.

    `leaf_size` slots a leaf, of which the last `spares` are kept for replacements; `leaves` None = without end.
    `ultraservers`: each leaf is one UltraServer.
    """

    name: str
    layers: int
    leaf_size: int
    spares: int = 0
    leaves: int | None = None
    ultraservers: bool = False


@dataclass(frozen=True)
class Slot:
    pool: Pool
    leaf: int
    position: int

    @property
    def ultraserver_id(self) -> str | None:
        return f"us-{_digest(self.pool.name, 'ultraserver', self.leaf)[:12]}" if self.pool.ultraservers else None


def _digest(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()


@dataclass
class Fabric:
    """All pools of a region; remembers which slots are taken."""

    racks: Racks = field(default_factory=Racks)
    _taken: set[Slot] = field(default_factory=set)

    def take(self, pool: Pool) -> Slot:
        """The first free slot that isn't a spare."""
        leaf = 0
        while pool.leaves is None or leaf < pool.leaves:
            if slot := self._free(pool, leaf, pool.leaf_size - pool.spares):
                return self._claim(slot)
            leaf += 1
        raise NoRoomError(f"{pool.name}: all {pool.leaves} x {pool.leaf_size - pool.spares} slots are taken")

    def move(self, old: Slot, leaf: int | None = None) -> Slot:
        """Another slot for a replaced instance.

        An UltraServer gives a spare of its own if it has one; elsewhere the replacement stands under the next leaf
        that has room, so that a replacement is a real move. `leaf` chooses the leaf (0-based) instead.
        """
        slot = self._chosen(old.pool, leaf) if leaf is not None else self._elsewhere(old)
        self._taken.discard(old)
        return self._claim(slot)

    def release(self, slot: Slot) -> None:
        self._taken.discard(slot)

    def path(self, slot: Slot) -> tuple[str, ...]:
        """Network nodes from the top to the leaf, as many as the pool has layers."""
        spine = slot.leaf // self.racks.leaves_per_spine
        core = spine // self.racks.spines_per_core
        indexes = (core, core, spine, slot.leaf) if slot.pool.layers == 4 else (core, spine, slot.leaf)
        names = ("core", "aggregation", "spine", "leaf") if slot.pool.layers == 4 else ("core", "spine", "leaf")
        return tuple(
            f"nn-{_digest(slot.pool.name, name, index)[:17]}" for name, index in zip(names, indexes, strict=True)
        )

    def _elsewhere(self, old: Slot) -> Slot:
        if old.pool.ultraservers:
            return self._free(old.pool, old.leaf, old.pool.leaf_size) or old
        leaf = old.leaf + 1
        while True:
            if slot := self._free(old.pool, leaf, old.pool.leaf_size):
                return slot
            leaf += 1

    def _chosen(self, pool: Pool, leaf: int) -> Slot:
        if pool.leaves is not None and leaf >= pool.leaves:
            raise NoRoomError(f"{pool.name} has {pool.leaves} leaves, got leaf {leaf}")
        slot = self._free(pool, leaf, pool.leaf_size)
        if slot is None:
            raise NoRoomError(f"{pool.name}: leaf {leaf} is full ({pool.leaf_size} slots)")
        return slot

    def _free(self, pool: Pool, leaf: int, size: int) -> Slot | None:
        slots = (Slot(pool, leaf, position) for position in range(size))
        return next((slot for slot in slots if slot not in self._taken), None)

    def _claim(self, slot: Slot) -> Slot:
        self._taken.add(slot)
        return slot
