"""The pictures of the concepts page, drawn by the product itself from small made-up clusters. Deterministic."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lifecycle_scripts"))

from slurm_topology.core.explain import NodeFacts, NodeState, Snapshot
from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree
from slurm_topology.view import draw, render_svg

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


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    for name, topology, count in (
        ("tree", tree(), 16),
        ("blocks", blocks(), 36),
        ("flat", NamedTopology("flat", Flat(), True), 12),
    ):
        states = {
            node: NodeFacts(node, NodeState.ALLOCATED if index % 5 else NodeState.IDLE)
            for index, node in enumerate(nodes(count))
        }
        picture = draw(
            Snapshot(
                ClusterTopology((topology,)),
                states,
                cluster=f"a {topology.name} topology" if name != "blocks" else "blocks",
            )
        )
        (IMAGES / f"{name}.svg").write_text(render_svg(picture))
        print(f"docs/images/{name}.svg")


if __name__ == "__main__":
    main()
