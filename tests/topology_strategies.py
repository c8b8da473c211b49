"""Hypothesis strategies that several tests share."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree

__all__ = ["PROPERTY", "block_sizes", "blocks", "cluster_topologies", "conf_topologies", "names", "node_names", "trees"]

PROPERTY = settings(max_examples=60, deadline=None)  # no deadline: the machine may be busy
_LETTERS = "abcXYZ019.-_é"


def names() -> st.SearchStrategy[str]:
    """Names that every Slurm version can use, many of them alike."""
    made = st.builds("{}{}".format, st.sampled_from(["n", "rack-1-", "ip-10-0-", "x9."]), st.integers(0, 30))
    padded = st.builds("{}{:0{}d}".format, st.sampled_from(["n", "p"]), st.integers(0, 1200), st.integers(1, 4))
    return st.one_of(made, padded, st.text(_LETTERS, min_size=1, max_size=10))


def node_names(min_size: int = 0, max_size: int = 40) -> st.SearchStrategy[list[str]]:
    """Different node names, no order."""
    return st.lists(names(), min_size=min_size, max_size=max_size, unique=True)


@st.composite
def _parts(draw: st.DrawFn) -> list[tuple[str, ...]]:
    """Nodes, each once, in one or more groups that aren't empty."""
    nodes = draw(node_names(min_size=1))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(nodes) - 1)), max_size=6)) - {len(nodes)})
    return [tuple(nodes[low:high]) for low, high in zip([0, *cuts], [*cuts, len(nodes)], strict=True)]


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Trees without a fault: each node in one leaf, each switch but the root below one other."""
    leaves = draw(_parts())
    switches = [Switch(f"leaf{n}", (), nodes) for n, nodes in enumerate(leaves)]
    level, free = 0, [switch.name for switch in switches]
    while len(free) > 1:
        width = draw(st.integers(2, 4))
        groups = [tuple(free[start : start + width]) for start in range(0, len(free), width)]
        parents = [Switch(f"level{level}-{n}", children) for n, children in enumerate(groups)]
        switches += parents
        level, free = level + 1, [switch.name for switch in parents]
    return Tree(tuple(draw(st.permutations(switches))))


def block_sizes() -> st.SearchStrategy[tuple[int, ...]]:
    """A base and some of its doubles, or nothing."""
    return st.one_of(
        st.just(()),
        st.builds(
            lambda base, levels: tuple(base << level for level in range(levels)), st.integers(1, 40), st.integers(1, 16)
        ),
    )


@st.composite
def blocks(draw: st.DrawFn) -> Blocks:
    """Blocks without a fault for Slurm ≥ 25.05 (short ones may be among them)."""
    parts = draw(_parts())
    return Blocks(draw(block_sizes()), tuple(Block(f"block{n}", nodes) for n, nodes in enumerate(parts)))


def conf_topologies() -> st.SearchStrategy[ClusterTopology]:
    """What topology.conf can say."""
    return st.builds(
        lambda body: ClusterTopology((NamedTopology("", body, cluster_default=True),)), st.one_of(trees(), blocks())
    )


@st.composite
def cluster_topologies(draw: st.DrawFn) -> ClusterTopology:
    """What topology.yaml can say: one to three topologies with names, one of them the default."""
    entry_names = draw(st.lists(st.text(_LETTERS, min_size=1, max_size=8), min_size=1, max_size=3, unique=True))
    bodies = st.one_of(trees(), blocks(), st.just(Flat()))
    default = draw(st.sampled_from(entry_names))
    return ClusterTopology(tuple(NamedTopology(name, draw(bodies), name == default) for name in entry_names))
