"""Which topologies are worth comparing for an inventory: none, its tree, its blocks, block sizes that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..check import check_topology
from ..choose import make_plan
from ..errors import InputError
from ..explain.forest import Forest, forest_of
from ..model import Blocks, Capability, ClusterTopology, Flat, Inventory, NamedTopology, Severity, TopologyKind
from ..slurm_version import SlurmVersion
from ..topology import build

__all__ = ["true_network", "variants"]

_ANY_SIZE = SlurmVersion(25, 11, 4)  # whose blocks are built whatever their sizes; an older one may get a tree instead


def variants(
    inventory: Inventory, version: SlurmVersion, block_sizes: Sequence[tuple[int, ...]] = ()
) -> Iterator[tuple[str, NamedTopology]]:
    """Label and topology. Blocks only where UltraServers are, or where sizes are asked for.

    Sizes that are asked for are taken as they are, whatever they cost: that is what a simulation is for. Raises
    InputError for those that no slurmctld of this version starts with, and where there is no block to size.
    """
    yield "no topology", NamedTopology("flat", Flat(), True)
    capabilities = {group.capability for group in inventory.groups}
    if capabilities - {Capability.NONE}:
        yield "tree", _built(inventory, version, TopologyKind.TREE)
    for sizes in dict.fromkeys(block_sizes):
        yield f"block {_shown(sizes)}", _asked_for(inventory, version, sizes)
    if Capability.BLOCK in capabilities and not block_sizes:
        topology = _built(inventory, version, TopologyKind.BLOCK)
        body = topology.body
        # up to 24.11 a tree takes the place of blocks that are too uneven; flat: no UltraServer is known
        yield (
            f"block {_shown(body.block_sizes)}"
            if isinstance(body, Blocks)
            else f"block → {type(body).__name__.lower()}",
            topology,
        )


def _shown(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sizes))


def _asked_for(inventory: Inventory, version: SlurmVersion, sizes: tuple[int, ...]) -> NamedTopology:
    topology = _built(inventory, _ANY_SIZE, TopologyKind.BLOCK, sizes)
    if not isinstance(topology.body, Blocks):
        raise InputError(
            f"block size {_shown(sizes)}: there is no block to size: no node is in a known UltraServer (expected a "
            "type that forms them, or answers that tell them)"
        )
    wanted = replace(topology, body=replace(topology.body, block_sizes=sizes))
    refused = [
        each for each in check_topology(ClusterTopology((wanted,)), version, None) if each.severity is Severity.ERROR
    ]
    if refused:
        raise InputError(f"block size {_shown(sizes)}: Slurm {version} wouldn't start with it: {refused[0].message}")
    return wanted


def true_network(inventory: Inventory, version: SlurmVersion) -> Forest:
    """The network as far as the inventory tells: what outcomes are measured on. UltraServers are leaves."""
    return forest_of(_built(inventory, version, TopologyKind.TREE), [node.name for node in inventory.nodes])


def _built(
    inventory: Inventory, version: SlurmVersion, kind: TopologyKind, sizes: tuple[int, ...] = ()
) -> NamedTopology:
    plan = make_plan(inventory.groups, (), version, wanted=kind, block_sizes=sizes)
    for finding in plan.findings:
        if finding.severity is Severity.ERROR:
            raise InputError(finding.message)
    topology: ClusterTopology = build(inventory, plan, version, {})[0]
    return next(each for each in topology.topologies if each.cluster_default)
