"""One small cluster whose right answers can be seen at a glance, and jobs on it.

::

    root ── s1 ── leaf1: a1 a2 a3 a4        root ── s2 ── leaf3: c1 c2 c3 c4
              └── leaf2: b1 b2 b3 b4                 └── leaf4: d1 d2 d3 d4
"""

from __future__ import annotations

from collections.abc import Iterable

from slurm_topology.core.explain import Context, Job, JobPhase, NodeFacts, NodeState, Snapshot
from slurm_topology.core.model import Block, Blocks, ClusterTopology, NamedTopology, Partition, Switch, Tree

__all__ = ["BLOCK", "LATER", "NODES", "NOON", "TREE", "cluster", "job"]

LEAVES = {f"leaf{number}": [f"{letter}{index}" for index in range(1, 5)] for number, letter in enumerate("abcd", 1)}
NODES = [node for nodes in LEAVES.values() for node in nodes]
TREE = NamedTopology(
    "tree",
    Tree(
        (
            *(Switch(name, (), tuple(nodes)) for name, nodes in LEAVES.items()),
            Switch("s1", ("leaf1", "leaf2")),
            Switch("s2", ("leaf3", "leaf4")),
            Switch("root", ("s1", "s2")),
        )
    ),
    True,
)
BLOCK = NamedTopology("block", Blocks((4, 8, 16), tuple(Block(n, tuple(nodes)) for n, nodes in LEAVES.items())), True)
NOON, LATER = "2026-12-01T12:00:00", "2026-12-01T13:00:00"


def job(number: int, nodes: Iterable[str] = (), **facts: object) -> Job:
    held = tuple(nodes)
    phase = JobPhase.RUNNING if held else JobPhase.PENDING
    common = Job(str(number), str(number), "name", "ada", ("p",), phase, phase.value.upper(), "", held, len(held), NOON)
    return common._replace(started=NOON if held else None)._replace(**facts)  # type: ignore[arg-type]


def cluster(*jobs: Job, away: Iterable[str] = (), topology: NamedTopology = TREE, **facts: object) -> Context:
    held = {node for each in jobs if each.phase is JobPhase.RUNNING for node in each.nodes}
    nodes = {}
    for name in NODES:
        state = NodeState.ALLOCATED if name in held else NodeState.IDLE
        nodes[name] = NodeFacts(name, state, partitions=("p",))
        if name in set(away):
            nodes[name] = NodeFacts(name, NodeState.DRAINED, partitions=("p",), reason="ecc", **facts)  # type: ignore[arg-type]
    return Context(Snapshot(ClusterTopology((topology,)), nodes, jobs, (Partition("p", nodes=tuple(NODES)),)))
