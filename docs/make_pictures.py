"""The pictures of the concepts page, drawn by the product itself from small made-up clusters. Deterministic."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lifecycle_scripts"))

from slurm_topology.core.choose import make_plan
from slurm_topology.core.explain import NodeFacts, NodeState, Snapshot
from slurm_topology.core.model import (
    Block,
    Blocks,
    Capability,
    ClusterTopology,
    Flat,
    Group,
    NamedTopology,
    NodeRole,
    Partition,
    Switch,
    Tree,
)
from slurm_topology.view import draw, plan_picture, render_svg

IMAGES = Path(__file__).parent / "images"


def nodes(count: int) -> list[str]:
    return [f"n{number}" for number in range(1, count + 1)]


def tree() -> NamedTopology:
    names = nodes(16)
    leaves = [Switch(f"leaf{index}", (), tuple(names[index * 4 - 4 : index * 4])) for index in range(1, 5)]
    spines = [Switch("spine1", ("leaf1", "leaf2")), Switch("spine2", ("leaf3", "leaf4"))]
    return NamedTopology("tree", Tree((*leaves, *spines, Switch("core", ("spine1", "spine2")))), True)


def blocks() -> NamedTopology:
    names = nodes(36)
    members = (names[:17], names[17:34], names[34:])
    body = Blocks((17,), tuple(Block(f"ultraserver{index}", tuple(part)) for index, part in enumerate(members, 1)))
    return NamedTopology("block", body, True)


def plan() -> str:
    """A cluster of everything: P5, GB200 UltraServers with a spare each, and CPU nodes."""
    groups = [
        Group("train", "ml.p5.48xlarge", NodeRole.COMPUTE, Capability.TREE, ("train",), 64),
        Group("ultra", "ml.p6e-gb200.36xlarge", NodeRole.COMPUTE, Capability.BLOCK, ("ultra",), 40, 18, 1),
        Group("cpu", "ml.m5.4xlarge", NodeRole.COMPUTE, Capability.NONE, ("dev",), 4),
    ]
    partitions = [Partition("train", ("train",)), Partition("ultra", ("ultra",)), Partition("dev", ("cpu",))]
    return plan_picture(make_plan(groups, partitions, None), groups).svg()


def picture(topology: NamedTopology, count: int, title: str) -> str:
    states = [NodeState.ALLOCATED if index % 5 else NodeState.IDLE for index in range(count)]
    facts = {name: NodeFacts(name, state) for name, state in zip(nodes(count), states, strict=True)}
    return render_svg(draw(Snapshot(ClusterTopology((topology,)), facts, cluster=title)))


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    pictures = {
        "tree": picture(tree(), 16, "a tree"),
        "blocks": picture(blocks(), 36, "blocks"),
        "flat": picture(NamedTopology("flat", Flat(), True), 12, "flat"),
        "plan": plan(),
    }
    for name, text in pictures.items():
        (IMAGES / f"{name}.svg").write_text(text)
        print(f"docs/images/{name}.svg")


if __name__ == "__main__":
    main()
