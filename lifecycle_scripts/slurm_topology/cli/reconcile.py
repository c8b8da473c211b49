"""slurm-topology reconcile: one pass of the agent; with --service, as systemd starts it."""

from __future__ import annotations

import argparse
from functools import partial

from slurm_topology.agent.cloud import make_client, refresh
from slurm_topology.agent.reconcile import reconcile
from slurm_topology.agent.record import PassRecord
from slurm_topology.agent.report import report, send_to_cloudwatch
from slurm_topology.agent.service import serve
from slurm_topology.agent.settle import settle
from slurm_topology.agent.world import World
from slurm_topology.cli._agent import add_settings, exit_code, tell, world_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument(
        "--service", action="store_true", help="go on until there is nothing left to do soon (systemd's unit)"
    )
    parser.add_argument(
        "--now", action="store_true", help="don't wait until resource_config.json has been quiet for a moment"
    )


def run(arguments: argparse.Namespace) -> int:
    world = world_of(arguments)
    if arguments.service:
        return exit_code(serve(world, partial(_tell_all, world)))
    if not arguments.now:
        settle(world.files, world.clock, [world.settings.resource_config], world.settings)
    record = reconcile(world)
    if record is None:
        world.log.event("another-pass-runs")
    else:
        _tell_all(world, record)
    return exit_code(record)


def _tell_all(world: World, record: PassRecord) -> None:
    tell(world, record)
    report(world, record, send_to_cloudwatch)
    if world.settings.ask_aws:
        refresh(world, make_client)
