"""From HyperPod's file to Slurm: how long until `scontrol show topology` shows a node in its new place.

The agent is installed under a real systemd, by its own units (a coalescing window of 2 s).
A node moves to another leaf in resource_config.json; a loop in the same box asks scontrol until it says so. What
remains when the window and Slurm's own reconfigure are taken away is the agent's part: the target is 1 s.

    python benchmarks/bench_agent_latency.py [--samples 20] [24.11 26.05]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the lab

from results import save, table

from agent.agent_lab import RESOURCE_CONFIG, SETTINGS, AgentLab, Member, resource_config, tree_of
from agent.bundle import run_script, stage
from slurm_lab import Lab, Level, NotRunnable, StartedBy, find_root, make_nodes, wait_for

SIZES = (64, 1024)
WINDOW_SECONDS = 2.0  # Settings.coalesce_seconds
TARGET_SECONDS = 1.0

# Replaces HyperPod's file in one step, then asks until the leaf has the node; prints seconds.
WATCH = """
import json, os, subprocess, sys, time
text, asked, leaf = sys.stdin.read(), sys.argv[1], sys.argv[2]
def there():
    shown = subprocess.run(["scontrol", "show", "topology", asked], capture_output=True, text=True).stdout
    return any(line.startswith(f"SwitchName={leaf} ") for line in shown.splitlines())
with open(sys.argv[3] + ".new", "w") as stream:
    stream.write(text)
os.replace(sys.argv[3] + ".new", sys.argv[3])
started = time.monotonic()
while not there():
    if time.monotonic() - started > 60:
        sys.exit("it never showed")
    time.sleep(0.02)
print(time.monotonic() - started)
"""


def measure(version: str, size: int, samples: int) -> dict[str, Any]:
    flat = "topology/default" if version == "24.11" else "topology/flat"
    lab = Lab(
        find_root(version), nodes=make_nodes(size), plugin=flat, level=Level.CONTROLLER, started_by=StartedBy.SYSTEMD
    )
    with lab as slurm:
        agent = AgentLab(slurm)
        # samples follow each other faster than the ceiling of four a minute would let them
        slurm.box.write_text(
            SETTINGS, json.dumps({"reconfigures_per_minute": 1000, "cloudwatch": False, "ask_aws": False})
        )
        members = tree_of(slurm.nodes, 16)
        agent.write_members(members)
        stage(agent)
        assert run_script(agent) == 0
        wait_for(agent.unit_of, "the agent's first topology", seconds=60)
        pairs = [sample(agent, members, number) for number in range(samples)]
        agent.close()
    return row(version, size, pairs)


def sample(agent: AgentLab, members: list[Member], number: int) -> tuple[float, float]:
    """Seconds until it showed, and Slurm's own part of them."""
    leaves = len(members) // 16
    index = number % len(members)
    now = int(members[index].path[-1].removeprefix("nn-leaf"))
    leaf = (now + 1) % leaves
    members[index] = members[index].moved_to(leaf)
    node = agent.lab.nodes[index].name
    asked = node if agent.lab.topology_file == "topology.conf" else f"node={node}"  # as each version wants it
    command = ("python3", "-c", WATCH, asked, f"nn-leaf{leaf}", RESOURCE_CONFIG)
    said = agent.lab.box.run(*command, input=json.dumps(resource_config(members)), timeout=90, check=True).stdout
    wait_for(lambda: agent.state()["counters"]["changes"] >= number + 2, "the pass has ended", seconds=20)
    return float(said), float(agent.state()["reconfigure_seconds"])


def row(version: str, size: int, pairs: list[tuple[float, float]]) -> dict[str, Any]:
    seen = sorted(total for total, _ in pairs)
    own = sorted(total - WINDOW_SECONDS - slurm for total, slurm in pairs)
    return {
        "slurm": version,
        "nodes": size,
        "samples": len(pairs),
        "p50_s": statistics.median(seen),
        "p99_s": percentile(seen, 0.99),
        "window_s": WINDOW_SECONDS,
        "slurm_reconfigure_p50_s": statistics.median(slurm for _, slurm in pairs),
        "agent_p50_s": statistics.median(own),
        "agent_p99_s": percentile(own, 0.99),
    }


def percentile(values: list[float], part: float) -> float:
    """The smallest value that at least this part of all is not above."""
    return values[min(len(values) - 1, max(0, round(part * len(values) + 0.5) - 1))]


def main() -> None:
    parser = argparse.ArgumentParser(description="Latency from HyperPod's file to Slurm.")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("versions", nargs="*", default=["24.11", "26.05"])
    chosen = parser.parse_args()
    try:
        rows = [measure(version, size, chosen.samples) for version in chosen.versions for size in SIZES]
    except NotRunnable as reason:
        print(f"not runnable here: {reason}")
        return
    table(f"agent latency (target for the agent's part: {TARGET_SECONDS:g} s)", rows)
    save("agent_latency", rows)


if __name__ == "__main__":
    main()
