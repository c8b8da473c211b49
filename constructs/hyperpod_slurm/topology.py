"""Which network topology Slurm gets, and who keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from slurm_topology.core.model import TopologyKind

__all__ = ["Topology", "TopologyMode"]


class TopologyMode(str, Enum):
    """What the agent on the controller does with Slurm's topology."""

    OWN = "own"
    """The agent's topology is the cluster's."""

    REPAIR = "repair"
    """HyperPod's own manager keeps the topology; the agent steps in where it is missing, broken or leaves nodes out."""

    OBSERVE = "observe"
    """The agent never writes; it reports what it would do."""


@dataclass(frozen=True)
class Topology:
    """A wish for the topology. Made by the class methods."""

    kind: TopologyKind | None = None
    block_sizes: tuple[int, ...] = ()
    mode: TopologyMode = TopologyMode.OWN

    @classmethod
    def auto(cls, *, mode: TopologyMode = TopologyMode.OWN) -> Topology:
        """Each partition gets what its instance types can do: blocks for UltraServers, a tree for other EFA types."""
        return cls(mode=mode)

    @classmethod
    def tree(cls, *, mode: TopologyMode = TopologyMode.OWN) -> Topology:
        """A tree of switches for all."""
        return cls(kind=TopologyKind.TREE, mode=mode)

    @classmethod
    def block(cls, block_sizes: Sequence[int] = (), *, mode: TopologyMode = TopologyMode.OWN) -> Topology:
        """Blocks for all.

        :param block_sizes: base, base·2, base·4, …; default: the UltraServer's size less its spares.
        """
        return cls(kind=TopologyKind.BLOCK, block_sizes=tuple(block_sizes), mode=mode)

    @classmethod
    def flat(cls, *, mode: TopologyMode = TopologyMode.OWN) -> Topology:
        """No topology: every node is as near as any other."""
        return cls(kind=TopologyKind.FLAT, mode=mode)
