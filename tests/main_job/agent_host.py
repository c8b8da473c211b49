"""The agent in a lab: run the lifecycle script as HyperPod does, and hear what the agent says of itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from slurm_lab.controller import StartedBy
from slurm_lab.lab import Lab
from slurm_lab.roots import NotRunnable, Root
from slurm_lab.slurm_conf import Node

__all__ = [
    "in_words",
    "last_pass",
    "last_words",
    "new_lab",
    "plugin_in_force",
    "pull_triggers",
    "run_lifecycle_script",
    "triggers",
]

COMMAND = "/usr/local/bin/slurm-topology"


def new_lab(root: Root, nodes: Sequence[Node], port: int) -> Lab:
    """A controller, booted: systemd where this machine can run one in namespaces, else no init system.

    Its slurm.conf has HyperPod's opt-out of its own topology manager: the flat plugin. ``port`` of our loopback is the
    cloud's, and reachable inside.
    """
    flat = "topology/flat" if root.exact_version >= "25.05" else "topology/default"
    lab = Lab(root, nodes=nodes, plugin=flat, started_by=StartedBy.SYSTEMD, forward_ports=[port])
    try:
        lab.start_box()
    except NotRunnable:
        lab = Lab(root, nodes=nodes, plugin=flat, forward_ports=[port])
        lab.start_box()
    return lab


def run_lifecycle_script(lab: Lab, script: str) -> None:
    """As HyperPod: bash, as root, in the script's folder; a failure would fail the node.

    The one thing that isn't the default: no AWS is asked, because these nodes have no instance role.
    """
    lab.box.write_text("/etc/slurm-topology/agent.json", '{"ask_aws": false, "cloudwatch": false}\n')
    folder, _, name = script.rpartition("/")
    lab.run("sh", "-c", 'cd "$1" && exec bash "$2"', "sh", folder, name, check=True)


def triggers(lab: Lab) -> str:
    """What starts a pass in this lab: the installed units, or this run in their place where no systemd is."""
    return "systemd" if lab.controller.started_by.is_systemd else "make local"


def pull_triggers(lab: Lab) -> None:
    """Without a systemd, run what its path unit would run. A pass that can't succeed yet is told by `last_words`."""
    if not lab.controller.started_by.is_systemd:
        lab.run(COMMAND, "reconcile", timeout=120)


def last_pass(lab: Lab) -> dict[str, Any]:
    """What the agent did last: `action`, `reason`, `at` (seconds since 1970), `failed`, …; empty before the first."""
    done = lab.run(COMMAND, "status", "--json")
    try:
        passes: list[dict[str, Any]] = json.loads(done.stdout)["passes"]
    except (ValueError, KeyError):
        return {}
    return passes[-1] if passes else {}


def in_words(agent_pass: dict[str, Any]) -> str:
    """A pass as one line for people."""
    if not agent_pass:
        return "the agent has not passed yet"
    return f"the agent: {agent_pass['action']} ({agent_pass['reason']}) in {agent_pass['seconds']:.2f} s"


def last_words(lab: Lab) -> str:
    """What the agent has to say when things go wrong."""
    done = lab.run(COMMAND, "status")
    return done.stdout + done.stderr


def plugin_in_force(lab: Lab) -> str:
    """What slurmctld works by now. slurm.conf's TopologyPlugin doesn't tell: a topology.yaml wins over it."""
    shown = lab.scontrol("show", "topology", check=False)
    kinds = {"SwitchName=": "topology/tree", "BlockName=": "topology/block"}
    return next((plugin for word, plugin in kinds.items() if word in shown), "topology/flat")
