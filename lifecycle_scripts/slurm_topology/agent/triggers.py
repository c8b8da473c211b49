"""Slurm's own triggers: when a node goes up or down, slurmctld runs our notifier (as SlurmUser), within 15 s.

15 s is Slurm's own look at its triggers; a reconfigure in between forgets what happened, and that is why this is only
one of four ways to notice. Triggers are kept in slurmctld's state and can be lost with it, so a pass that finds one
missing sets it again.
"""

from __future__ import annotations

from pathlib import Path

from slurm_topology.agent.slurm import Slurm
from slurm_topology.core.errors import CommandError

__all__ = ["EVENTS", "NOTIFIER", "NOTIFIER_PATH", "arm", "missing"]

NOTIFIER = "/opt/slurm-topology/current/bin/notify"
NOTIFIER_PATH = Path(NOTIFIER)

# strigger's option → how `strigger --get` names the event in its TYPE column
EVENTS = {"--up": "up", "--down": "down"}


def missing(listed: str) -> list[str]:
    """The options of those triggers that the list of `strigger --get` lacks."""
    ours = [line.split() for line in listed.splitlines() if line.rstrip().endswith(NOTIFIER)]
    return [option for option, event in EVENTS.items() if not any(event in words for words in ours)]


def arm(slurm: Slurm, slurm_user: str) -> list[str]:
    """Set what is missing. Returns what was set; a Slurm that refuses is no harm: the timer looks anyway."""
    try:
        wanted = missing(slurm.triggers())
        for option in wanted:
            slurm.set_trigger(option, NOTIFIER, slurm_user)
    except CommandError:
        return []
    return wanted
