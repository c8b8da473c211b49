"""The agent in a lab: run the lifecycle script as HyperPod does, and hear what the agent says of itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from slurm_lab.lab import Lab
from slurm_lab.roots import Root
from slurm_lab.slurm_conf import Node

__all__ = ["last_pass", "last_words", "new_lab", "plugin_in_force", "pull_triggers", "run_lifecycle_script", "triggers"]

COMMAND = "/usr/local/bin/slurm-topology"


def new_lab(root: Root, nodes: Sequence[Node]) -> Lab:
    """A lab whose slurm.conf has HyperPod's opt-out of its own topology manager: the flat plugin."""
    flat = "topology/flat" if root.exact_version >= "25.05" else "topology/default"
    return Lab(root, nodes=nodes, plugin=flat)


def run_lifecycle_script(lab: Lab, script: str) -> None:
    """As HyperPod: bash, as root, in the script's folder; a failure would fail the node."""
    folder, _, name = script.rpartition("/")
    lab.run("sh", "-c", 'cd "$1" && exec bash "$2"', "sh", folder, name, check=True)


def triggers(lab: Lab) -> str:
    """What starts a pass in this lab: the installed units, or this run in their place where no systemd is."""
    return "systemd" if lab.run("systemctl", "is-system-running").returncode == 0 else "make local"


def pull_triggers(lab: Lab) -> None:
    """Without a systemd, run what its path unit would run. A pass that can't succeed yet is told by `last_words`."""
    if triggers(lab) != "systemd":
        lab.run(COMMAND, "reconcile", timeout=120)


def last_pass(lab: Lab) -> str:
    """One line: what the agent did last."""
    done = lab.run(COMMAND, "status", "--json")
    if done.returncode:
        return f"status failed: {done.stderr.strip()}"
    passes: Any = json.loads(done.stdout).get("passes", [])
    return json.dumps(passes[-1]) if passes else "no pass yet"


def last_words(lab: Lab) -> str:
    """What the agent has to say when things go wrong."""
    done = lab.run(COMMAND, "status")
    return done.stdout + done.stderr


def plugin_in_force(lab: Lab) -> str:
    """topology/tree, topology/block or topology/flat, as slurmctld works now (a topology.yaml wins over slurm.conf)."""
    if lab.scontrol("show", "topoconf", check=False).startswith("---"):
        text = lab.scontrol("show", "topoconf")
        return "topology/" + next((kind for kind in ("tree", "block") if f"\n  {kind}:" in text), "flat")
    shown = lab.scontrol("show", "config")
    return next((line.split("=")[1].strip() for line in shown.splitlines() if line.startswith("TopologyPlugin")), "")
