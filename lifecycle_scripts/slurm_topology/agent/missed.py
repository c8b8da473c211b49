"""Triggers that came while nobody watched.

systemd's path unit doesn't watch while the service that it starts is active (systemd.path(5); path_unwatch in its
source), and doesn't compare afterwards. So what changes between the service's last look and its end would be noticed by
the timer only, a minute later. Therefore the service notes what it saw last, and systemd runs a look (OnSuccess= and
OnFailure=) when the service has ended and the path unit watches again: what differs now was missed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from slurm_topology.agent.settle import Signatures, signatures

if TYPE_CHECKING:
    from slurm_topology.agent.world import World

__all__ = ["marks", "note_seen", "request_if_missed"]


def marks(world: World) -> Signatures:
    """What is looked at to notice a trigger during a pass, or news from AWS after it."""
    settings = world.settings
    instances = settings.state_folder / "instances.json"
    return signatures(world.files, [settings.resource_config, settings.plan, instances, world.request_file])


def note_seen(world: World, seen: Signatures) -> bool:
    """Write down what the last pass knew. False when that can't be written: then only the timer is left."""
    try:
        world.files.make_folder(_note(world).parent)
        world.files.write_atomically(_note(world), json.dumps(seen))
    except OSError:
        return False
    return True


def request_if_missed(world: World) -> bool:
    """Ask for a pass when something has changed since the last one looked. True when one was asked for.

    What is seen now is noted first: where the note can't be written, nothing is asked for, so that no look can follow
    another for ever.
    """
    noted, now = world.files.read_text(_note(world)), marks(world)
    if noted is None or noted == json.dumps(now) or not note_seen(world, now):
        return False
    world.request()
    return True


def _note(world: World) -> Path:
    return world.settings.run_folder / "seen.json"
