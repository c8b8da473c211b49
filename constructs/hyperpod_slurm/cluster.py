"""The cluster."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import CfnOutput, PhysicalName, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct, IDependable

from slurm_topology.core.model import NodeRole, Plan

from . import _render, permissions
from ._bucket import make_bucket
from ._cluster_base import ClusterBase, ImportedCluster
from ._deployment import Deployment
from ._handler import Handler, HandlerOptions
from ._nag import acknowledge, acknowledge_look_up
from ._network_spec import brought_security_groups, claim_addresses, network_spec
from ._picture import draw_at_synth
from ._plan import synth_groups, synth_plan
from ._report import report
from ._roles import make_roles
from ._rules_security_groups import check_at_synth
from ._rules_types import expect_types
from ._spec import AccountingSpec, ClusterSpec, files_below
from .accounting import Accounting, AccountingDatabase
from .instance_group import InstanceGroup
from .lifecycle import Lifecycle
from .network import ClusterNetwork
from .provisioning import NodeProvisioningMode, NodeRecovery, SlurmConfigStrategy
from .storage import SharedStorage
from .topology import Topology
from .validation import validate

__all__ = ["SlurmCluster"]

_Cfn = sagemaker.CfnCluster
_PURPOSE = "Plans and describes the topology of a HyperPod Slurm cluster during deployments"


class SlurmCluster(ClusterBase):
    """A SageMaker HyperPod cluster with Slurm whose network topology chooses itself and stays right.

    ::

        SlurmCluster(stack, "Cluster", instance_groups=[
            ControllerGroup("controller", "ml.m5.4xlarge"),
            ComputeGroup("train", "ml.p5.48xlarge", 8),
        ])
    """

    execution_role: iam.IRole
    """The role of the compute and login nodes. Allow it what names ``cluster_arn`` by ``grant…`` alone: ClusterBase."""

    controller_role: iam.IRole
    """The role of the controller."""

    instance_groups: Sequence[InstanceGroup]
    """As they were given."""

    network: ClusterNetwork
    """The new one, or the one that was given."""

    lifecycle_bucket: s3.IBucket
    """The new one, or the one that was given."""

    topology_plan: Plan | None
    """What each partition will get and why; None when a compute group's name, type or partition is a token.

    ``default``, ``partitions`` and ``findings`` are what ``slurm-topology plan`` prints.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002 - CDK's name for it
        *,
        instance_groups: Sequence[InstanceGroup],
        cluster_name: str | None = None,
        network: ClusterNetwork | None = None,
        vpc: ec2.IVpc | None = None,
        shared_storage: Sequence[SharedStorage] = (),
        accounting: Accounting | None = None,
        lifecycle: Lifecycle | None = None,
        lifecycle_bucket: s3.IBucket | None = None,
        topology: Topology | None = None,
        slurm_version: str | None = None,
        node_provisioning_mode: NodeProvisioningMode = NodeProvisioningMode.CONTINUOUS,
        slurm_config_strategy: SlurmConfigStrategy | None = None,
        node_recovery: NodeRecovery = NodeRecovery.AUTOMATIC,
        execution_role: iam.IRole | None = None,
        controller_role: iam.IRole | None = None,
        encryption_key: kms.IKey | None = None,
        access_logs_bucket: s3.IBucket | None = None,
        handler: HandlerOptions | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        """Make the cluster and what it needs.

        :param instance_groups: one ControllerGroup, at most one LoginGroup, any ComputeGroups. Their order is kept.
        :param cluster_name: default: CloudFormation makes one. A new name is a new cluster.
        :param network: default: a new one, see ClusterNetwork.
        :param vpc: short for ``network=ClusterNetwork(self, "Network", vpc=vpc)``.
        :param shared_storage: file systems that every node mounts: at most one Lustre and one OpenZFS.
        :param accounting: the accounting database; default: one on the controller.
        :param lifecycle: your own scripts; default: none.
        :param lifecycle_bucket: name it ``sagemaker-…``; default: a new bucket. Controllers that run follow the bucket
            that they started with: after a change of it replace them, or they hear of no new plan.
        :param topology: default: ``Topology.auto()``.
        :param slurm_version: the image's, such as ``"25.11"``, to plan for it now; default: the agent asks Slurm.
        :param node_provisioning_mode: default: continuous.
        :param slurm_config_strategy: outside continuous provisioning only; default there: managed.
        :param node_recovery: default: automatic.
        :param execution_role: of compute and login nodes; default: a new one.
        :param controller_role: of the controller; default: ``execution_role`` when given, else a new one.
        :param encryption_key: for volumes and the lifecycle bucket; default: keys that AWS manages.
        :param access_logs_bucket: for access logs of a new lifecycle bucket; default: no access logs.
        :param handler: settings of the Lambda function behind the custom resources.
        :param removal_policy: of a new lifecycle bucket; with DESTROY it is emptied.
        """
        expect_types(SlurmCluster.__init__, locals())
        super().__init__(scope, id, physical_name=cluster_name)
        if network is not None and vpc is not None:
            raise ValueError("vpc is short for a network around it: give network or vpc, got both")
        self.instance_groups = tuple(instance_groups)
        called = Handler(self, handler or HandlerOptions(), _PURPOSE)
        self.network = network or ClusterNetwork(self, "Network", vpc=vpc, _shared_handler=called)
        acknowledge_look_up(self, self.network.vpc)
        self.security_groups = self.network.security_groups
        self._encryption_key = encryption_key
        self._lifecycle = lifecycle or Lifecycle.extend()
        self._mounts = tuple(storage.bind(self, self.network) for storage in shared_storage)
        self._database = accounting.bind(self, self.network) if accounting else None
        if self._database is not None:
            self.network.add_endpoint("secretsmanager")
        self._spec = ClusterSpec(
            groups=self.instance_groups,
            cluster_name=cluster_name,
            network=network_spec(self.network, self.instance_groups, shared_storage),
            shared_storage=tuple(shared_storage),
            shared_mounts=self._mounts,
            mode=node_provisioning_mode,
            strategy=slurm_config_strategy,
            recovery=node_recovery,
            accounting=_accounting_spec(self._database),
            lifecycle=self._lifecycle,
            lifecycle_files=files_below(self._lifecycle.folder),
            brought_bucket_name=lifecycle_bucket.bucket_name if lifecycle_bucket else None,
            topology=topology or Topology.auto(),
            slurm_version=slurm_version,
        )
        claim_addresses(self, self.network, self._spec)
        self.topology_plan = synth_plan(self._spec)
        report(self, validate(self._spec), self.topology_plan)
        check_at_synth(self, brought_security_groups(self.network, self.instance_groups))
        groups = synth_groups(self._spec)
        if self.topology_plan is not None and groups is not None:
            draw_at_synth(self, self.topology_plan, groups)
        self.lifecycle_bucket = lifecycle_bucket or make_bucket(
            self, encryption_key=encryption_key, access_logs=access_logs_bucket, removal_policy=removal_policy
        )
        self._deployment = Deployment(self, self._spec, self.lifecycle_bucket, called)
        roles = make_roles(
            self,
            self.instance_groups,
            nodes=execution_role,
            controller=controller_role,
            instance=self._instance_scope(),
            volume_keys=self._volume_keys(),
            secret=self._database.secret if self._database else None,
        )
        self.execution_role, self.controller_role = roles.nodes, roles.controller
        self._resource = self._make_resource()
        # Nodes start before the stack's last policy or route exists, unless the cluster is told to wait.
        self._resource.node.add_dependency(self.network, *self._ways_out(), *roles.awaited)
        report(self, roles.findings(), None)
        self.cluster_arn = self._resource.attr_cluster_arn
        unnamed = cluster_name is None or cluster_name == PhysicalName.GENERATE_IF_NEEDED
        self.cluster_name = self._get_resource_name_attribute(self.cluster_arn) if unnamed else self._physical_name
        self._initial = self._deployment.make_initial_topology(self._resource)
        self._add_outputs()

    @classmethod
    def from_cluster_attributes(
        cls,
        scope: Construct,
        id: str,  # noqa: A002 - CDK's name for it
        *,
        cluster_arn: str,
        security_groups: Sequence[ec2.ISecurityGroup] = (),
        execution_role: iam.IRole | None = None,
        controller_role: iam.IRole | None = None,
    ) -> ClusterBase:
        """A cluster that exists: for its metrics, events and grants.

        :param cluster_arn: ``arn:…:cluster/<id>``, the output Arn.
        :param security_groups: of its nodes; without them ``connections`` allows nothing.
        :param execution_role: of its compute and login nodes; without it a grant to the cluster is an error.
        :param controller_role: default: ``execution_role``.
        """
        return ImportedCluster(
            scope,
            id,
            cluster_arn=cluster_arn,
            security_groups=security_groups,
            execution_role=execution_role,
            controller_role=controller_role,
        )

    @property
    def connections(self) -> ec2.Connections:
        """The nodes' security groups, those of single groups included."""
        every = [*self.security_groups, *(one for group in self.instance_groups for one in group.security_groups)]
        return ec2.Connections(security_groups=list({one.node.path: one for one in every}.values()))

    def _roles_of_nodes(self) -> list[tuple[str, iam.IRole | None]]:
        return [*super()._roles_of_nodes(), *(("", group.execution_role) for group in self.instance_groups)]

    def _instance_scope(self) -> permissions.InstanceScope:
        subnets = [*self.network.subnets, *(subnet for group in self.instance_groups for subnet in group.subnets)]
        groups = [*self.security_groups, *(one for group in self.instance_groups for one in group.security_groups)]
        return permissions.InstanceScope(
            bucket=self.lifecycle_bucket,
            prefix=self._deployment.prefix_root,
            subnet_ids=list(dict.fromkeys(subnet.subnet_id for subnet in subnets)),
            security_group_ids=list(dict.fromkeys(group.security_group_id for group in groups)),
            subnet_owner=self.network.owner_account,
        )

    def _volume_keys(self) -> list[kms.IKey]:
        keys = [self._encryption_key, *(group.root_volume_key for group in self.instance_groups)]
        keys += [group.ebs_volume.encryption_key for group in self.instance_groups if group.ebs_volume is not None]
        return list({key.node.path: key for key in keys if key is not None}.values())

    def _make_resource(self) -> _Cfn:
        continuous = self._spec.mode is NodeProvisioningMode.CONTINUOUS
        resource = _Cfn(
            self,
            "Resource",
            cluster_name=self._physical_name,
            instance_groups=[self._render(group) for group in self.instance_groups],
            vpc_config=_render.vpc_config(self.network.subnets, self.security_groups),
            node_recovery=self._spec.recovery.value,
            node_provisioning_mode=NodeProvisioningMode.CONTINUOUS.value if continuous else None,
            # An empty map says Slurm, and is all that continuous provisioning accepts.
            orchestrator=_Cfn.OrchestratorProperty(
                slurm=_Cfn.ClusterOrchestratorSlurmConfigProperty(slurm_config_strategy=self._strategy())
            ),
        )
        _render.override_newer_properties(resource, self.instance_groups, self._database)
        acknowledge(resource, _render.false_alarms(self.instance_groups))
        return resource

    def _ways_out(self) -> list[IDependable]:
        """Routes and gateways of the nodes' subnets, where this app makes them."""
        subnets = [*self.network.subnets, *(one for group in self.instance_groups for one in group.subnets)]
        return [subnet.internet_connectivity_established for subnet in subnets]

    def _strategy(self) -> str | None:
        """Outside of continuous provisioning it must be named."""
        if self._spec.strategy is not None:
            return self._spec.strategy.value
        return None if self._spec.mode is NodeProvisioningMode.CONTINUOUS else SlurmConfigStrategy.MANAGED.value

    def _render(self, group: InstanceGroup) -> _Cfn.ClusterInstanceGroupProperty:
        role = self.controller_role if group.role is NodeRole.CONTROLLER else self.execution_role
        context = _render.GroupContext(
            role_arn=(group.execution_role or role).role_arn,
            lifecycle_s3_uri=self._deployment.lifecycle_s3_uri,
            lifecycle=self._lifecycle,
            encryption_key=self._encryption_key,
            shared_mounts=self._mounts,
            subnets=self.network.subnets,
            security_groups=self.security_groups,
        )
        return _render.instance_group(group, context)

    def _add_outputs(self) -> None:
        plan, initial = self._deployment.plan, self._initial
        for name, value in {
            "Arn": self.cluster_arn,
            "LifecycleS3Uri": plan.get_att_string("LifecycleS3Uri"),
            "TopologyPlanS3Uri": plan.get_att_string("PlanS3Uri"),
            "DefaultTopology": plan.get_att_string("DefaultTopology"),
            "PartitionTopologies": plan.get_att_string("PartitionTopologies"),
            "InitialTopologyS3Uri": initial.get_att_string("TopologyS3Uri"),
            "InitialTopologySummary": initial.get_att_string("Summary"),
        }.items():
            CfnOutput(self, name, value=value)


def _accounting_spec(database: AccountingDatabase | None) -> AccountingSpec | None:
    return AccountingSpec(database.endpoint, database.port, database.database_name) if database else None
