"""Which topologies are worth comparing for an inventory: none, its tree, its blocks, block sizes that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..choose import make_plan
from ..explain.forest import Forest, forest_of
from ..model import Capability, ClusterTopology, Flat, Inventory, NamedTopology, TopologyKind
from ..slurm_version import SlurmVersion
from ..topology import build

__all__ = ["true_network", "variants"]


def variants(
    inventory: Inventory, version: SlurmVersion, block_sizes: Sequence[tuple[int, ...]] = ()
) -> Iterator[tuple[str, NamedTopology]]:
    """Label and topology. Blocks only where UltraServers are, or where sizes are asked for."""
    yield "no topology", NamedTopology("flat", Flat(), True)
    capabilities = {group.capability for group in inventory.groups}
    if capabilities - {Capability.NONE}:
        yield "tree", _built(inventory, version, TopologyKind.TREE)
    wanted = list(block_sizes) or ([()] if Capability.BLOCK in capabilities else [])
    for sizes in wanted:
        topology = _built(inventory, version, TopologyKind.BLOCK, sizes)
        body = topology.body
        shown = sizes or (() if isinstance(body, Flat) else getattr(body, "block_sizes", ()))
        yield f"block {','.join(map(str, shown))}", topology


def true_network(inventory: Inventory, version: SlurmVersion) -> Forest:
    """The network as far as the inventory tells: what outcomes are measured on. UltraServers are leaves."""
    return forest_of(_built(inventory, version, TopologyKind.TREE), [node.name for node in inventory.nodes])


def _built(
    inventory: Inventory, version: SlurmVersion, kind: TopologyKind, sizes: tuple[int, ...] = ()
) -> NamedTopology:
    plan = make_plan(inventory.groups, (), version, wanted=kind, block_sizes=sizes)
    topology: ClusterTopology = build(inventory, plan, version, {})[0]
    return next(each for each in topology.topologies if each.cluster_default)
