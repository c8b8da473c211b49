"""Topology → topology.conf, for Slurm < 25.05 (later versions read it too, when there is no topology.yaml).

The same topology gives the same bytes. The order of switches and blocks is kept: that of blocks is topology.
"""

from __future__ import annotations

from .errors import InputError
from .hostlist import fold
from .model import Block, Blocks, ClusterTopology, Switch, Tree
from .render_header import HEADER

__all__ = ["render"]


def render(topology: ClusterTopology) -> str:
    """The whole file. ``check.check_topology`` is to be asked before: a refused topology is rendered as it is.

    Raises InputError for what topology.conf can't say: no or several topologies, or flat; HostListError (an InputError)
    for a node name that can't stand in a host list.
    """
    bodies = [entry.body for entry in topology.topologies]
    if len(bodies) != 1 or not isinstance(bodies[0], (Tree, Blocks)):
        kinds = ", ".join(type(body).__name__.lower() for body in bodies) or "nothing"
        raise InputError(f"topology.conf holds one tree or one set of blocks, got {kinds}")
    body = bodies[0]
    return HEADER + "".join(_tree(body) if isinstance(body, Tree) else _blocks(body))


def _tree(tree: Tree) -> list[str]:
    return [_switch(switch) for switch in tree.switches]


def _switch(switch: Switch) -> str:
    name, children, nodes = switch
    children_part = f" Switches={','.join(children)}" if children else ""
    nodes_part = f" Nodes={fold(nodes)}" if nodes else ""
    return f"SwitchName={name}{children_part}{nodes_part}\n"


def _blocks(blocks: Blocks) -> list[str]:
    lines = [_block(block) for block in blocks.blocks]
    if blocks.block_sizes:
        lines.append(f"BlockSizes={','.join(map(str, blocks.block_sizes))}\n")
    return lines


def _block(block: Block) -> str:
    return f"BlockName={block.name} Nodes={fold(block.nodes)}\n" if block.nodes else f"BlockName={block.name}\n"
