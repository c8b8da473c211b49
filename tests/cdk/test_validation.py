"""Each rule: the smallest app that breaks it, and its neighbour that does not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from aws_cdk import Annotations, CfnParameter, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_ssm as ssm

from cdk.apps import ROOT, annotations_of, controller, errors_of, new_cluster, new_stack, p5
from hyperpod_slurm import (
    Capacity,
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    DeepHealthCheck,
    EbsVolume,
    ExistingDatabase,
    InstanceGroup,
    InterfaceType,
    Lifecycle,
    LoginGroup,
    LustreMount,
    LustreThroughput,
    NewDatabase,
    NewLustre,
    NewOpenZfs,
    NodeProvisioningMode,
    NodeRecovery,
    OpenZfsMount,
    PatchingStrategy,
    SlurmCluster,
    SlurmConfigStrategy,
    Topology,
    TopologyMode,
)
from hyperpod_slurm._rules import as_text
from hyperpod_slurm._rules_types import wrong_types

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
        vpc = _vpc(stack)
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
        vpc = _vpc(stack)
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
        return (controller(), *groups), {"network": ClusterNetwork(stack, "Network", vpc=_vpc(stack))}

    return build


def bucket(name: str) -> Build:
    def build(stack: Stack) -> tuple[Sequence[InstanceGroup], Properties]:
        return (controller(), p5()), {"lifecycle_bucket": s3.Bucket.from_bucket_name(stack, "Bucket", name)}

    return build


def _vpc(stack: Stack) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-1",
        availability_zones=["us-west-2a"],
        isolated_subnet_ids=["subnet-1"],
        isolated_subnet_ipv4_cidr_blocks=["10.0.0.0/17"],
    )


CONNECTIVITY = DeepHealthCheck.INSTANCE_CONNECTIVITY

ERRORS = (
    Case("HPS001", only(cluster_name="-x"), only(cluster_name="x-1"), "'-x'"),
    Case("HPS001", only(cluster_name="x" * 64), only(cluster_name="x" * 63), "x" * 64),
    Case(
        "HPS002",
        only(controller(), *(p5(f"g{n}", 0) for n in range(100))),
        only(controller(), *(p5(f"g{n}", 0) for n in range(99))),
        "got 101",
    ),
    Case("HPS003", only(controller(), p5("a"), p5("a")), only(controller(), p5("a"), p5("b")), "2 times"),
    Case("HPS004", only(p5()), only(controller(), p5()), "got none"),
    Case(
        "HPS004",
        only(controller(), ControllerGroup("second"), p5()),
        only(controller(), p5()),
        "got 2 (controller, second)",
    ),
    Case(
        "HPS005",
        only(controller(), LoginGroup("one"), LoginGroup("two")),
        only(controller(), LoginGroup("one", count=2)),
        "got 2 (one, two)",
    ),
    Case("HPS006", only(controller(count=2), p5()), only(controller(count=1), p5()), "got 2"),
    Case("HPS006", own_setup(2), own_setup(2, node_provisioning_mode=STANDARD), "got 2 and continuous provisioning"),
    Case("HPS006", own_setup(0, node_provisioning_mode=STANDARD), own_setup(1), "got 0"),
    Case(
        "HPS007",
        only(slurm_config_strategy=SlurmConfigStrategy.MERGE),
        only(slurm_config_strategy=SlurmConfigStrategy.MERGE, node_provisioning_mode=STANDARD),
        "got Merge",
    ),
    Case("HPS008", database(mode=STANDARD), database(), "got standard"),
    Case("HPS009", database(endpoint="mysql://db:3306"), database(endpoint="db.example.com"), "'mysql://db:3306'"),
    Case("HPS009", database(port=0), database(port=1), "got 0"),
    Case("HPS009", database(database_name="a-b"), database(database_name="a_b"), "'a-b'"),
    Case("HPS010", scripts("other.sh"), scripts("setup.sh"), "got other.sh"),
    Case("HPS010", only(lifecycle=Lifecycle.extend("nowhere")), scripts("setup.sh"), "no folder nowhere"),
    Case("HPS011", scripts("x" * 129, script="x" * 129), scripts("x" * 128, script="x" * 128), "got 129"),
    Case(
        "HPS012",
        scripts("setup.sh", "provisioning_parameters.json"),
        scripts("setup.sh", "parameters.json"),
        "got provisioning_parameters.json",
    ),
    Case("HPS013", only(slurm_version="22.05"), only(slurm_version="25.11"), "22.05"),
    Case("HPS017", only(controller(), p5(count=cast(float, "8"))), only(controller(), p5(count=8)), "train: count"),
    Case("HPS017", only(slurm_version=25.11), only(slurm_version="25.11"), "got 25.11 (float)"),
    Case(
        "HPS017",
        only(topology=Topology.auto(mode="observe")),  # type: ignore[arg-type]
        only(topology=Topology.auto(mode=TopologyMode.OBSERVE)),
        "Write TopologyMode.OBSERVE.",
    ),
    Case("HPS017", only(topology=Topology), only(topology=Topology.tree()), "Call it"),
    Case("HPS017", only(shared_storage=NewLustre()), only(shared_storage=[NewLustre()]), "Put it into a list."),
    Case("HPS017", only(controller(), p5(mounts=[NewLustre()])), only(shared_storage=[NewLustre()]), "mounts[0]"),
    Case(
        "HPS017",
        only(shared_storage=[NewLustre(throughput=300)]),  # type: ignore[arg-type]
        only(shared_storage=[NewLustre(throughput=LustreThroughput.MBPS_500)]),
        "shared_storage[0].throughput",
    ),
    Case("HPS017", database(port="3306"), database(port=3306), "accounting.port"),
    Case("HPS020", only(controller(), p5("a--")), only(controller(), p5("a--a")), "'a--'"),
    Case("HPS021", only(controller(), cpu(6759)), only(controller(), cpu(6758)), "got 6759"),
    Case("HPS021", only(controller(), p5(count=-1)), only(controller(), p5(count=0)), "got -1"),
    Case("HPS022", only(controller(), p5(count=8, min_count=9)), only(controller(), p5(count=8, min_count=8)), "got 9"),
    Case(
        "HPS023",
        only(controller(), ComputeGroup("a", "p5.48xlarge")),
        only(controller(), ComputeGroup("a", "ml.p5.48xlarge")),
        "'p5.48xlarge'",
    ),
    Case(
        "HPS023",
        only(controller(), ComputeGroup("a", "ml.trn3.48xlarge")),
        only(controller(), ComputeGroup("a", "ml.trn2.48xlarge")),
        "'ml.trn3.48xlarge'",
    ),
    Case("HPS025", only(controller(), p5(partition="a_b")), only(controller(), p5(partition="a-b")), "'a_b'"),
    Case("HPS026", only(controller(), p5(partition="default")), only(controller(), p5(partition="gpu")), "DEFAULT"),
    Case("HPS028", only(controller(), p5(threads_per_core=3)), only(controller(), p5(threads_per_core=2)), "got 3"),
    Case(
        "HPS028",
        only(controller(), ComputeGroup("arm", "ml.c7g.large", threads_per_core=2)),
        only(controller(), ComputeGroup("arm", "ml.c7g.large", threads_per_core=1)),
        "must be 1",
    ),
    Case("HPS029", only(controller(), p5(image_id="ubuntu")), only(controller(), p5(image_id="default")), "'ubuntu'"),
    Case(
        "HPS030",
        only(controller(), gb200(17, capacity=Capacity.training_plan("my-plan"))),
        only(controller(), gb200(17)),
        "'my-plan'",
    ),
    Case(
        "HPS034",
        only(controller(), p5(deep_health_checks=[CONNECTIVITY, CONNECTIVITY])),
        only(controller(), p5(deep_health_checks=[CONNECTIVITY, DeepHealthCheck.INSTANCE_STRESS])),
        "InstanceConnectivity",
    ),
    Case(
        "HPS035",
        only(controller(), ComputeGroup("cpu", "ml.c5.large", deep_health_checks=[CONNECTIVITY])),
        only(controller(), p5(deep_health_checks=[CONNECTIVITY])),
        "ml.c5.large",
    ),
    Case(
        "HPS050",
        only(controller(), p5(ebs_volume=EbsVolume(size_gib=16385))),
        only(controller(), p5(ebs_volume=EbsVolume(size_gib=16384))),
        "got 16385",
    ),
    Case(
        "HPS051",
        only(controller(), p5(mounts=[lustre(), lustre(mount_path="/b")])),
        only(controller(), p5(mounts=[lustre(), zfs()])),
        "got 2",
    ),
    Case(
        "HPS051",
        only(controller(), p5(mounts=[lustre(mount_path="/b")]), shared_storage=[lustre()]),
        only(controller(), p5(mounts=[zfs()]), shared_storage=[lustre()]),
        "shared storage included",
    ),
    *(
        Case("HPS051", only(shared_storage=[one, two]), only(shared_storage=[one, other]), "shared_storage: ")
        for one, two, other in (
            (NewLustre(), NewLustre(mount_path="/b"), NewOpenZfs()),
            (NewLustre(), lustre(mount_path="/b"), zfs()),
            (NewOpenZfs(), NewOpenZfs(mount_path="/b"), NewLustre()),
        )
    ),
    Case(
        "HPS052",
        only(controller(), p5(mounts=[lustre(mount_path="/home"), zfs()])),
        only(controller(), p5(mounts=[lustre(), zfs()])),
        "/home",
    ),
    *(
        Case("HPS052", bad, only(controller(), p5(ebs_volume=EbsVolume(size_gib=1)), shared_storage=[zfs()]), path)
        for path, bad in (
            ("/fsx;", only(shared_storage=[lustre(), zfs(mount_path="/fsx/")])),
            ("/fsx;", only(shared_storage=[NewLustre(), NewOpenZfs(mount_path="//fsx")])),
            ("/home;", only(controller(), p5(mounts=[lustre(mount_path="/data/../home")]), shared_storage=[zfs()])),
            (
                "/opt/sagemaker;",
                only(
                    controller(),
                    p5(ebs_volume=EbsVolume(size_gib=1)),
                    shared_storage=[NewOpenZfs(mount_path="/opt/sagemaker")],
                ),
            ),
        )
    ),
    *(
        Case("HPS058", only(shared_storage=[zfs(mount_path=bad)]), only(shared_storage=[zfs(mount_path=good)]), bad)
        for bad, good in (
            ("/etc", "/etcetera"),
            ("/etc/slurm", "/srv/slurm"),
            ("/opt/slurm", "/opt/slurmdata"),
            ("/opt", "/opt/data"),
            ("/tmp", "/tmp/shared"),
            ("/usr/local", "/usr/local/data"),
        )
    ),
    Case("HPS053", only(shared_storage=[lustre(dns_name="files")]), only(shared_storage=[lustre()]), "'files'"),
    Case("HPS054", only(shared_storage=[lustre(mount_name="a/b")]), only(shared_storage=[lustre()]), "'a/b'"),
    Case("HPS055", only(shared_storage=[zfs(mount_path="home")]), only(shared_storage=[zfs()]), "'home'"),
    Case(
        "HPS056",
        only(shared_storage=[NewLustre(capacity_gib=3600)]),
        only(shared_storage=[NewLustre(capacity_gib=4800)]),
        "got 3600",
    ),
    Case(
        "HPS057",
        only(shared_storage=[NewOpenZfs(capacity_gib=63)]),
        only(shared_storage=[NewOpenZfs(capacity_gib=64)]),
        "got 63",
    ),
    Case(
        "HPS057",
        only(shared_storage=[NewOpenZfs(throughput_mbps=300)]),
        only(shared_storage=[NewOpenZfs(throughput_mbps=320)]),
        "got 300",
    ),
    Case(
        "HPS036",
        only(controller(image_release_version="1.2"), p5()),
        only(controller(image_release_version="1.2.3"), p5()),
        "'1.2'",
    ),
    *(
        Case(
            "HPS037",
            only(controller(), p5(update_schedule=bad)),
            only(controller(), p5(update_schedule="cron(0 3 ? * SUN *)")),
            bad,
        )
        for bad in ("rate(7 days)", "cron(0 3 * * SUN *)", "cron(0/5 3 ? * SUN *)", "cron(0 3 ? * SUN *) ")
    ),
    Case("HPS060", network([(f"s{n}", "us-west-2a") for n in range(17)]), network(), "got 17 subnets"),
    Case("HPS060", no_subnets, network(), "got 0 subnets"),
    Case("HPS061", network(groups=6), network(groups=5), "got 6"),
    # 8 P5 instances with 32 cards and a controller: 257 addresses; a /24 has 251, a /23 507.
    Case("HPS062", network(cidr="10.0.0.0/24"), network(cidr="10.0.0.0/23"), "need 257 addresses"),
    Case(
        "HPS062",
        only(controller(), p5(count=1100)),
        only(controller(), p5(count=1100, interface_type=InterfaceType.EFA_ONLY)),
        "got 32763",
    ),
    # 2,043 addresses: 7 endpoints, a controller and 62 P5 instances of 32 cards before, a controller: 50 are left.
    Case("HPS062", neighbours(62, 51), neighbours(62, 50), "beside the 1992 of endpoints, controller of Test/Before0"),
    Case("HPS062", neighbours(62, 51, groups=True), neighbours(62, 50, groups=True), "got 2043"),
    Case("HPS062", neighbours(31, 31, 50), neighbours(31, 31, 49), "train of Test/Before1"),
    # An endpoint for the database's password, two file systems of two servers each, one P5 instance more: 13 are left.
    Case("HPS062", neighbours(63, 14, full=True), neighbours(63, 13, full=True), "new file systems of Test/Before0"),
    *(
        Case("HPS066", new_network(cidr=bad), new_network(cidr=good), repr(bad))
        for bad, good in (
            ("10.0.0.0/15", "10.0.0.0/16"),
            ("10.0.0.0/26", "10.0.0.0/25"),
            ("10.0.0.1/16", "10.0.1.0/24"),
            ("everywhere", "192.168.0.0/20"),
        )
    ),
    Case(
        "TOPO203",
        only(controller(), gb200(17), topology=Topology.block([18, 40])),
        only(controller(), gb200(17), topology=Topology.block([18, 36])),
        "18, 40",
    ),
)

WARNINGS = (
    Case(
        "HPS014",
        only(controller(), p5(capacity=Capacity.spot_instances())),
        only(controller(), p5(capacity=Capacity.spot_instances()), node_recovery=NodeRecovery.NONE),
        "train",
    ),
    Case(
        "HPS015", only(controller(), p5()), only(controller(), p5(), node_provisioning_mode=STANDARD), "InstanceCount"
    ),
    Case("HPS016", bucket("scripts"), bucket("sagemaker-scripts"), "'scripts'"),
    Case(
        "HPS024",
        only(controller(), ComputeGroup("a", "ml.p9.48xlarge")),
        only(controller(), p5()),
        "ml.p9.48xlarge",
    ),
    Case("HPS027", only(controller(), p5(partition="dev")), only(controller(), p5(partition="devel")), "dev"),
    Case(
        "HPS031",
        only(controller(), gb200(17, capacity=Capacity.on_demand())),
        only(controller(), gb200(17)),
        "ml.p6e-gb200.36xlarge",
    ),
    Case("HPS032", only(controller(), gb200(20)), only(controller(), gb200(34)), "got 20"),
    Case(
        "HPS033",
        only(controller(), gb200(17, partition="all"), p5(partition="all")),
        only(controller(), gb200(17), p5()),
        "share a partition with train",
    ),
    Case(
        "HPS038",
        only(controller(), p5(update_schedule="cron(0 3 ? * SUN *)")),
        only(controller(), p5(auto_patch=PatchingStrategy.WHEN_IDLE)),
        "cron(0 3 ? * SUN *)",
    ),
    Case("HPS063", network([("a", "us-west-2a"), ("b", "us-west-2b")]), network(), "us-west-2a, us-west-2b"),
    Case("HPS064", two_zones("train", "train"), two_zones("traina", "trainb"), "traina in us-west-2a"),
    Case("HPS065", network(groups=1, open=True), network(groups=1), "lets everything out"),
    Case("HPS065", own_groups("own", open_=True), own_groups("own"), "Test/own"),
    Case("HPS067", own_groups("own"), own_groups("own", "cluster"), "got others alone"),
    Case("HPS068", own_groups("own", allow=False), own_groups("own"), "Test/own"),
    *(
        Case("HPS068", members(*bad), members(*good), says)
        for bad, good, says in (
            ((), ("in", "out"), "in nor out from Test/Group"),
            (("in",), ("in", "open"), "rule for out from"),
            (("out",), ("resources",), "rule for in from"),
            (("tcp",), ("tcp", "in", "out"), "in nor out"),
        )
    ),
    Case("HPS070", brought_role(mutable=False), brought_role(mutable=True), '"sagemaker:DescribeClusterNode"'),
    Case(
        "TOPO202",
        only(controller(), p5(), ComputeGroup("cpu", "ml.c5.large")),
        only(controller(), p5()),
        "TOPO202 cluster default: flat, because of cpu",  # the subject once
    ),
)


def made(build: Build, folder: Path) -> tuple[list[str], list[str]]:
    """(errors, annotations) of the app."""
    folder.mkdir()
    stack = new_stack()
    stack.node.set_context("folder", str(folder))
    groups, properties = build(stack)
    if wrong := list(wrong_types(SlurmCluster.__init__, {"instance_groups": groups, **properties})):
        return [as_text(finding) for finding in wrong], []
    if not {"network", "vpc"} & set(properties):
        groups_of_aws = [ec2.SecurityGroup.from_security_group_id(stack, "Fabric", "sg-1")]
        properties["network"] = ClusterNetwork(stack, "Network", vpc=_vpc(stack), security_groups=groups_of_aws)
    cluster = new_cluster(stack, *groups, **properties)
    return [*cluster.network.node.validate(), *errors_of(cluster)], annotations_of(cluster)


def with_id(texts: list[str], finding_id: str) -> list[str]:
    return [text for text in texts if text.startswith(f"{finding_id} ")]


def name_of(case: Case) -> str:
    return case.id


@pytest.mark.parametrize("case", ERRORS, ids=name_of)
def test_an_error_and_its_neighbour(case: Case, tmp_path: Path) -> None:
    """The bad app has this error and no other; the good one has none."""
    errors, _ = made(case.bad, tmp_path / "bad")
    assert len(with_id(errors, case.id)) == len(errors) == 1
    assert case.says in errors[0]
    assert made(case.good, tmp_path / "good")[0] == []


@pytest.mark.parametrize("case", WARNINGS, ids=name_of)
def test_a_warning_and_its_neighbour(case: Case, tmp_path: Path) -> None:
    """The bad app synthesizes, and says so once; the good one does not say it."""
    errors, annotations = made(case.bad, tmp_path / "bad")
    assert errors == []
    (text,) = with_id(annotations, case.id)
    assert case.says in text
    assert text.endswith(f"[ack: hyperpod-slurm:{case.id}]")
    assert with_id(made(case.good, tmp_path / "good")[1], case.id) == []


def test_every_id_is_tested_and_documented() -> None:
    """Ids in the code, in the cases above and in docs/validations.md are the same."""
    sources = (ROOT / "constructs/hyperpod_slurm").glob("_rules_*.py")
    in_code = {found for path in sources for found in re.findall(r'"(HPS\d{3})"', path.read_text())}
    in_cases = {case.id for case in (*ERRORS, *WARNINGS) if case.id.startswith("HPS")}
    in_docs = set(re.findall(r"^### (HPS\d{3})\b", (ROOT / "docs/validations.md").read_text(), re.MULTILINE))
    assert in_code == in_cases
    assert in_code == in_docs


def test_all_errors_are_told_at_once() -> None:
    """One synth, every mistake, each with the group it is about."""
    stack = new_stack()
    new_cluster(stack, p5("a", 7000, threads_per_core=4), p5("a", 1, partition="x_y"), cluster_name="no good")
    with pytest.raises(RuntimeError) as raised:
        stack.node.root.synth()  # type: ignore[attr-defined]
    text = str(raised.value)
    for finding in ("HPS001", "HPS003 a:", "HPS004", "HPS021 a:", "HPS025 a:", "HPS028 a:"):
        assert finding in text
    assert "[Test/Cluster]" in text


def test_a_warning_can_be_acknowledged() -> None:
    cluster = new_cluster(None, controller(), p5(partition="dev"))
    assert with_id(annotations_of(cluster), "HPS027")
    Annotations.of(cluster).acknowledge_warning("hyperpod-slurm:HPS027", "the name is historical")
    assert not with_id(annotations_of(cluster), "HPS027")


def test_tokens_hide_only_what_depends_on_them() -> None:
    """A count that is a parameter is not judged; what is known of the same group still is."""
    stack = new_stack()
    count = CfnParameter(stack, "Count", type="Number").value_as_number
    name = CfnParameter(stack, "Type").value_as_string
    cluster = new_cluster(stack, controller(), p5(count=count), ComputeGroup("b", name, 7000, threads_per_core=4))
    assert [text[:9] for text in errors_of(cluster)] == ["HPS021 b:", "HPS028 b:"]


def test_made_up_values_of_look_ups_are_not_judged() -> None:
    """CDK's first pass gives them; an error about one would stop the synth before the CLI has asked AWS."""
    stack = new_stack(region="us-west-2")
    told = ssm.StringParameter.value_from_lookup
    vpc = ec2.Vpc.from_lookup(stack, "Vpc", vpc_id="vpc-0123456789abcdef0")
    names = {name: told(stack, f"/train/{name}") for name in ("image", "partition", "cluster", "type", "dns", "mount")}
    groups = [
        controller(image_id=names["image"]),
        ComputeGroup(
            told(stack, "/train/group"),
            names["type"],
            8,
            partition=names["partition"],
            image_id=ec2.MachineImage.lookup(name="mine").get_image(stack).image_id,
            capacity=Capacity.training_plan(told(stack, "/train/plan")),
            update_schedule=told(stack, "/train/schedule"),
            image_release_version=told(stack, "/train/release"),
        ),
    ]
    cluster = new_cluster(
        stack,
        *groups,
        network=ClusterNetwork(stack, "Network", vpc=vpc, subnets=vpc.private_subnets),
        cluster_name=names["cluster"],
        slurm_version=told(stack, "/train/slurm"),
        shared_storage=[LustreMount(dns_name=names["dns"], mount_name=names["mount"], mount_path=names["mount"])],
        accounting=ExistingDatabase(
            endpoint=told(stack, "/train/database"),
            database_name=told(stack, "/train/name"),
            secret=secretsmanager.Secret.from_secret_name_v2(stack, "Secret", "accounting"),
        ),
    )
    assert errors_of(cluster) == []
    assert not [text for text in annotations_of(cluster) if text.startswith(("HPS02", "HPS06"))]
    assert cluster.topology_plan is None
    assert len(json.loads(_manifest(stack))["missing"]) > 10


def test_a_cidr_block_that_is_no_block_is_unknown() -> None:
    """Imported subnets have whatever text they were given."""
    for cidr in ("10.0.0.1/17", "foo"):
        stack = new_stack()
        vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-west-2a"])
        subnets = [subnet(stack, "one", "us-west-2a", cidr)]
        cluster = new_cluster(stack, network=ClusterNetwork(stack, "Network", vpc=vpc, subnets=subnets))
        assert errors_of(cluster) == []


def _manifest(stack: Stack) -> str:
    assembly = stack.node.root.synth()  # type: ignore[attr-defined]
    return Path(assembly.directory, "manifest.json").read_text()
