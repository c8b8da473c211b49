"""The cluster."""

from __future__ import annotations

from collections.abc import Sequence

import jsii
from aws_cdk import CfnOutput, RemovalPolicy, Resource
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from slurm_topology.core.model import NodeRole

from . import _render, permissions
from ._bucket import make_bucket
from ._deployment import Deployment
from ._handler import HandlerOptions
from .instance_group import InstanceGroup
from .lifecycle import Lifecycle
from .network import ClusterNetwork
from .provisioning import NodeProvisioningMode, NodeRecovery, SlurmConfigStrategy
from .storage import Mount
from .topology import Topology

__all__ = ["SlurmCluster"]

_Cfn = sagemaker.CfnCluster


@jsii.implements(ec2.IConnectable, iam.IGrantable)
class SlurmCluster(Resource):
    """A SageMaker HyperPod cluster with Slurm whose network topology chooses itself and stays right.

    ::

        SlurmCluster(stack, "Cluster", instance_groups=[
            ControllerGroup(),
            ComputeGroup(instance_type=ClusterInstanceType.P5_48XLARGE, count=8),
        ])
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
        execution_role: iam.IRole | None = None,
        lifecycle: Lifecycle | None = None,
        lifecycle_bucket: s3.IBucket | None = None,
        topology: Topology | None = None,
        slurm_version: str | None = None,
        node_provisioning_mode: NodeProvisioningMode = NodeProvisioningMode.CONTINUOUS,
        slurm_config_strategy: SlurmConfigStrategy | None = None,
        node_recovery: NodeRecovery = NodeRecovery.AUTOMATIC,
        encryption_key: kms.IKey | None = None,
        access_logs_bucket: s3.IBucket | None = None,
        handler: HandlerOptions | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, id, physical_name=cluster_name)
        self.instance_groups = tuple(instance_groups)
        self.network = network or ClusterNetwork(self, "Network", vpc=vpc)
        self._lifecycle = lifecycle or Lifecycle.extend()
        self._encryption_key = encryption_key
        self._shared_mounts: Sequence[Mount] = ()
        self.lifecycle_bucket: s3.IBucket = lifecycle_bucket or make_bucket(
            self, encryption_key=encryption_key, access_logs=access_logs_bucket, removal_policy=removal_policy
        )
        self._deployment = Deployment(
            self,
            groups=self.instance_groups,
            topology=topology or Topology.auto(),
            slurm_version=slurm_version,
            lifecycle=self._lifecycle,
            bucket=self.lifecycle_bucket,
            options=handler or HandlerOptions(),
        )
        self.execution_role, self.controller_role = self._make_roles(execution_role)
        self._resource = _Cfn(
            self,
            "Resource",
            cluster_name=cluster_name,
            instance_groups=[self._render(group) for group in self.instance_groups],
            vpc_config=_render.vpc_config(self.network.subnets, self.network.security_groups),
            node_recovery=node_recovery.value,
            node_provisioning_mode=(
                "Continuous" if node_provisioning_mode is NodeProvisioningMode.CONTINUOUS else None
            ),
            orchestrator=_Cfn.OrchestratorProperty(
                slurm=_Cfn.ClusterOrchestratorSlurmConfigProperty(
                    slurm_config_strategy=_strategy(node_provisioning_mode, slurm_config_strategy)
                )
            ),
        )
        # Nodes start before the last policy or route of the stack exists, unless they are told to wait.
        self._resource.node.add_dependency(self.network, self.execution_role, self.controller_role)
        self.cluster_arn = self._resource.attr_cluster_arn
        self._initial = self._deployment.make_initial_topology(self._resource)
        self._add_outputs()

    @property
    def connections(self) -> ec2.Connections:
        """The nodes' security groups."""
        return self.network.connections

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The role of the compute and login nodes: what it may, every user of the cluster may."""
        return self.execution_role.grant_principal

    def _make_roles(self, given: iam.IRole | None) -> tuple[iam.IRole, iam.IRole]:
        """(nodes' role, controller's role)."""
        nodes = given or permissions.make_instance_role(self, "ExecutionRole")
        controller = given or permissions.make_instance_role(self, "ControllerRole")
        subnets = [subnet.subnet_id for subnet in self.network.subnets]
        groups = [group.security_group_id for group in self.network.security_groups]
        for role in dict.fromkeys((nodes, controller)):
            permissions.allow_instance(role, self.lifecycle_bucket, self._deployment.prefix_root, subnets, groups)
        permissions.allow_agent(controller)
        return nodes, controller

    def _render(self, group: InstanceGroup) -> _Cfn.ClusterInstanceGroupProperty:
        role = self.controller_role if group.role is NodeRole.CONTROLLER else self.execution_role
        context = _render.GroupContext(
            role_arn=(group.execution_role or role).role_arn,
            lifecycle_s3_uri=self._deployment.lifecycle_s3_uri,
            lifecycle=self._lifecycle,
            encryption_key=self._encryption_key,
            shared_mounts=self._shared_mounts,
            subnets=self.network.subnets,
            security_groups=self.network.security_groups,
        )
        return _render.instance_group(group, context)

    def _add_outputs(self) -> None:
        plan, initial = self._deployment.plan, self._initial
        for name, value in {
            "ClusterArn": self.cluster_arn,
            "LifecycleS3Uri": plan.get_att_string("LifecycleS3Uri"),
            "TopologyPlanS3Uri": plan.get_att_string("PlanS3Uri"),
            "DefaultTopology": plan.get_att_string("DefaultTopology"),
            "PartitionTopologies": plan.get_att_string("PartitionTopologies"),
            "InitialTopologyS3Uri": initial.get_att_string("TopologyS3Uri"),
            "InitialTopologySummary": initial.get_att_string("Summary"),
        }.items():
            CfnOutput(self, name, value=value)


def _strategy(mode: NodeProvisioningMode, wanted: SlurmConfigStrategy | None) -> str | None:
    """Outside Continuous it must be named; in Continuous it must not."""
    if wanted is not None:
        return wanted.value
    return None if mode is NodeProvisioningMode.CONTINUOUS else SlurmConfigStrategy.MANAGED.value
