"""A thousand scale and replace events on 256 nodes, with jobs on them and jobs waiting, against real slurmctld's.

Checked after every ten events, when the agent has settled: no job lost, none left held, slurmctld never dead, no node
unplaced, no more reconfigures in a minute than the ceiling allows, memory and files not growing. Exit status 1 when
any of it isn't so.

    python benchmarks/soak_agent.py [--events 1000] [--nodes 256] [--seed 1] [24.11 26.05]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the lab

from results import save, table

from agent.agent_lab import AgentLab
from agent.churn import Churn, Report
from slurm_lab import Lab, Level, NotRunnable, find_root, make_nodes

CEILING = 4  # reconfigures a minute: the agent's default
HISTORY = 50  # likewise


def soak(version: str, events: int, nodes: int, seed: int) -> tuple[dict[str, Any], list[str]]:
    """Play; gives the figures and what went wrong."""
    flat = "topology/default" if version == "24.11" else "topology/flat"
    started = time.monotonic()
    with Lab(find_root(version), nodes=make_nodes(nodes * 3 // 4), plugin=flat, level=Level.CLOUD) as slurm:
        lab = AgentLab(slurm, reconfigures_per_minute=CEILING, history_entries=HISTORY)
        try:
            report = Churn(lab, most=nodes, seed=seed).play(events)
        finally:
            lab.close()
    return figures(version, report, time.monotonic() - started), faults(report)


def figures(version: str, report: Report, seconds: float) -> dict[str, Any]:
    return {
        "slurm": version,
        "events": report.events,
        "passes": report.passes,
        "changes": report.changes,
        "reconfigures": report.reconfigures,
        "most_a_minute": report.most_in_a_minute,
        "deferred": report.deferred,
        "jobs": report.jobs_submitted,
        "lost": len(report.jobs_lost),
        "held": len(report.jobs_held),
        "released": report.released,
        "unplaced": len(report.unplaced),
        "deaths": report.deaths,
        "memory_first_mb": round(max(report.memory_kilobytes[:20]) / 1024, 1),
        "memory_last_mb": round(max(report.memory_kilobytes[-20:]) / 1024, 1),
        "files": report.files[-1],
        "files_kb": round(report.file_bytes[-1] / 1024),
        "hours_played": round(report.seconds_played / 3600, 1),
        "seconds": round(seconds),
    }


def faults(report: Report) -> list[str]:
    """What must not be, and is."""
    half = len(report.memory_kilobytes) // 2
    grown = max(report.memory_kilobytes[half:]) - max(report.memory_kilobytes[:half])
    checks = {
        f"lost jobs: {report.jobs_lost}": report.jobs_lost,
        f"held jobs: {report.jobs_held}": report.jobs_held,
        f"unplaced nodes: {report.unplaced}": report.unplaced,
        f"slurmctld was dead {report.deaths} times": report.deaths,
        f"{report.failures} passes failed": report.failures,
        f"{report.most_in_a_minute} reconfigures in a minute": report.most_in_a_minute > CEILING,
        f"memory grew by {grown} kB": grown > 8192,
        f"{max(report.files)} files in the state folder": max(report.files) > HISTORY + 6,
    }
    return [text for text, wrong in checks.items() if wrong]


def main() -> int:
    parser = argparse.ArgumentParser(description="Churn soak of the agent.")
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("versions", nargs="*", default=["24.11", "26.05"])
    chosen = parser.parse_args()
    rows, wrong = [], []
    for version in chosen.versions:
        try:
            row, found = soak(version, chosen.events, chosen.nodes, chosen.seed)
        except NotRunnable as reason:
            print(f"not runnable here: {reason}")
            continue
        rows.append(row)
        wrong += [f"{version}: {text}" for text in found]
    if rows:
        table("agent soak", [{key: row[key] for key in list(rows[0])[:13]} for row in rows])
        table(
            "memory, files, time",
            [{"slurm": row["slurm"], **{key: row[key] for key in list(rows[0])[13:]}} for row in rows],
        )
        save("agent_soak", rows)
    print("\n".join(["", *wrong]) if wrong else "\nnothing lost, nothing held, nothing grew")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
