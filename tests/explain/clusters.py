"""Small random topologies, and what there is to know about them by trying everything."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

from hypothesis import strategies as st

from slurm_topology.core.explain import Forest
from slurm_topology.core.model import Block, Blocks, NamedTopology, Switch, Tree

__all__ = ["blocks", "distances_by_walking", "every_choice", "trees"]


@st.composite
def trees(draw: st.DrawFn, most_nodes: int = 9) -> NamedTopology:
    """A forest of switches of uneven depth over up to ``most_nodes`` nodes, leaves and inner switches in any order."""
    node_count = draw(st.integers(1, most_nodes))
    leaf_count = draw(st.integers(1, node_count))
    leaf_of = [draw(st.integers(0, leaf_count - 1)) for _ in range(node_count)]
    members = [[f"n{node}" for node in range(node_count) if leaf_of[node] == leaf] for leaf in range(leaf_count)]
    switches = [Switch(f"leaf{index}", (), tuple(nodes)) for index, nodes in enumerate(members) if nodes]
    loose = [switch.name for switch in switches]
    for index in range(draw(st.integers(0, 4))):
        taken = draw(st.lists(st.sampled_from(loose), unique=True, min_size=1)) if loose else []
        if taken:
            switches.append(Switch(f"s{index}", tuple(taken)))
            loose = [name for name in loose if name not in taken] + [f"s{index}"]
    return NamedTopology("tree", Tree(tuple(draw(st.permutations(switches)))), True)


@st.composite
def blocks(draw: st.DrawFn, most_blocks: int = 5) -> NamedTopology:
    """Blocks of up to 3 nodes, with base size 3 and levels above."""
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=most_blocks))
    spans = draw(st.lists(st.sampled_from([2, 4, 8]), unique=True))
    body = Blocks(
        (3, *(3 * span for span in sorted(spans))),
        tuple(
            Block(f"b{index}", tuple(f"n{index}-{node}" for node in range(size))) for index, size in enumerate(sizes)
        ),
    )
    return NamedTopology("block", body, True)


def distances_by_walking(forest: Forest, nodes: Collection[str]) -> list[int | None]:
    """Hops of every pair, each found by walking up from both ends."""
    return [forest.distance(one, other) for one, other in combinations(sorted(nodes), 2)]


def every_choice(
    forest: Forest, available: Collection[str], count: int, required: Collection[str] = ()
) -> list[tuple[int, int]]:
    """(worst hops, leaves) of every set of ``count`` available nodes, the required ones among them, that can reach each
    other."""
    ranks = []
    for chosen in combinations(sorted(set(available) & set(forest.leaf_of)), count):
        hops = distances_by_walking(forest, chosen)
        if None not in hops and set(required).issubset(chosen):
            worst = max((hop for hop in hops if hop is not None), default=1)
            ranks.append((worst, len({forest.leaf_of[node] for node in chosen})))
    return ranks
