"""How fast the core is: inventory → checked rendering, its memory, and one whole steady-state pass without Slurm.

Targets: 5 / 45 / 230 ms for 1,000 / 10,000 / 50,000 nodes, 150 MB at 50,000, growth exponent up to 1.1; 150 ms CPU
for the core's share of a pass over 10,000 nodes in which nothing changed.

    python benchmarks/bench_core.py             the table, and benchmarks/results.json
    python benchmarks/bench_core.py --profile tree    where the time goes at 50,000 nodes
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from clusters import block_cluster, resource_config, slurm_nodes, tree_cluster
from results import growth_exponent, save, table

from slurm_topology.core import inventory, read_resource_config
from slurm_topology.core.model import Inventory
from slurm_topology.core.pipeline import Rendering, compute
from slurm_topology.core.read_scontrol import read_nodes
from slurm_topology.core.slurm_version import SlurmVersion

VERSION = SlurmVersion.parse("25.11.4")
SIZES = (1_000, 10_000, 50_000)
TARGET_MS = {1_000: 5.0, 10_000: 45.0, 50_000: 230.0}
TARGET_MB = 150.0
STEADY_TARGET_MS = 150.0
KINDS: dict[str, Callable[[int], Inventory]] = {"tree": tree_cluster, "block": block_cluster}
ROUNDS = 11

Value = TypeVar("Value")


def cpu_ms(work: Callable[[], Value]) -> tuple[float, Value]:
    """CPU milliseconds of one run, and its result. Garbage of before is collected first, its own while it runs."""
    gc.collect()
    start = time.process_time()
    result = work()
    return (time.process_time() - start) * 1e3, result


def best_ms(work: Callable[[], Value], repeats: int = ROUNDS) -> tuple[float, Value]:
    """CPU milliseconds of the quickest run, and its result: what the work costs when nothing disturbs it."""
    runs = [cpu_ms(work) for _ in range(repeats)]
    return min(ms for ms, _ in runs), runs[-1][1]


def measure_all() -> Iterator[dict[str, Any]]:
    """A row for each kind and size: the quickest run. All sizes are measured in each round, so that a slow minute of
    the machine isn't taken for growth. Each run has but its own inventory in memory, as a pass of the agent has."""
    best: dict[tuple[str, int], float] = {}
    texts: dict[tuple[str, int], str] = {}
    for _ in range(ROUNDS):
        for kind, size in product(KINDS, SIZES):
            cluster = KINDS[kind](size)
            ms, rendering = cpu_ms(partial(compute, cluster, VERSION))
            assert rendering.text is not None, rendering.findings
            best[kind, size], texts[kind, size] = min(ms, best.get((kind, size), ms)), rendering.text
    for (kind, size), ms in best.items():
        text = texts[kind, size]
        yield {
            "kind": kind,
            "nodes": size,
            "ms": round(ms, 2),
            "target_ms": TARGET_MS[size],
            "peak_mb": peak_mb(kind, size),
            "units": text.count("- switch:") + text.count("- block:"),
            "bytes": len(text),
        }


def peak_mb(kind: str, size: int) -> float:
    """Peak memory of a fresh process that has only this one rendering to make, interpreter and inventory included."""
    command = [sys.executable, __file__, "--peak", kind, "--nodes", str(size)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_peak(kind: str, size: int) -> None:
    rendering: Rendering = compute(KINDS[kind](size), VERSION)
    assert rendering.text
    status = Path("/proc/self/status").read_text()  # ru_maxrss would begin with what the parent had when it forked
    print(round(int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024, 1))


def bench_renderings() -> bool:
    rows = list(measure_all())
    table(f"inventory → checked topology.yaml (CPU time of the best of {ROUNDS} runs)", rows)
    growth = {}
    for kind in KINDS:
        times = {row["nodes"]: row["ms"] for row in rows if row["kind"] == kind}
        growth[kind] = round(growth_exponent(times), 3)
        print(f"growth exponent, {kind}: {growth[kind]} (target: up to 1.1)")
    save("core", [*rows, *({"kind": kind, "growth_exponent": value} for kind, value in growth.items())])
    fast = all(row["ms"] <= row["target_ms"] for row in rows)
    return fast and max(row["peak_mb"] for row in rows) <= TARGET_MB and max(growth.values()) <= 1.1


def bench_steady_state(size: int = 10_000) -> bool:
    """What the core does in a pass in which nothing changed: read both sources, join, plan, build, check, render,
    compare."""
    config_text, nodes_text = json.dumps(resource_config(size)), slurm_nodes(size)
    steps: dict[str, float] = {}

    def step(name: str, work: Callable[[], Value]) -> Value:
        steps[name], result = best_ms(work)
        return result

    document = step("parse resource_config.json", lambda: json.loads(config_text))
    config = step("read it", lambda: read_resource_config.read(document))
    nodes = step("read scontrol show nodes", lambda: read_nodes(nodes_text))
    merged, findings = step("join", lambda: inventory.build(resource_config=config, slurm_nodes=nodes))
    rendering = step("plan, build, check, render", lambda: compute(merged, VERSION))
    on_disk = "".join(rendering.text or "")
    assert step("compare with the file", lambda: rendering.text == on_disk)
    assert findings == ()
    rows = [{"step": name, "ms": round(ms, 1)} for name, ms in steps.items()]
    rows.append({"step": "together", "ms": round(sum(steps.values()), 1)})
    table(f"a pass over {size:,} nodes in which nothing changed (target: {STEADY_TARGET_MS:.0f} ms)", rows)
    save("steady_state", rows)
    return sum(steps.values()) <= STEADY_TARGET_MS


def profile(kind: str, size: int) -> None:
    cluster = KINDS[kind](size)
    with cProfile.Profile() as profiler:
        compute(cluster, VERSION)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=KINDS)
    parser.add_argument("--peak", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--nodes", type=int, default=SIZES[-1])
    arguments = parser.parse_args()
    if arguments.profile:
        profile(arguments.profile, arguments.nodes)
    elif arguments.peak:
        print_peak(arguments.peak, arguments.nodes)
    else:
        reached = [bench_renderings(), bench_steady_state()]
        print("all targets reached" if all(reached) else "a target was missed")


if __name__ == "__main__":
    main()
