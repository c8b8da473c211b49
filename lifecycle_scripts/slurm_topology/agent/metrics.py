"""What the agent tells monitoring: a Prometheus text file and CloudWatch data points. Pure; ``report`` writes and
sends.

CloudWatch's names are in ``core.metric_names``, because the constructs' alarms read the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slurm_topology import __version__
from slurm_topology.agent.record import PassRecord
from slurm_topology.agent.state import AgentState
from slurm_topology.agent.writers import yields
from slurm_topology.core import metric_names

__all__ = ["COUNTERS", "GAUGES", "cloudwatch_points", "prometheus_text"]

COUNTERS = {
    "passes": "Passes that ended.",
    "changes": "Changes put in force.",
    "failures": "Passes that failed and were undone.",
    "reconfigures": "Reconfigures of slurmctld by the agent.",
    "released_jobs": "Jobs released that a topology had held.",
    "yields": "Passes that left the topology to another writer.",
    "reverts": "Times that another writer undid the agent's topology.",
}
GAUGES = {
    "nodes": "Nodes that Slurm has.",
    "unplaced_nodes": "Nodes that the topology in force lacks.",
    "seconds_since_match": "Seconds since Slurm's topology was first seen not to match the network; 0: it does.",
    "reconfigure_seconds": "How long the last reconfigure took.",
    "last_pass_timestamp_seconds": "When the last pass began.",
    "last_pass_failed": "1 when the last pass failed.",
    "yielding": "1 while the topology is left to another writer.",
    "paused": "1 while an operator has paused the agent.",
    "info": "Versions, mode and the last pass's reason as labels.",
}


def prometheus_text(state: AgentState, record: PassRecord, *, mode: str, paused: bool) -> str:
    """The text file of node_exporter's textfile collector, one metric after the other."""
    lines: list[str] = []
    for name, help_text in COUNTERS.items():
        lines += _metric(f"slurm_topology_{name}_total", "counter", help_text, state.counters.get(name, 0))
    for name, value in _gauges(state, record, paused):
        lines += _metric(f"slurm_topology_{name}", "gauge", GAUGES[name], value)
    labels = f'{{version="{__version__}",slurm="{state.slurm_version}",mode="{mode}",reason="{record.reason.value}"}}'
    lines += _metric("slurm_topology_info", "gauge", GAUGES["info"], 1, labels)
    return "\n".join(lines) + "\n"


def _gauges(state: AgentState, record: PassRecord, paused: bool) -> Iterator[tuple[str, float]]:
    yield "nodes", record.nodes
    yield "unplaced_nodes", record.unplaced
    yield "seconds_since_match", behind(state, record.at)
    yield "reconfigure_seconds", state.reconfigure_seconds
    yield "last_pass_timestamp_seconds", record.at
    yield "last_pass_failed", float(bool(record.failed))
    yield "yielding", float(yields(state, record.at))
    yield "paused", float(paused)


def behind(state: AgentState, now: float) -> float:
    """Seconds since Slurm's topology was first seen wrong; 0 while it is right."""
    return max(0.0, now - state.behind_since) if state.behind_since else 0.0


def _metric(name: str, kind: str, help_text: str, value: float, labels: str = "") -> list[str]:
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}", f"{name}{labels} {value:.10g}"]


def cloudwatch_points(
    state: AgentState, record: PassRecord, reported: Mapping[str, int], cluster_arn: str
) -> list[dict[str, Any]]:
    """Data points in PutMetricData's shape.

    ``reported``: the counters as they were last sent; only what came since is sent.
    """
    since = {name: max(0, state.counters.get(name, 0) - reported.get(name, 0)) for name in COUNTERS}
    values = {
        metric_names.PASSES: since["passes"],
        metric_names.CHANGES: since["changes"],
        metric_names.FAILURES: since["failures"],
        metric_names.YIELDS: since["yields"],
        metric_names.UNPLACED_NODES: record.unplaced,
        metric_names.SECONDS_SINCE_MATCH: behind(state, record.at),
    }
    if record.reconfigured:
        values[metric_names.RECONFIGURE_SECONDS] = record.reconfigure_seconds
    dimensions = [{"Name": metric_names.DIMENSION, "Value": cluster_arn}]
    return [
        {
            "MetricName": metric.name,
            "Dimensions": dimensions,
            "Timestamp": record.at,
            "Value": value,
            "Unit": metric.unit,
        }
        for metric, value in values.items()
    ]
