"""Small apps for the rules at synth: each function makes one that breaks a rule, or its neighbour that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager

from cdk.apps import controller, p5
from hyperpod_slurm import (
    Capacity,
    ClusterNetwork,
    ComputeGroup,
    ExistingDatabase,
    InstanceGroup,
    Lifecycle,
    LustreMount,
    NewDatabase,
    NewLustre,
    NewOpenZfs,
    NodeProvisioningMode,
    OpenZfsMount,
    SlurmCluster,
)

Properties = dict[str, Any]
Build = Callable[[Stack], tuple[Sequence[InstanceGroup], Properties]]

GOOD_DNS = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
PLAN_ARN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/gb200"
STANDARD = NodeProvisioningMode.STANDARD


class Case(NamedTuple):
    id: str
    bad: Build
    good: Build
    says: str  # part of the message: what was got


def only(*groups: InstanceGroup, **properties: Any) -> Build:
    return lambda _: (groups or (controller(), p5()), dict(properties))


def gb200(count: int, **properties: Any) -> ComputeGroup:
    properties = {"capacity": Capacity.training_plan(PLAN_ARN), **properties}
    return ComputeGroup("gb200", "ml.p6e-gb200.36xlarge", count, **properties)


def cpu(count: int) -> ComputeGroup:
    return ComputeGroup("cpu", "ml.c5.large", count)


def lustre(**values: str) -> LustreMount:
    return LustreMount(**{"dns_name": GOOD_DNS, "mount_name": "abcdef12", **values})


def zfs(**values: str) -> OpenZfsMount:
    return OpenZfsMount(**{"dns_name": GOOD_DNS, **values})


def brought_role(*, mutable: bool) -> Build:
    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        role = iam.Role.from_role_arn(stack, "Mine", "arn:aws:iam::123456789012:role/mine", mutable=mutable)
        return (controller(), p5()), {"execution_role": role}

    return build


def database(**values: Any) -> Build:
    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        secret = secretsmanager.Secret(stack, "Secret")
        mode = values.pop("mode", NodeProvisioningMode.CONTINUOUS)
        accounting = ExistingDatabase(**{"endpoint": "db.example.com", "secret": secret, **values})
        return (controller(), p5()), {"accounting": accounting, "node_provisioning_mode": mode}

    return build


def scripts(*names: str, script: str = "setup.sh") -> Build:
    """An extension folder with files of these names; the test replaces FOLDER."""

    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        folder = Path(stack.node.get_context("folder"))
        for name in names:
            (folder / name).write_text("true\n")
        return (controller(), p5()), {"lifecycle": Lifecycle.extend(folder, script=script)}

    return build


def own_setup(controllers: int, **properties: Any) -> Build:
    """Scripts that set Slurm up themselves, and so many controller instances."""

    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        folder = Path(stack.node.get_context("folder"))
        (folder / "on_create.sh").write_text("true\n")
        return (controller(count=controllers), p5()), {"lifecycle": Lifecycle.own(folder), **properties}

    return build


def subnet(stack: Stack, name: str, zone: str, cidr: str = "10.0.0.0/17") -> ec2.ISubnet:
    return ec2.Subnet.from_subnet_attributes(
        stack, name, subnet_id=f"subnet-{name}", availability_zone=zone, ipv4_cidr_block=cidr
    )


def network(
    subnets: Sequence[tuple[str, str]] = (("a", "us-west-2a"),),
    groups: int = 0,
    cidr: str = "10.0.0.0/17",
    **kwargs: Any,
) -> Build:
    """A brought VPC with subnets (name, zone) and a number of security groups."""

    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        vpc = brought_vpc(stack)
        made = ClusterNetwork(
            stack,
            "Network",
            vpc=vpc,
            subnets=[subnet(stack, name, zone, cidr) for name, zone in subnets],
            security_groups=[
                ec2.SecurityGroup(stack, f"Group{index}", vpc=vpc, allow_all_outbound=kwargs.get("open", False))
                for index in range(groups)
            ],
        )
        return (controller(), p5(count=8)), {"network": made}

    return build


def new_network(**arguments: Any) -> Build:
    """A new VPC."""
    return lambda stack: ((controller(), cpu(2)), {"network": ClusterNetwork(stack, "Network", **arguments)})


def no_subnets(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
    vpc = ec2.Vpc.from_vpc_attributes(stack, "Empty", vpc_id="vpc-2", availability_zones=["us-west-2a"])
    return (controller(), cpu(2)), {"vpc": vpc, "shared_storage": [NewLustre(), NewOpenZfs()]}


def own_groups(*names: str, allow: bool = True, open_: bool = False) -> Build:
    """A P5 group with these security groups: the cluster's, and others of the same VPC."""

    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        made = ClusterNetwork(stack, "Network")
        own = {"cluster": made.security_groups[0]}
        for name in set(names) - {"cluster"}:
            group = ec2.SecurityGroup(stack, name, vpc=made.vpc, allow_all_outbound=open_)
            if allow:
                group.connections.allow_internally(ec2.Port.all_traffic())
            own[name] = group
        return (controller(), p5(security_groups=[own[name] for name in names])), {"network": made}

    return build


def members(*rules: str) -> Build:
    """A brought security group with rules made in different ways."""

    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        vpc = brought_vpc(stack)
        group = ec2.SecurityGroup(stack, "Group", vpc=vpc, allow_all_outbound="open" in rules)
        made = ClusterNetwork(stack, "Network", vpc=vpc, security_groups=[group])
        if "in" in rules:
            group.add_ingress_rule(group, ec2.Port.all_traffic())
        if "out" in rules:
            group.add_egress_rule(group, ec2.Port.all_traffic())
        if "tcp" in rules:
            group.connections.allow_internally(ec2.Port.all_tcp())
        if "resources" in rules:
            name = group.security_group_id
            ec2.CfnSecurityGroupIngress(stack, "In", group_id=name, ip_protocol="-1", source_security_group_id=name)
            ec2.CfnSecurityGroupEgress(
                stack, "Out", group_id=name, ip_protocol="-1", destination_security_group_id=name
            )
        return (controller(), p5()), {"network": made}

    return build


def neighbours(*counts: int, groups: bool = False, full: bool = False) -> Build:
    """Clusters of so many P5 instances in one network, and then one of so many CPU instances as the last says."""

    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        made = ClusterNetwork(stack, "Network", cidr="10.0.0.0/20")
        more: Properties = {"shared_storage": [NewLustre(), NewOpenZfs()], "accounting": NewDatabase()} if full else {}
        for index, count in enumerate(counts[:-1]):
            own = [controller(), p5(count=count, subnets=made.subnets if groups else ())]
            SlurmCluster(stack, f"Before{index}", network=made, instance_groups=own, **more)
        return (controller(), cpu(counts[-1])), {"network": made}

    return build


def two_zones(*partitions: str) -> Build:
    """P5 groups in different zones, in these partitions."""

    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        groups = [
            p5(f"train{zone}", partition=partition, subnets=[subnet(stack, zone, f"us-west-2{zone}")])
            for zone, partition in zip("ab", partitions, strict=True)
        ]
        return (controller(), *groups), {"network": ClusterNetwork(stack, "Network", vpc=brought_vpc(stack))}

    return build


def bucket(name: str) -> Build:
    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        return (controller(), p5()), {"lifecycle_bucket": s3.Bucket.from_bucket_name(stack, "Bucket", name)}

    return build


def brought_vpc(stack: Stack) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-1",
        availability_zones=["us-west-2a"],
        isolated_subnet_ids=["subnet-1"],
        isolated_subnet_ipv4_cidr_blocks=["10.0.0.0/17"],
    )
