"""Topology → topology.yaml, for Slurm ≥ 25.05. The same topology gives the same bytes.

* Every scalar is quoted: what YAML would make of ``1e3``, ``yes`` or ``0x10`` is nobody's business.
* The file is never of k·4096 bytes: Slurm 25.05.8 and 25.11.4 die of such a one (their reader loses its end).
* ``parse_yaml`` reads this form back without PyYAML.
"""

from __future__ import annotations

import re

from .hostlist import fold
from .model import Blocks, ClusterTopology, NamedTopology, Tree
from .render_header import HEADER

__all__ = ["PAGE", "render"]

PAGE = 4096  # bytes
_FILLER = "# (one more line, because Slurm 25 can't read a file of a multiple of 4096 bytes)\n"
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]')


def render(topology: ClusterTopology) -> str:
    """The whole file. ``check.check_topology`` is to be asked before: a refused topology is rendered as it is.

    Raises HostListError (an InputError) for a node name that can't stand in a host list.
    """
    text = HEADER + "".join([part for entry in topology.topologies for part in _entry(entry)])
    return text + _FILLER if len(text.encode("utf-8", "surrogatepass")) % PAGE == 0 else text


def _entry(entry: NamedTopology) -> list[str]:
    default = "true" if entry.cluster_default else "false"
    head = f"- topology: {_quoted(entry.name)}\n  cluster_default: {_quoted(default)}\n"
    if isinstance(entry.body, Tree):
        return [head, *_tree(entry.body)]
    if isinstance(entry.body, Blocks):
        return [head, *_blocks(entry.body)]
    return [head, '  flat: "true"\n']


def _tree(tree: Tree) -> list[str]:
    lines = ["  tree:\n    switches:\n"]
    for name, children, nodes in tree.switches:
        lines.append(f"      - switch: {_quoted(name)}\n")
        if children:
            lines.append(f"        children: {_quoted(','.join(children))}\n")
        if nodes:
            lines.append(f"        nodes: {_quoted(fold(nodes))}\n")
    return lines


def _blocks(blocks: Blocks) -> list[str]:
    sizes = ", ".join([_quoted(str(size)) for size in blocks.block_sizes])
    lines = ["  block:\n", *([f"    block_sizes: [{sizes}]\n"] if sizes else []), "    blocks:\n"]
    for name, nodes in blocks.blocks:
        lines.append(f"      - block: {_quoted(name)}\n")
        if nodes:
            lines.append(f"        nodes: {_quoted(fold(nodes))}\n")
    return lines


def _quoted(text: str) -> str:
    """A YAML double-quoted scalar."""
    return f'"{_TO_ESCAPE.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return f"\\{character}" if character in '"\\' else f"\\u{ord(character):04x}"
