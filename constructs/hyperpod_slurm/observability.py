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
    """Four alarms; missing data is only wrong for the one that asks whether the agent is alive."""

    failures: cloudwatch.Alarm
    """Passes of the agent fail."""

    mismatch: cloudwatch.Alarm
    """Slurm's topology has differed from the network for too long."""

    unplaced_nodes: cloudwatch.Alarm
    """Nodes have had no known place for half an hour."""

    silence: cloudwatch.Alarm
    """The agent has not reported for half an hour."""

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
        :param mismatch: how long Slurm's topology may differ from the network; default: 15 minutes.
        """
        expect_types(TopologyAlarms.__init__, locals())
        super().__init__(scope, id)
        self._actions = list(actions)
        self.failures = self._alarm(
            "Failures",
            cluster.metric_failures(),
            1,
            2,
            "Passes of the topology agent fail: see `slurm-topology status`.",
        )
        self.mismatch = self._alarm(
            "Mismatch",
            cluster.metric_seconds_since_match(),
            (mismatch or Duration.minutes(15)).to_seconds(),
            1,
            "Slurm's topology has differed from the network for too long.",
        )
        self.unplaced_nodes = self._alarm(
            "UnplacedNodes", cluster.metric_unplaced_nodes(), 1, 6, "Nodes have had no known place for half an hour."
        )
        self.silence = self._alarm(
            "Silence",
            cluster.metric_passes(),
            1,
            6,
            "The topology agent has not reported for half an hour.",
            below=True,
        )

    def _alarm(
        self,
        id: str,  # noqa: A002 - CDK's name for it
        metric: cloudwatch.Metric,
        threshold: float,
        periods: int,
        description: str,
        below: bool = False,
    ) -> cloudwatch.Alarm:
        operators = cloudwatch.ComparisonOperator
        missing = cloudwatch.TreatMissingData
        alarm = cloudwatch.Alarm(
            self,
            id,
            metric=metric,
            threshold=threshold,
            evaluation_periods=periods,
            comparison_operator=(
                operators.LESS_THAN_THRESHOLD if below else operators.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
            ),
            treat_missing_data=missing.BREACHING if below else missing.NOT_BREACHING,
            alarm_description=description,
        )
        if self._actions:
            alarm.add_alarm_action(*self._actions)
        return alarm


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
            shown = [alarms.failures, alarms.mismatch, alarms.unplaced_nodes, alarms.silence]
            self.dashboard.add_widgets(cloudwatch.AlarmStatusWidget(title="Topology", alarms=shown, width=24))
        self.dashboard.add_widgets(
            _graph("Nodes without a known place", cluster.metric_unplaced_nodes()),
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
