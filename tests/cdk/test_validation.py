"""Each rule: the smallest app that breaks it, and its neighbour that does not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
    NewLustre,
    NewOpenZfs,
    NodeProvisioningMode,
    NodeRecovery,
    OpenZfsMount,
    PatchingStrategy,
    SlurmConfigStrategy,
    Topology,
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
    Case(
        "HPS052",
        only(controller(), p5(mounts=[lustre(mount_path="/home"), zfs()])),
        only(controller(), p5(mounts=[lustre(), zfs()])),
        "/home",
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
    Case("HPS061", network(groups=6), network(groups=5), "got 6"),
    # 8 P5 instances with 32 cards and a controller: 257 addresses; a /24 has 251, a /23 507.
    Case("HPS062", network(cidr="10.0.0.0/24"), network(cidr="10.0.0.0/23"), "need 257 addresses"),
    Case(
        "HPS062",
        only(controller(), p5(count=1100)),
        only(controller(), p5(count=1100, interface_type=InterfaceType.EFA_ONLY)),
        "got 32763",
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
    Case("HPS070", brought_role(mutable=False), brought_role(mutable=True), '"sagemaker:DescribeClusterNode"'),
    Case(
        "TOPO202",
        only(controller(), p5(), ComputeGroup("cpu", "ml.c5.large")),
        only(controller(), p5()),
        "cluster default: flat, because of cpu",
    ),
)


def made(build: Build, folder: Path) -> tuple[list[str], list[str]]:
    """(errors, annotations) of the app."""
    folder.mkdir()
    stack = new_stack()
    stack.node.set_context("folder", str(folder))
    groups, properties = build(stack)
    if not {"network", "vpc"} & set(properties):
        groups_of_aws = [ec2.SecurityGroup.from_security_group_id(stack, "Fabric", "sg-1")]
        properties["network"] = ClusterNetwork(stack, "Network", vpc=_vpc(stack), security_groups=groups_of_aws)
    cluster = new_cluster(stack, *groups, **properties)
    return errors_of(cluster), annotations_of(cluster)


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
