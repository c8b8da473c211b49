"""Bring the metrics out: the text file at every pass, CloudWatch every few minutes and at once when something happened.

Nothing here may disturb the agent's work: what goes wrong is logged and tried again with the next report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from slurm_topology.agent import metrics
from slurm_topology.agent.decision import Action
from slurm_topology.agent.record import PassRecord
from slurm_topology.agent.state import AgentState
from slurm_topology.agent.world import World
from slurm_topology.core.errors import AwsError, SlurmTopologyError
from slurm_topology.core.model import Severity

__all__ = ["Send", "report", "send_to_cloudwatch"]

# A report costs the start of the SDK (half a second of CPU), and a topology alarm needs no finer grain.
CLOUDWATCH_SECONDS = 300.0

Send = Callable[[str, str, Sequence[Mapping[str, Any]]], None]  # region, namespace, points


def report(world: World, record: PassRecord, send: Send) -> None:
    """Tell monitoring about a pass that has ended."""
    store = world.store()
    state = store.load_state()
    try:
        _write_text(world, state, record, paused=store.load_pause() is not None)
        if world.settings.cloudwatch and _due(state, record):
            _send(world, state, record, send)
    except (SlurmTopologyError, OSError) as error:
        world.log.event("metrics-not-reported", Severity.WARNING, why=error)


def _write_text(world: World, state: AgentState, record: PassRecord, *, paused: bool) -> None:
    path = world.settings.metrics_textfile
    if path is not None:
        world.files.make_folder(path.parent)
        text = metrics.prometheus_text(state, record, mode=world.settings.mode.value, paused=paused)
        world.files.write_atomically(path, text, mode=0o644)


def _due(state: AgentState, record: PassRecord) -> bool:
    happened = record.action is not Action.NOTHING or bool(record.failed)
    return happened or not 0 <= record.at - state.reported_at < CLOUDWATCH_SECONDS


def _send(world: World, state: AgentState, record: PassRecord, send: Send) -> None:
    arn = _cluster_arn(world)
    region = metrics.region_of(arn)
    if region is None:
        return  # not a HyperPod cluster, or its file isn't there yet
    send(region, world.settings.cloudwatch_namespace, metrics.cloudwatch_points(state, record, state.reported, arn))
    world.store().save_state(replace(state, reported=state.counters, reported_at=record.at))


def _cluster_arn(world: World) -> str:
    try:
        document = json.loads(world.files.read_text(world.settings.resource_config) or "{}")
        return str(document["ClusterConfig"]["ClusterArn"])
    except (ValueError, KeyError, TypeError):
        return ""


def send_to_cloudwatch(region: str, namespace: str, points: Sequence[Mapping[str, Any]]) -> None:
    """By the instance's role.

    Raises AwsError. The SDK is imported here: a pass that reports nothing doesn't pay for it.
    """
    from slurm_topology import aws

    try:
        client = aws.make_client("cloudwatch", region)
    except Exception as error:
        raise AwsError(f"no CloudWatch client: {error}", "cloudwatch:PutMetricData") from error
    aws.put_metric_data(client, namespace, points, aws.Patience(attempts=2))
