"""What bench_synth.py compares with: the same VPC and a bare CfnCluster, without this library."""

from __future__ import annotations

from aws_cdk import App, Fn, RemovalPolicy, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sagemaker as sagemaker

ENDPOINTS = ("logs", "ssm", "ssmmessages", "ec2messages", "sagemaker.api", "ec2", "monitoring", "sts")
Cfn = sagemaker.CfnCluster

app = App()
stack = Stack(app, "Bench")

resource = ec2.CfnVPC(stack, "Vpc", cidr_block="10.0.0.0/16", enable_dns_hostnames=True, enable_dns_support=True)
Tags.of(resource).add("Name", "Bench")
subnet = ec2.PrivateSubnet(
    stack,
    "Compute",
    availability_zone=Fn.select(0, Fn.get_azs()),
    cidr_block="10.0.0.0/17",
    vpc_id=resource.ref,
)
Tags.of(subnet).add("Name", "Bench/Compute")
log_group = logs.LogGroup(stack, "FlowLogs", removal_policy=RemovalPolicy.DESTROY)
log_role = iam.Role(stack, "FlowLogRole", assumed_by=iam.ServicePrincipal("vpc-flow-logs.amazonaws.com"))
log_group.grant_write(log_role)
log_group.grant(log_role, "logs:DescribeLogStreams")
ec2.CfnFlowLog(
    stack,
    "FlowLog",
    resource_id=resource.ref,
    resource_type="VPC",
    traffic_type="REJECT",
    log_group_name=log_group.log_group_name,
    deliver_logs_permission_arn=log_role.role_arn,
)
vpc = ec2.Vpc.from_vpc_attributes(
    stack,
    "Network",
    vpc_id=resource.ref,
    availability_zones=[Fn.select(0, Fn.get_azs())],
    vpc_cidr_block="10.0.0.0/16",
    isolated_subnet_ids=[subnet.subnet_id],
    isolated_subnet_route_table_ids=[subnet.route_table.route_table_id],
    isolated_subnet_ipv4_cidr_blocks=["10.0.0.0/17"],
)
group = ec2.SecurityGroup(stack, "SecurityGroup", vpc=vpc, allow_all_outbound=False)
group.add_ingress_rule(group, ec2.Port.all_traffic())
group.add_egress_rule(group, ec2.Port.all_traffic())
group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.HTTPS)
vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
for name in ENDPOINTS:
    ec2.InterfaceVpcEndpoint(
        stack,
        name,
        vpc=vpc,
        service=ec2.InterfaceVpcEndpointAwsService(name),
        open=False,
        private_dns_enabled=True,
        security_groups=[group],
        subnets=ec2.SubnetSelection(subnets=[subnet]),
    )

role = iam.Role(
    stack,
    "Role",
    assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"),
    managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name("AmazonSageMakerClusterInstanceRolePolicy")],
)
lifecycle = Cfn.ClusterLifeCycleConfigProperty(source_s3_uri="s3://sagemaker-bench/scripts", on_create="on_create.sh")
Cfn(
    stack,
    "Cluster",
    node_provisioning_mode="Continuous",
    orchestrator=Cfn.OrchestratorProperty(slurm=Cfn.ClusterOrchestratorSlurmConfigProperty()),
    vpc_config=Cfn.VpcConfigProperty(subnets=[subnet.subnet_id], security_group_ids=[group.security_group_id]),
    instance_groups=[
        Cfn.ClusterInstanceGroupProperty(
            instance_group_name=name,
            instance_type=instance_type,
            instance_count=count,
            execution_role=role.role_arn,
            life_cycle_config=lifecycle,
            slurm_config=slurm,
        )
        for name, instance_type, count, slurm in (
            ("controller", "ml.m5.4xlarge", 1, Cfn.ClusterSlurmConfigProperty(node_type="Controller")),
            (
                "train",
                "ml.p5.48xlarge",
                8,
                Cfn.ClusterSlurmConfigProperty(node_type="Compute", partition_names=["train"]),
            ),
        )
    ],
)
app.synth()
