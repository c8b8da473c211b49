"""What our file costs slurmctld beside the uncollapsed one of the same inventory: its start and its reconfigure.

Two shapes: *dense*, leaves of 16 nodes, where next to nothing can be collapsed, and *scattered*, as capacity comes in
practice, where half of the spines have leaves of a single node. Both files go through one slurmctld's configuration
folder in turns, and who is first changes from round to round. Where both files mean the same and have as many
switches, "same file" stands beside the figures: their ratio is what the machine's noise does. Needs the private Slurm
roots (`make setup` makes them); says so and leaves out what can't run.

    python benchmarks/bench_slurmctld.py [24.11 26.05]
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the lab

from paired import compare
from results import save, table

from slurm_lab import Lab, Level, NotRunnable, find_root, make_nodes
from slurm_topology.core import render_conf, render_yaml
from slurm_topology.core.compare import same_meaning
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
ROUNDS = 12  # even, so that each file is first as often
LONG_ROUND_SECONDS, LONG_ROUNDS = 20.0, 2
TIMEOUT_SECONDS = 300
SECONDS_COLUMNS = ("ours", "ours_least", "other", "other_least", "difference_low", "difference_high")


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


class Seconds(NamedTuple):
    """What one file cost slurmctld once."""

    start: float
    reconfigure: float


def seconds_of(lab: Lab, text: str) -> Seconds:
    lab.controller.stop(seconds=TIMEOUT_SECONDS)
    lab.write_topology(text)
    began = time.monotonic()
    lab.controller.start("-c", seconds=TIMEOUT_SECONDS)
    started = time.monotonic() - began
    reconfigured = lab.reconfigure()
    assert reconfigured.accepted, reconfigured.log
    return Seconds(started, reconfigured.seconds)


def in_turns(version: str, size: int, texts: tuple[str, str]) -> tuple[list[Seconds], list[Seconds]]:
    """Both files' figures, round by round; one start before them warms the caches."""
    figures: tuple[list[Seconds], list[Seconds]] = [], []
    with Lab(version, nodes=make_nodes(size), level=Level.CONTROLLER, topology=texts[0]) as lab:
        began = time.monotonic()
        seconds_of(lab, texts[0])
        rounds, number = ROUNDS, 0
        while number < rounds:
            for which in (0, 1) if number % 2 == 0 else (1, 0):
                figures[which].append(seconds_of(lab, texts[which]))
            number += 1
            if (time.monotonic() - began) / number > LONG_ROUND_SECONDS:
                rounds = LONG_ROUNDS
    return figures


def files_of(version: str, shape: str, size: int) -> tuple[ClusterTopology, ClusterTopology]:
    """Ours, and the uncollapsed one."""
    cluster = inventory(shape, [node.name for node in make_nodes(size)])
    return compute(cluster, SlurmVersion.parse(version)).topology, uncollapsed(cluster)


def switches_of(topology: ClusterTopology) -> int:
    body = topology.topologies[0].body
    assert isinstance(body, Tree)
    return len(body.switches)


def measure(version: str, shape: str, size: int) -> Iterable[dict[str, Any]]:
    """A row for the start, and one for the reconfigure."""
    files = files_of(version, shape, size)
    ours, other = map(switches_of, files)
    print(f"slurmctld {version}, {shape}, {size:,} nodes: {ours} and {other} switches …", flush=True)
    render = render_yaml.render if SlurmVersion.parse(version).has_topology_yaml else render_conf.render
    figures = in_turns(version, size, (render(files[0]), render(files[1])))
    same = ours == other and same_meaning(*files)
    for what in Seconds._fields:
        found = compare(*([getattr(each, what) for each in of_file] for of_file in figures))
        yield {
            "slurm": version,
            "shape": shape,
            "nodes": size,
            "what": what,
            "rounds": len(figures[0]),
            "switches": ours,
            "switches_uncollapsed": other,
            **{f"{name}_s": round(value, 3) for name, value in found._asdict().items() if name in SECONDS_COLUMNS},
            "ratio": round(found.ratio, 3),
            "verdict": "same file" if same else found.verdict,
        }


def conclude(rows: list[dict[str, Any]]) -> None:
    """Say precisely what was found."""
    compared = [row for row in rows if row["verdict"] != "same file"]
    slower = [row for row in compared if row["verdict"].startswith("slower")]
    for row in slower:
        print(f"SLOWER: {row}")
    noise = max((abs(row["ratio"] - 1) for row in rows if row["verdict"] == "same file"), default=0.0)
    most = max(row["difference_high_s"] for row in compared)
    print(
        f"never slower: {'no' if slower else 'yes'}. Our file is shown to be slower in {len(slower)} of "
        f"{len(compared)} comparisons, and faster in {sum(row['verdict'].startswith('faster') for row in compared)} "
        f"(the 99 % sign-test interval of the paired differences is above, or below, 0). No interval reaches beyond "
        f"{most:+.2f} s. Two equal files' medians differ by up to {noise:.0%}: the noise."
    )


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
        table("slurmctld's own start and reconfigure: our file, and the uncollapsed one (other)", rows)
        conclude(rows)
        save("slurmctld", rows)


if __name__ == "__main__":
    main()
