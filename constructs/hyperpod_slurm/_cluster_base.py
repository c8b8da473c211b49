"""What can be done with a cluster, made here or brought by its attributes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import jsii
from aws_cdk import Duration, Fn, Resource
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from constructs import Construct

from slurm_topology.core import metric_names
from slurm_topology.core.metric_names import Metric

from . import permissions
from ._rules_types import expect_types
from ._statements import own_policy
from ._tokens import is_known, known_text

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

__all__ = ["ClusterBase"]

_ARN = re.compile(r"arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:[0-9]{12}:cluster/[a-z0-9]{12}")  # ClusterArn


@jsii.implements(ec2.IConnectable, iam.IGrantable)
class ClusterBase(Resource):
    """Base of SlurmCluster and of imported clusters. Attributes that a subclass sets before use:"""

    cluster_arn: str
    """``arn:…:cluster/<id>``."""

    cluster_name: str
    """The name that it was given; else its ARN, for SageMaker takes either wherever it asks for a name."""

    execution_role: iam.IRole | None
    """The role of the compute and login nodes; None when an imported cluster was not told it.

    What names the cluster's ARN comes by ``grant…``, never by ``add_to_principal_policy``: the cluster waits for its
    roles' policies, and could not wait for one that waits for the cluster.
    """

    controller_role: iam.IRole | None
    """The role of the controller."""

    security_groups: Sequence[ec2.ISecurityGroup]
    """Those of the nodes, unless a group has its own."""

    @property
    def cluster_id(self) -> str:
        """The last part of the ARN, which Session Manager's targets begin with: ``sagemaker-cluster:<id>_…``."""
        return Fn.select(1, Fn.split("/", self.cluster_arn))

    @property
    def connections(self) -> ec2.Connections:
        """The nodes' security groups."""
        return ec2.Connections(security_groups=list(self.security_groups))

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The role of the compute and login nodes: what it may, every user of the cluster may."""
        if self.execution_role is None:
            return cast(iam.IPrincipal, iam.UnknownPrincipal(resource=self))
        return self.execution_role.grant_principal

    def grant(self, grantee: iam.IGrantable, *actions: str) -> iam.Grant:
        """Let ``grantee`` do these actions of SageMaker on this cluster."""
        return permissions.grant(self._own_policy(grantee) or grantee, self.cluster_arn, actions)

    def grant_describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` see the cluster, its nodes and its events."""
        return self.grant(grantee, *permissions.DESCRIBE_CLUSTER, *permissions.CLUSTER_EVENTS)

    def grant_manage_nodes(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` see the cluster, and add, delete, reboot and replace nodes."""
        return self.grant(grantee, *permissions.DESCRIBE_CLUSTER, *permissions.MANAGE_NODES)

    def grant_update_software(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` see the cluster, and move its nodes to a newer image."""
        return self.grant(grantee, *permissions.DESCRIBE_CLUSTER, "sagemaker:UpdateClusterSoftware")

    def metric(self, name: str, **options: Any) -> cloudwatch.Metric:
        """A metric of this cluster's topology agent; ``options`` are those of ``cloudwatch.Metric``."""
        from aws_cdk import aws_cloudwatch as cloudwatch  # here, because it would cost every synth 60 ms

        return cloudwatch.Metric(
            namespace=metric_names.NAMESPACE,
            metric_name=name,
            dimensions_map={metric_names.DIMENSION: self.cluster_arn},
            **{"period": Duration.minutes(5), **self._place(), **options},
        )

    def metric_passes(self, **options: Any) -> cloudwatch.Metric:
        """Reconcile passes that ended. Default: their number in five minutes."""
        return self._metric(metric_names.PASSES, "Sum", options)

    def metric_changes(self, **options: Any) -> cloudwatch.Metric:
        """Topologies put in force. Default: their number in five minutes."""
        return self._metric(metric_names.CHANGES, "Sum", options)

    def metric_failures(self, **options: Any) -> cloudwatch.Metric:
        """Passes that failed. Default: their number in five minutes."""
        return self._metric(metric_names.FAILURES, "Sum", options)

    def metric_yields(self, **options: Any) -> cloudwatch.Metric:
        """Passes that left the topology to another writer. Default: their number in five minutes."""
        return self._metric(metric_names.YIELDS, "Sum", options)

    def metric_unplaced_nodes(self, **options: Any) -> cloudwatch.Metric:
        """Nodes that the topology in force lacks. Default: the most in five minutes."""
        return self._metric(metric_names.UNPLACED_NODES, "Maximum", options)

    def metric_seconds_since_match(self, **options: Any) -> cloudwatch.Metric:
        """Time since Slurm's topology was first seen not to match the network. Default: the longest in five minutes."""
        return self._metric(metric_names.SECONDS_SINCE_MATCH, "Maximum", options)

    def metric_reconfigure_seconds(self, **options: Any) -> cloudwatch.Metric:
        """How long `scontrol reconfigure` took. Default: the longest in five minutes."""
        return self._metric(metric_names.RECONFIGURE_SECONDS, "Maximum", options)

    def on_state_change(self, id: str, **options: Any) -> events.Rule:  # noqa: A002 - CDK's name for it
        """A rule for changes of the cluster's status; ``options`` are those of ``events.Rule``, and ``target``."""
        return self._rule(id, "SageMaker HyperPod Cluster State Change", {"ClusterArn": [self.cluster_arn]}, options)

    def on_node_health(self, id: str, **options: Any) -> events.Rule:  # noqa: A002 - CDK's name for it
        """A rule for nodes found faulty, with the reason and the repair; ``options`` as of ``on_state_change``."""
        detail = {"ClusterArn": [self.cluster_arn]}
        return self._rule(id, "SageMaker HyperPod Cluster Node Health Event", detail, options)

    def on_event(self, id: str, **options: Any) -> events.Rule:  # noqa: A002 - CDK's name for it
        """A rule for all that happens to groups and instances (continuous provisioning only)."""
        detail = {"EventDetails": {"ClusterArn": [self.cluster_arn]}}
        return self._rule(id, "SageMaker HyperPod Cluster Event", detail, options)

    def _own_policy(self, grantee: iam.IGrantable) -> iam.IGrantable | None:
        """A policy beside the role's own when ``grantee`` is one of this cluster's roles, or has one.

        The cluster waits for its roles with their policies; a policy that names the cluster's ARN waits for the
        cluster. So it may not be one of those.
        """
        principal = grantee.grant_principal
        for name, own in self._roles_of_nodes():
            if own is not None and (own is principal or own.grant_principal is principal):
                return own_policy(self, f"{name or f'Role{own.node.addr[-8:]}'}OnSelf", own)
        return None

    def _roles_of_nodes(self) -> list[tuple[str, iam.IRole | None]]:
        """All roles that nodes have, each with a name for its policy, "" where its address has to do."""
        return [("Execution", self.execution_role), ("Controller", self.controller_role)]

    def _place(self) -> dict[str, str]:
        """Where the agent reports to, as far as it is known: an imported cluster may be in another region."""
        place = {"region": self.env.region, "account": self.env.account}
        return {name: value for name, value in place.items() if is_known(value)}

    def _metric(self, metric: Metric, statistic: str, options: dict[str, Any]) -> cloudwatch.Metric:
        return self.metric(metric.name, **{"statistic": statistic, **options})

    def _rule(self, id: str, detail_type: str, detail: dict[str, Any], options: dict[str, Any]) -> events.Rule:  # noqa: A002
        target = options.pop("target", None)
        pattern = events.EventPattern(source=["aws.sagemaker"], detail_type=[detail_type], detail=detail)
        rule = events.Rule(self, id, event_pattern=pattern, **options)
        if target is not None:
            rule.add_target(target)
        return rule


class ImportedCluster(ClusterBase):
    """What ``SlurmCluster.from_cluster_attributes`` gives."""

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002 - CDK's name for it
        *,
        cluster_arn: str,
        security_groups: Sequence[ec2.ISecurityGroup],
        execution_role: iam.IRole | None,
        controller_role: iam.IRole | None,
    ) -> None:
        expect_types(ImportedCluster.__init__, locals())
        if known_text(cluster_arn) and _ARN.fullmatch(cluster_arn) is None:
            raise ValueError(
                "cluster_arn must be arn:PARTITION:sagemaker:REGION:ACCOUNT:cluster/ID, as the output Arn or "
                f"`aws sagemaker list-clusters` gives it; got {cluster_arn!r}"
            )
        super().__init__(scope, id, environment_from_arn=cluster_arn)
        self.cluster_arn = self.cluster_name = cluster_arn
        self.security_groups = security_groups
        self.execution_role = execution_role
        self.controller_role = controller_role or execution_role
