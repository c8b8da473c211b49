"""Alarms and a dashboard for the health of a cluster's topology. What to do about each alarm: docs/operations.md."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ._cluster_base import ClusterBase
from ._rules_types import expect_types

__all__ = ["TopologyAlarms", "TopologyDashboard"]


class TopologyAlarms(Construct):
    """Six alarms; missing data is only wrong for the one that asks whether the agent is alive.

    What to do about each: the table of metrics and alarms in docs/operations.md, which has the same numbers.
    """

    failures: cloudwatch.Alarm
    """Three passes of the agent have failed within 15 minutes."""

    yields: cloudwatch.Alarm
    """The agent leaves the topology to another writer, which keeps rewriting it."""

    mismatch: cloudwatch.Alarm
    """Slurm's topology has differed from the network for too long."""

    unplaced_nodes: cloudwatch.Alarm
    """The topology in force has lacked nodes for 10 minutes."""

    slow_reconfigure: cloudwatch.Alarm
    """`scontrol reconfigure` takes more than 10 seconds."""

    silence: cloudwatch.Alarm
    """The agent has not reported for 15 minutes."""

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002 - CDK's name for it
        *,
        cluster: ClusterBase,
        actions: Sequence[cloudwatch.IAlarmAction] = (),
        mismatch: Duration | None = None,
    ) -> None:
        """Make the alarms.

        :param actions: what to do when one goes off, such as ``cloudwatch_actions.SnsAction(topic)``.
        :param mismatch: how long Slurm's topology may differ from the network; default: 30 minutes.
        """
        expect_types(TopologyAlarms.__init__, locals())
        super().__init__(scope, id)
        self._actions = list(actions)
        operators = cloudwatch.ComparisonOperator
        at_least, above = operators.GREATER_THAN_OR_EQUAL_TO_THRESHOLD, operators.GREATER_THAN_THRESHOLD
        seconds = (mismatch or Duration.minutes(30)).to_seconds()
        self.failures = self._alarm("Failures", cluster.metric_failures(period=Duration.minutes(15)), at_least, 3)
        self.yields = self._alarm("Yields", cluster.metric_yields(), at_least, 1)
        self.mismatch = self._alarm("Mismatch", cluster.metric_seconds_since_match(), above, seconds)
        self.unplaced_nodes = self._alarm("UnplacedNodes", cluster.metric_unplaced_nodes(), above, 0, periods=2)
        self.slow_reconfigure = self._alarm("SlowReconfigure", cluster.metric_reconfigure_seconds(), above, 10)
        below = operators.LESS_THAN_THRESHOLD
        self.silence = self._alarm("Silence", cluster.metric_passes(), below, 1, periods=3)

    def _alarm(
        self,
        id: str,  # noqa: A002 - CDK's name for it
        metric: cloudwatch.Metric,
        operator: cloudwatch.ComparisonOperator,
        threshold: float,
        periods: int = 1,
    ) -> cloudwatch.Alarm:
        silent = operator is cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
        missing = cloudwatch.TreatMissingData
        alarm = cloudwatch.Alarm(
            self,
            id,
            metric=metric,
            threshold=threshold,
            evaluation_periods=periods,
            comparison_operator=operator,
            treat_missing_data=missing.BREACHING if silent else missing.NOT_BREACHING,
            alarm_description=_DESCRIPTIONS[id],
        )
        if self._actions:
            alarm.add_alarm_action(*self._actions)
        return alarm


_DESCRIPTIONS = {
    "Failures": "Passes of the topology agent fail: see `slurm-topology status`.",
    "Yields": "Another program keeps rewriting Slurm's topology, and the topology agent leaves it to that.",
    "Mismatch": "Slurm's topology has differed from the network for too long.",
    "UnplacedNodes": "Slurm's topology has lacked nodes for 10 minutes: jobs can't use them, or only alone.",
    "SlowReconfigure": "`scontrol reconfigure` takes more than 10 seconds: is the topology too large?",
    "Silence": "The topology agent has not reported for 15 minutes.",
}


class TopologyDashboard(Construct):
    """One page: is the topology right, how often does it change, what does a change cost."""

    dashboard: cloudwatch.Dashboard
    """Takes more widgets: ``dashboard.add_widgets(…)``."""

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002 - CDK's name for it
        *,
        cluster: ClusterBase,
        alarms: TopologyAlarms | None = None,
        dashboard_name: str | None = None,
    ) -> None:
        """Make the dashboard.

        :param alarms: shown on top; default: none.
        :param dashboard_name: default: CloudFormation makes one.
        """
        expect_types(TopologyDashboard.__init__, locals())
        super().__init__(scope, id)
        self.dashboard = cloudwatch.Dashboard(self, "Resource", dashboard_name=dashboard_name)
        if alarms is not None:
            shown = [
                *(alarms.failures, alarms.yields, alarms.mismatch),
                *(alarms.unplaced_nodes, alarms.slow_reconfigure, alarms.silence),
            ]
            self.dashboard.add_widgets(cloudwatch.AlarmStatusWidget(title="Topology", alarms=shown, width=24))
        self.dashboard.add_widgets(
            _graph("Nodes outside the topology in force", cluster.metric_unplaced_nodes()),
            _graph("Seconds since Slurm matched the network", cluster.metric_seconds_since_match()),
        )
        self.dashboard.add_widgets(
            _graph(
                "Passes",
                cluster.metric_passes(),
                cluster.metric_changes(),
                cluster.metric_failures(),
                cluster.metric_yields(),
            ),
            _graph("Seconds of `scontrol reconfigure`", cluster.metric_reconfigure_seconds()),
        )


def _graph(title: str, *metrics: cloudwatch.IMetric) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=12, left_y_axis=cloudwatch.YAxisProps(min=0))
