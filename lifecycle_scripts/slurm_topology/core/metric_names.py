"""Names of the metrics in CloudWatch: what the agent reports and what dashboards and alarms of the constructs read.

Each is reported with the one dimension ``DIMENSION``, whose value is the cluster's ARN: both sides know it, the agent
from resource_config.json, the constructs from CloudFormation, also when CloudFormation made the cluster's name.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "CHANGES",
    "DIMENSION",
    "FAILURES",
    "METRICS",
    "NAMESPACE",
    "PASSES",
    "RECONFIGURE_SECONDS",
    "SECONDS_SINCE_MATCH",
    "UNPLACED_NODES",
    "YIELDS",
    "Metric",
]

NAMESPACE = "SlurmTopology"
DIMENSION = "ClusterArn"


class Metric(NamedTuple):
    """A metric's name, CloudWatch's word for its unit, and what a data point says."""

    name: str
    unit: str
    meaning: str


PASSES = Metric("Passes", "Count", "reconcile passes that ended")
CHANGES = Metric("Changes", "Count", "topologies put in force")
FAILURES = Metric("Failures", "Count", "passes that failed; what was in force before is in force again")
YIELDS = Metric("Yields", "Count", "passes that left the topology to another writer")
UNPLACED_NODES = Metric(
    "UnplacedNodes", "Count", "nodes that the topology in force lacks: jobs can't use them, or only alone"
)
SECONDS_SINCE_MATCH = Metric(
    "SecondsSinceMatch",
    "Seconds",
    "time since Slurm's topology was first seen not to match the network; 0 while it does",
)
RECONFIGURE_SECONDS = Metric("ReconfigureSeconds", "Seconds", "how long `scontrol reconfigure` took")

METRICS = (PASSES, CHANGES, FAILURES, YIELDS, UNPLACED_NODES, SECONDS_SINCE_MATCH, RECONFIGURE_SECONDS)
