"""Bring the metrics out: the text file at every pass, CloudWatch every few minutes and at once when something happened.

Nothing here may disturb the agent's work: whatever goes wrong is logged and tried again with the next report.
CloudWatch hears from the controller that acts alone. All controllers share one dimension, so that a standby's zeros
would hide what the active one has to tell, and its passes that the active one's agent is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from slurm_topology.agent import metrics
from slurm_topology.agent.cluster import cluster_arn, region_of
from slurm_topology.agent.decision import Action, Reason
from slurm_topology.agent.record import PassRecord
from slurm_topology.agent.settings import mode_in_force
from slurm_topology.agent.state import CloudMemory
from slurm_topology.agent.world import World
from slurm_topology.core import plan_document
from slurm_topology.core.errors import AwsError, InputError
from slurm_topology.core.model import Severity

__all__ = ["Send", "report", "send_to_cloudwatch"]

# A report costs the start of the SDK (half a second of CPU), and a topology alarm needs no finer grain.
CLOUDWATCH_SECONDS = 300.0

Send = Callable[[str, str, Sequence[Mapping[str, Any]]], None]  # region, namespace, points


def report(world: World, record: PassRecord, send: Send) -> None:
    """Tell monitoring about a pass that has ended."""
    _try(world, partial(_write_text, world, record))
    _try(world, partial(_send_if_due, world, record, send))


def _try(world: World, tell: Callable[[], None]) -> None:
    try:
        tell()
    except Exception as error:  # an SDK can fail in any way, and none of them may end the service
        world.log.event("metrics-not-reported", Severity.WARNING, why=repr(error))


def _write_text(world: World, record: PassRecord) -> None:
    path, store = world.settings.metrics_textfile, world.store()
    if path is not None:
        world.files.make_folder(path.parent)
        state, paused = store.load_state(), store.load_pause() is not None
        mode = mode_in_force(world.settings, _plan_mode(world)).value
        text = metrics.prometheus_text(state, record, mode=mode, paused=paused)
        world.files.write_atomically(path, text, mode=0o644)


def _plan_mode(world: World) -> str | None:
    text = world.files.read_text(world.settings.plan)
    try:
        return None if text is None else plan_document.load(text).mode
    except InputError:
        return None  # the pass says so


def _send_if_due(world: World, record: PassRecord, send: Send) -> None:
    memory = world.store().load_cloud()
    if world.settings.cloudwatch and record.reason is not Reason.STANDBY and _due(memory, record):
        _send(world, memory, record, send)


def _due(memory: CloudMemory, record: PassRecord) -> bool:
    happened = record.action is not Action.NOTHING or bool(record.failed)
    return happened or not 0 <= record.at - memory.reported_at < CLOUDWATCH_SECONDS


def _send(world: World, memory: CloudMemory, record: PassRecord, send: Send) -> None:
    store, arn = world.store(), cluster_arn(world)
    region = region_of(arn)
    if region is None:
        return  # not a HyperPod cluster, or its file isn't there yet
    state = store.load_state()
    points = metrics.cloudwatch_points(state, record, memory.reported, arn)
    # noted before it is done: what can't be sent now isn't tried again at every pass
    store.save_cloud(replace(memory, reported_at=record.at))
    send(region, world.settings.cloudwatch_namespace, points)
    store.save_cloud(replace(memory, reported=state.counters, reported_at=record.at))


def send_to_cloudwatch(region: str, namespace: str, points: Sequence[Mapping[str, Any]]) -> None:
    """By the instance's role.

    Raises AwsError. The SDK is imported here: a pass that reports nothing doesn't pay for it.
    """
    try:
        from slurm_topology import aws

        client = aws.make_client("cloudwatch", region)
    except Exception as error:
        raise AwsError(f"no CloudWatch client: {error}", "cloudwatch:PutMetricData") from error
    aws.put_metric_data(client, namespace, points, aws.Patience(attempts=2))
