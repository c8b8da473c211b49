"""Synth of the simplest app beside the same VPC with a bare CfnCluster, and of clusters with more and more groups.

Each app is a new process, as `cdk synth` starts one, with CDK's own validation of templates on, as it is by default.
The apps take turns; each figure is the best of several rounds. CPU time (this process, Node and what else it starts)
tells more than wall time on a busy machine. Targets: at most 1.3 times the bare app; groups cost the same each.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import results

HERE = Path(__file__).parent
GROUP_COUNTS = (1, 25, 50, 98)


class Cost(NamedTuple):
    cpu_seconds: float
    wall_seconds: float


def run(script: str, *arguments: str) -> Cost:
    """Cost of one process and its children."""
    folders = [str(HERE.parent / name) for name in ("constructs", "lifecycle_scripts")]
    unwanted = ("CDK_VALIDATION", "CDK_OUTDIR", "PYTHONDONTWRITEBYTECODE")
    environ = {name: value for name, value in os.environ.items() if name not in unwanted}
    environ["PYTHONPATH"] = os.pathsep.join(folders)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, str(HERE / script), *arguments], env=environ, check=True, capture_output=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def measure(rounds: int) -> dict[str, Cost]:
    """Best of ``rounds`` for each app."""
    commands = {"bare": ("synth_bare.py",), **{str(n): ("synth_cluster.py", str(n)) for n in GROUP_COUNTS}}
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(run(*command))
    return {name: Cost(*map(min, zip(*found, strict=True))) for name, found in costs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    best = measure(parser.parse_args().rounds)
    bare, simplest = best["bare"], best["1"]
    rows = [
        {
            "app": "bare CfnCluster, same VPC" if name == "bare" else f"SlurmCluster, {name} compute groups",
            "cpu s": cost.cpu_seconds,
            "wall s": cost.wall_seconds,
            "times bare": cost.cpu_seconds / bare.cpu_seconds,
            "ms a group": (
                None if name in ("bare", "1") else 1000 * (cost.cpu_seconds - simplest.cpu_seconds) / (int(name) - 1)
            ),
        }
        for name, cost in best.items()
    ]
    results.table("Synth (target: simplest app at most 1.3 times bare; the same ms for each group)", rows)
    results.save("synth", rows)


if __name__ == "__main__":
    main()
