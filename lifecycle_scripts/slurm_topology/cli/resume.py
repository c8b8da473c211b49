"""slurm-topology resume: end a pause, and look at once."""

from __future__ import annotations

import argparse

from slurm_topology.cli._agent import add_settings, world_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    world = world_of(arguments)
    store = world.store()
    if store.load_pause() is None:
        print("the agent isn't paused")
        return 0
    store.end_pause()
    print("resumed")
    world.request()
    return 0
