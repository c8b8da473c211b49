"""Each rule's cases: the smallest app that breaks it, its neighbour that does not, and what is said of it."""

from __future__ import annotations

from typing import cast

from cdk.apps import controller, p5
from cdk.rule_apps import (
    STANDARD,
    Case,
    brought_role,
    bucket,
    cpu,
    database,
    gb200,
    lustre,
    members,
    neighbours,
    network,
    new_network,
    no_subnets,
    only,
    own_groups,
    own_setup,
    scripts,
    two_zones,
    zfs,
)
from hyperpod_slurm import (
    Capacity,
    ComputeGroup,
    ControllerGroup,
    DeepHealthCheck,
    EbsVolume,
    InterfaceType,
    Lifecycle,
    LoginGroup,
    LustreThroughput,
    NewLustre,
    NewOpenZfs,
    NodeRecovery,
    PatchingStrategy,
    SlurmConfigStrategy,
    Topology,
    TopologyMode,
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
    Case(
        "HPS011", scripts("préparer.sh", script="préparer.sh"), scripts("prepare.sh", script="prepare.sh"), "préparer"
    ),
    Case("HPS011", scripts('a"b.sh', script='a"b.sh'), scripts("a-b_1.sh", script="a-b_1.sh"), "every shell finds it"),
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
