"""The smallest app with a HyperPod Slurm cluster, without this project's constructs: the loopback cloud's own test.

Context: `count` (p5 nodes), `name` (cluster name; another one is a replacement), `role` (NodeType of the second group,
so that a test can ask for what HyperPod refuses).
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker

Group = sagemaker.CfnCluster.ClusterInstanceGroupProperty
Slurm = sagemaker.CfnCluster.ClusterSlurmConfigProperty


class FixtureStack(cdk.Stack):
    def __init__(self, app: cdk.App) -> None:
        super().__init__(app, "Fixture")
        vpc = ec2.Vpc(self, "Vpc", max_azs=1, nat_gateways=1)
        security_group = ec2.SecurityGroup(self, "Fabric", vpc=vpc, allow_all_outbound=False)
        security_group.add_ingress_rule(security_group, ec2.Port.all_traffic())
        security_group.add_egress_rule(security_group, ec2.Port.all_traffic())
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
        cluster = sagemaker.CfnCluster(
            self,
            "Cluster",
            cluster_name=self.node.try_get_context("name"),
            instance_groups=[
                self.group("controller", "ml.m5.xlarge", 1, Slurm(node_type="Controller")),
                self.group("train", "ml.p5.48xlarge", self.count(), self.compute()),
            ],
            orchestrator=sagemaker.CfnCluster.OrchestratorProperty(
                slurm=sagemaker.CfnCluster.ClusterOrchestratorSlurmConfigProperty(slurm_config_strategy="Managed")
            ),
            vpc_config=sagemaker.CfnCluster.VpcConfigProperty(
                security_group_ids=[security_group.security_group_id],
                subnets=[subnet.subnet_id for subnet in vpc.private_subnets],
            ),
        )
        cdk.CfnOutput(self, "ClusterArn", value=cluster.attr_cluster_arn)
        cdk.CfnOutput(self, "ClusterStatus", value=cluster.attr_cluster_status)

    def count(self) -> int:
        return int(self.node.try_get_context("count") or 4)

    def compute(self) -> Slurm:
        node_type = self.node.try_get_context("role") or "Compute"
        return Slurm(node_type=node_type, partition_names=["train"] if node_type == "Compute" else None)

    def group(self, name: str, instance_type: str, count: int, slurm: Slurm) -> Group:
        return Group(
            instance_group_name=name,
            instance_type=instance_type,
            instance_count=count,
            execution_role=self.role.role_arn,
            slurm_config=slurm,
        )


app = cdk.App()
FixtureStack(app)
app.synth()
