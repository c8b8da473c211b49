"""The slurmd's of a lab: all on one machine, each with a port, a spool folder and a log of its own."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from .box import Box
from .slurm_conf import CONF_FOLDER, Node
from .wait import wait_for

__all__ = ["kill_node", "start_slurmds", "states", "wait_until_up"]

# What is lost with an instance: slurmd (by its command line: its pid file is stale while it starts itself anew after a
# reconfigure, and there may be two of it), its step daemons (found by their socket in the node's spool folder, because
# they rewrite their command line), and the processes of the jobs (each task leads a process group).
KILL = r"""
node=$1
while pkill -KILL --full "^slurmd .* -N $node( |\$)"; do sleep 0.01; done
for step in $(ss -xlpH | grep -F "/var/spool/slurmd.$node/" | grep -o 'pid=[0-9]*' | cut -d= -f2 | sort -u); do
    tasks=$(pgrep -P "$step")
    kill -KILL "$step"
    for task in $tasks; do kill -KILL -- "-$task" "$task"; done
done 2>/dev/null
rm -rf "/run/slurmd.$node.pid" "/var/spool/slurmd.$node"
"""


def start_slurmds(box: Box, nodes: Sequence[Node], arguments: Iterable[str] = ()) -> None:
    """Start the slurmd's of these nodes; they put themselves into the background. One shell starts them all."""
    commands = [f"mkdir -p {' '.join(f'/var/spool/slurmd.{node.name}' for node in nodes)}"]
    commands += [shlex.join(_command(node, arguments)) for node in nodes]
    box.run("sh", "-e", input="\n".join(commands), timeout=300, check=True)


def _command(node: Node, arguments: Iterable[str]) -> list[str]:
    identity = [f"--instance-id={node.instance_id}"] if node.instance_id else []
    identity += [f"--instance-type={node.instance_type}"] if node.instance_type else []
    return ["slurmd", "-f", f"{CONF_FOLDER}/slurm.conf", "-N", node.name, *identity, *arguments]


def kill_node(box: Box, name: str) -> None:
    """End slurmd and everything that runs on this node at once, as the loss of its instance does."""
    box.run("sh", "-c", KILL, "sh", name, check=True)


def states(box: Box) -> dict[str, str]:
    """State of each node as slurmctld sees it, such as "idle", "alloc", "down*"; nodes in no partition are missing."""
    said = box.run("sinfo", "--noheader", "--Node", "--format=%N %t").stdout
    return dict(line.split() for line in said.splitlines())


def wait_until_up(box: Box, names: Iterable[str], seconds: float = 60) -> None:
    """Until each of these nodes can run jobs, or runs some. Raises WaitError with the states of those that can't."""
    wanted = set(names)

    def missing() -> dict[str, str]:
        seen = states(box)
        return {name: seen.get(name, "unknown") for name in wanted if seen.get(name) not in ("idle", "mix", "alloc")}

    wait_for(lambda: not missing(), f"{len(wanted)} nodes are up", seconds=seconds, explain=lambda: str(missing()))
