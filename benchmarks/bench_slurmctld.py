"""What our file costs slurmctld beside the uncollapsed one of the same inventory: its start and its reconfigure.

Two shapes: *dense*, leaves of 16 nodes, where nothing can be collapsed, and *scattered*, as capacity comes in
practice, where half of the spines have leaves of a single node. Needs the private Slurm roots (`make setup` makes
them); says so and leaves out what can't run.

    python benchmarks/bench_slurmctld.py [24.11 26.05]
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the lab

from results import save, table

from slurm_lab import Lab, Level, NotRunnable, find_root, make_nodes
from slurm_topology.core import render_conf, render_yaml
from slurm_topology.core.model import (
    Capability,
    ClusterTopology,
    Group,
    Inventory,
    NamedTopology,
    Node,
    Placement,
    Switch,
    Tree,
)
from slurm_topology.core.pipeline import compute
from slurm_topology.core.slurm_version import SlurmVersion

SIZES = (1_000, 5_000, 10_000)
LEAVES_PER_SPINE = 16
START_TIMEOUT_SECONDS = 300


def leaf_sizes(shape: str) -> Iterable[int]:
    """Nodes on each leaf, leaf after leaf, for ever."""
    spine = 0
    while True:
        yield from [1 if shape == "scattered" and spine % 2 else 16 if shape == "dense" else 7] * LEAVES_PER_SPINE
        spine += 1


def inventory(shape: str, names: list[str]) -> Inventory:
    nodes: list[Node] = []
    for leaf, size in enumerate(leaf_sizes(shape)):
        if len(nodes) == len(names):
            break
        place = Placement(("nn-core", f"nn-spine-{leaf // LEAVES_PER_SPINE}", f"nn-leaf-{leaf}"))
        nodes += [Node(name, None, "ml.p5.48xlarge", "train", place) for name in names[len(nodes) : len(nodes) + size]]
    return Inventory(tuple(nodes), (Group("train", "ml.p5.48xlarge", capability=Capability.TREE),))


def uncollapsed(cluster: Inventory) -> ClusterTopology:
    """Every network node a switch, as a tool writes it that takes the paths as they are."""
    children: defaultdict[str, set[str]] = defaultdict(set)
    leaves: defaultdict[str, list[str]] = defaultdict(list)
    for node in cluster.nodes:
        core, spine, leaf = node.placement.network_nodes
        children[core].add(spine)
        children[spine].add(leaf)
        leaves[leaf].append(node.name)
    switches = [Switch(name, tuple(sorted(below))) for name, below in sorted(children.items())]
    switches += [Switch(name, (), tuple(nodes)) for name, nodes in sorted(leaves.items())]
    return ClusterTopology((NamedTopology("tree", Tree(tuple(switches)), cluster_default=True),))


def seconds_of(version: str, names: list[str], text: str) -> tuple[float, float]:
    """Start and reconfigure of a real slurmctld, in seconds."""
    nodes = make_nodes(len(names))
    with Lab(version, nodes=nodes, level=Level.CONTROLLER, topology=text) as lab:
        lab.controller.stop(seconds=START_TIMEOUT_SECONDS)
        start = time.monotonic()
        lab.controller.start("-c", seconds=START_TIMEOUT_SECONDS)
        started = time.monotonic() - start
        reconfigured = lab.reconfigure()
        assert reconfigured.accepted, reconfigured.log
        return started, reconfigured.seconds


def measure(version: str, shape: str, size: int) -> Iterable[dict[str, Any]]:
    names = [node.name for node in make_nodes(size)]
    cluster = inventory(shape, names)
    slurm = SlurmVersion.parse(version)
    render = render_yaml.render if slurm.has_topology_yaml else render_conf.render
    files = {"collapsed": compute(cluster, slurm).topology, "uncollapsed": uncollapsed(cluster)}
    for which, topology in files.items():
        body = topology.topologies[0].body
        assert isinstance(body, Tree)
        print(f"slurmctld {version}, {shape}, {size:,} nodes, {which}: {len(body.switches)} switches …", flush=True)
        start, reconfigure = seconds_of(version, names, render(topology))
        yield {
            "slurm": version,
            "shape": shape,
            "nodes": size,
            "file": which,
            "switches": len(body.switches),
            "start_s": round(start, 2),
            "reconfigure_s": round(reconfigure, 2),
        }


def main() -> None:
    rows: list[dict[str, Any]] = []
    for version in sys.argv[1:] or ["24.11", "26.05"]:
        try:
            find_root(version)
        except NotRunnable as reason:
            print(f"left out: {reason}")
            continue
        rows += [row for shape in ("dense", "scattered") for size in SIZES for row in measure(version, shape, size)]
    if rows:
        table("slurmctld's own start and reconfigure", rows)
        save("slurmctld", rows)


if __name__ == "__main__":
    main()
