#!/usr/bin/env python3
"""Make the documentation's pictures and example files anew, from a real run: 64 slurmd's, real jobs, the agent.

    .venv/bin/python scripts/screenshots.py          needs the private Slurm (make setup) and Chromium

Writes docs/images/*.png and docs/example/*. Look at the difference before committing it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "lifecycle_scripts")]

from agent.agent_lab import AgentLab, Member, resource_config  # noqa: E402
from slurm_lab import Lab, Level, Node, make_nodes  # noqa: E402
from slurm_lab.wait import wait_for  # noqa: E402
from view.browser import Page, browser  # noqa: E402

IMAGES, EXAMPLE = ROOT / "docs" / "images", ROOT / "docs" / "example"
VERSION = "26.05"
LEAF, SPINE = 8, 4  # nodes a leaf, leaves a spine
OPEN_FIRST_JOB = "document.getElementById('tab-jobs').click(); document.querySelector('#view-jobs .link').click()"


def main() -> None:
    nodes = make_nodes(64)
    members = list(placed(nodes))
    with Lab(VERSION, nodes=nodes, level=Level.SLURMD, plugin="topology/flat") as lab:
        agent = AgentLab(lab)
        agent.write_members(members)
        done = agent.run("reconcile", "--now")
        if done.returncode:
            sys.exit(f"the agent failed: {done.stdout}{done.stderr}")
        run_jobs(lab, members)
        keep_example(lab, members)
        page = agent.run("show", "--format", "html").stdout
    take_pictures(page)


def placed(nodes: Sequence[Node]) -> Iterator[Member]:
    """Eight nodes a leaf, four leaves a spine, one core; ids as EC2 gives them, in no order of names."""
    for index, node in enumerate(nodes):
        leaf = (index * 29 % 64) // LEAF
        path = (
            "nn-3fc21f0e9a7d5b401",
            f"nn-7b{leaf // SPINE}e10c52d9f8a63",
            f"nn-{leaf * 2654435761 % 2**32:08x}c41d7",
        )
        yield Member(node.address, node.instance_id, path)


def run_jobs(lab: Lab, members: Sequence[Member]) -> None:
    """A busy day: a large job, an evaluation in each other leaf, what is left over is scattered, two jobs wait."""
    name_of = {node.address: node.name for node in lab.nodes}
    leaves: dict[str, list[str]] = {}
    for member in members:
        leaves.setdefault(member.path[-1], []).append(name_of[member.address])
    taken = lab.jobs.wait_running(lab.jobs.submit(24, "--job-name=llama-pretrain")).nodes
    rest = [nodes for nodes in leaves.values() if not set(nodes) & set(taken)]
    lab.scontrol("update", f"NodeName={rest[0][7]}", "State=DRAIN", "Reason=ecc errors on gpu 3")
    for nodes in rest:
        lab.jobs.wait_running(lab.jobs.submit(5, "--job-name=eval-suite", f"--nodelist={','.join(nodes[:5])}"))
    lab.jobs.wait_running(lab.jobs.submit(6, "--job-name=finetune"))
    lab.scontrol("update", f"NodeName={taken[3]}", "State=DRAIN", "Reason=firmware update")
    waiting = (
        lab.jobs.submit(4, "--job-name=ablation", "--switches=1@12:00:00"),
        lab.jobs.submit(32, "--job-name=big-run"),
    )
    wait_for(lambda: all(lab.jobs.get(job).reason != "None" for job in waiting), "the scheduler has looked at the jobs")


def keep_example(lab: Lab, members: list[Member]) -> None:
    """What Slurm and HyperPod's file say, for the commands in the documentation."""
    EXAMPLE.mkdir(exist_ok=True)
    (EXAMPLE / "resource_config.json").write_text(json.dumps(resource_config(members), indent=1) + "\n")
    (EXAMPLE / "topology.yaml").write_text(lab.box.read_text(lab.path("topology.yaml")))
    for what in ("nodes", "jobs", "partitions"):
        lines = lab.scontrol("show", what).splitlines(keepends=True)
        kept = (line for line in lines if not line.startswith("   OS="))  # this machine's kernel is no part of it
        (EXAMPLE / f"{what}.txt").write_text("".join(kept))


def take_pictures(html: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, browser() as page:
        path = Path(folder) / "topology.html"
        path.write_text(html)
        take(page, path, "show-light")
        take(page, path, "show-dark", dark=True)
        take(page, path, "show-job", script=OPEN_FIRST_JOB)
        take(page, path, "show-narrow", width=420)


def take(page: Page, path: Path, name: str, *, dark: bool = False, width: int = 1280, script: str = "") -> None:
    page.open(path, dark=dark, width=width)
    page.until("return document.documentElement.dataset.readyMilliseconds !== undefined")
    page.run(script)
    page.screenshot(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
