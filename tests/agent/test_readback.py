"""Slurm's own view of a topology, in its words of two versions."""

from __future__ import annotations

import pytest

from slurm_topology.agent import readback
from slurm_topology.agent.readback import Exempt, agrees, read_topoconf, read_topology
from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree

# `scontrol show topology`, slurmctld 24.11.5
TREE_WORDS = """\
SwitchName=leaf0001 Level=0 LinkSpeed=1 Nodes=node[0001-0004]
SwitchName=leaf0002 Level=0 LinkSpeed=1 Nodes=node[0005-0008]
SwitchName=core Level=1 LinkSpeed=1 Nodes=node[0001-0008] Switches=leaf0001,leaf0002
"""
BLOCK_WORDS = """\
BlockName=b0001 BlockIndex=0 Nodes=node[0001-0004] BlockSize=4
BlockName=b0002 BlockIndex=1 Nodes=node[0005-0008] BlockSize=4
AggregatedBlock=b[0001-0002] BlockIndex=2 Nodes=node[0001-0008] BlockSize=8
"""
# `scontrol show topoconf`, slurmctld 26.05.5
TOPOCONF = """\
%YAML 1.1
---
- topology: t-tree
  cluster_default: true
  block: {}
  flat: {}
  ring: {}
  torus3d: {}
  tree:
    switches:
    - switch: core
      children: leaf-a,leaf-b
      nodes:
    - switch: leaf-a
      children:
      nodes: node[0001-0004]
    - switch: leaf-b
      children:
      nodes: node[0005-0008]
- topology: flat
  cluster_default: false
  block: {}
  flat: true
  tree: {}
- topology: "blk"
  cluster_default: false
  block:
    block_sizes:
    - 4
    - 8
    blocks:
    - block: b1
      nodes: node[0001-0004]
    - block: b2
      nodes: node[0005-0008]
  flat: {}
  tree: {}
...
"""
NO_TOPOCONF = """\
%YAML 1.1
---
- topology: default
  cluster_default: false
  block: {}
  flat: {}
  tree: {}
...
"""
NODES = tuple(f"node{number:04d}" for number in range(1, 9))
TREE = Tree((Switch("core", ("a", "b")), Switch("a", (), NODES[:4]), Switch("b", (), NODES[4:])))
BLOCKS = Blocks((4, 8, 16), (Block("x", NODES[:4]), Block("y", NODES[4:])))


def one(body: Tree | Blocks | Flat, name: str = "any") -> ClusterTopology:
    return ClusterTopology((NamedTopology(name, body, True),))


def test_a_tree_is_read_without_the_nodes_below_its_upper_switches() -> None:
    assert agrees(one(TREE), read_topology(TREE_WORDS)), "names of switches are not meaning"


def test_lists_are_read_to_their_end_however_they_are_written() -> None:
    """24.11 echoes them as the file has them; tests/slurmctld/test_readback.py asks it."""
    odd = TREE_WORDS.replace("Switches=leaf0001,leaf0002", "Switches=leaf0001, leaf0002")
    odd = odd.replace("Nodes=node[0001-0004]", "Nodes= node[0001-0002],\tnode0003 node0004")
    assert odd != TREE_WORDS
    assert read_topology(odd) == read_topology(TREE_WORDS)
    named = "SwitchName=a=Nodes LinkSpeed=1 Nodes=n1\nSwitchName=b Switches=a=Nodes, xNodes=1\n"
    (body,) = (each.body for each in read_topology(named).topologies)
    assert body == Tree((Switch("a=Nodes", (), ("n1",)), Switch("b", ("a=Nodes", "xNodes=1"))))


def test_blocks_are_read_with_the_sizes_that_slurm_shows() -> None:
    """It shows only those that its blocks can fill: 16 nodes aren't there."""
    seen = read_topology(BLOCK_WORDS)
    assert agrees(one(BLOCKS), seen)
    assert not agrees(one(Blocks((2, 4, 8), BLOCKS.blocks)), seen)
    assert not agrees(one(Blocks((4, 8), tuple(reversed(BLOCKS.blocks)))), seen), "order is topology"


def test_topoconf_has_all_topologies() -> None:
    seen = read_topoconf(TOPOCONF)
    assert seen is not None
    assert [(each.name, type(each.body), each.cluster_default) for each in seen.topologies] == [
        ("t-tree", Tree, True),
        ("flat", Flat, False),
        ("blk", Blocks, False),
    ]
    wanted = ClusterTopology(
        (
            NamedTopology("blk", Blocks((4, 8), BLOCKS.blocks)),
            NamedTopology("flat", Flat()),
            NamedTopology("t-tree", TREE, True),
        )
    )
    assert agrees(wanted, seen)
    other_default = ClusterTopology((*wanted.topologies[:2], NamedTopology("t-tree", TREE, False)))
    assert not agrees(other_default, seen)
    assert not agrees(ClusterTopology(wanted.topologies[1:]), seen), "one too many"


def test_topoconf_says_nothing_when_topology_conf_is_in_force() -> None:
    assert read_topoconf(NO_TOPOCONF) is None
    assert read_topoconf("") is None


@pytest.mark.parametrize("words", ["", "slurm_load_topo error: Unable to contact slurm controller", "\n"])
def test_no_words_are_no_topology_and_not_a_flat_one(words: str) -> None:
    assert read_topology(words) == ClusterTopology()
    assert not agrees(readback.FLAT, read_topology(words))


def test_a_node_with_an_override_is_not_compared() -> None:
    moved = TREE_WORDS.replace("node[0001-0004]", "node[0001-0003]").replace("node[0005-0008]", "node[0004-0008]")
    assert not agrees(one(TREE), read_topology(moved))
    assert agrees(one(TREE), read_topology(moved), Exempt(elsewhere={"node0004"}))


def test_a_powered_down_node_may_be_missing_in_a_block_and_not_in_a_tree() -> None:
    without = BLOCK_WORDS.replace("node[0001-0004]", "node[0001-0003]")
    assert agrees(one(Blocks((4, 8), BLOCKS.blocks)), read_topology(without), Exempt(absent={"node0004"}))
    assert not agrees(one(BLOCKS), read_topology(without))
    tree = TREE_WORDS.replace("node[0001-0004]", "node[0001-0003]")
    assert not agrees(one(TREE), read_topology(tree), Exempt(absent={"node0004"}))
