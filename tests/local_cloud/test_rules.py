"""Each rule of HyperPod with a request that breaks it and only it; that the neighbours pass is the first test."""

from __future__ import annotations

from typing import Any

import pytest

from local_cloud.fake_world import create_request, group
from local_cloud.rules import cluster_problems, update_problems

Json = dict[str, Any]
COMPUTE = group("train", "ml.p5.48xlarge", 4, "Compute")
LUSTRE = {"FsxLustreConfig": {"DnsName": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com", "MountName": "abcdefgh"}}
SCRIPTS = {"SourceS3Uri": "s3://sagemaker-x/y", "OnInitComplete": "a.sh"}
PLAN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/plan"


def slurm(**members: Any) -> Json:
    return {"Orchestrator": {"Slurm": members}}


@pytest.mark.parametrize(
    "request_",
    [
        create_request(COMPUTE),
        create_request(COMPUTE, group("login", "ml.m5.large", 1, "Login")),
        create_request({**COMPUTE, "InstanceStorageConfigs": [LUSTRE]}),
        create_request({**COMPUTE, "LifeCycleConfig": SCRIPTS}),
        create_request({**COMPUTE, "CapacityRequirements": {"Spot": {}}}),
        create_request(group("ultra", "ml.p6e-gb200.36xlarge", 18, "Compute", TrainingPlanArn=PLAN)),
        create_request(COMPUTE, **slurm(SlurmConfigStrategy="Managed")),
        create_request(COMPUTE, **slurm(), NodeProvisioningMode="Continuous"),
    ],
)
def test_what_hyperpod_accepts(request_: Json) -> None:
    assert cluster_problems(request_) == []


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"ClusterName": "x"}, "At least one instance group"),
        (create_request(COMPUTE, COMPUTE), "'train' is used 2 times"),
        (create_request(group("b", "ml.m5.large", 1, "Controller")), "Exactly one instance group must have NodeType"),
        (
            create_request(*(group(n, "ml.m5.large", 1, "Login") for n in ("l1", "l2"))),
            "At most one instance group can have NodeType Login, got 2",
        ),
        (create_request(group("plain", "ml.m5.large", 1)), "missing for: plain"),
        (
            create_request({**COMPUTE, "SlurmConfig": {"NodeType": "Compute"}}),
            "exactly one partition for NodeType Compute, got 0",
        ),
        (
            create_request(
                {**group("login", "ml.m5.large", 1), "SlurmConfig": {"NodeType": "Login", "PartitionNames": ["x"]}}
            ),
            "PartitionNames cannot be specified for NodeType Login",
        ),
        (
            create_request({**COMPUTE, "KubernetesConfig": {"Labels": {"a": "b"}}}),
            "KubernetesConfig cannot be specified together with SlurmConfig",
        ),
        (
            create_request(COMPUTE, **slurm(SlurmConfigStrategy="Managed"), NodeProvisioningMode="Continuous"),
            "SlurmConfigStrategy cannot be specified when NodeProvisioningMode is Continuous",
        ),
        (create_request(COMPUTE, **slurm(AccountingDatabase={})), "AccountingDatabase requires"),
        (create_request(COMPUTE, Orchestrator={"Slurm": {}, "Eks": {}}), "either Eks or Slurm"),
        (
            {
                "ClusterName": "x",
                "InstanceGroups": [group("a", "ml.m5.large", 1)],
                **slurm(SlurmConfigStrategy="Merge"),
            },
            "SlurmConfigStrategy requires SlurmConfig",
        ),
        (create_request({**COMPUTE, "InstanceStorageConfigs": [LUSTRE, LUSTRE]}), "at most one FsxLustreConfig"),
        (
            create_request({**COMPUTE, "InstanceStorageConfigs": [LUSTRE]}, VpcConfig=None),
            "'train' uses FSx: VpcConfig of the cluster is required",
        ),
        (create_request({**COMPUTE, "OverrideVpcConfig": {"Subnets": ["s"]}}, VpcConfig=None), "the cluster needs"),
        (create_request({**COMPUTE, "LifeCycleConfig": {**SCRIPTS, "OnCreate": "b.sh"}}), "not both"),
        (create_request({**COMPUTE, "LifeCycleConfig": {"OnCreate": "b.sh"}}), "requires SourceS3Uri"),
        (create_request({**COMPUTE, "LifeCycleConfig": {"SourceS3Uri": "s3://x/y"}}), "requires OnCreate or"),
        (create_request({**COMPUTE, "CapacityRequirements": {"Spot": {}, "OnDemand": {}}}), "either Spot or OnDemand"),
        (
            create_request({**COMPUTE, "CapacityRequirements": {"Spot": {}}, "TrainingPlanArn": PLAN}),
            "Spot capacity cannot be used with a training plan",
        ),
        (
            create_request({**COMPUTE, "InstanceRequirements": {"InstanceTypes": ["ml.p5.48xlarge"]}}),
            "exactly one of InstanceType and InstanceRequirements",
        ),
        (create_request({**COMPUTE, "MinInstanceCount": 5}), "MinInstanceCount 5 exceeds InstanceCount 4"),
        (create_request(group("ultra", "ml.p6e-gb200.36xlarge", 18, "Compute")), "TrainingPlanArn is required"),
    ],
)
def test_what_hyperpod_refuses(request_: Json, message: str) -> None:
    found = cluster_problems(request_)
    assert len(found) == 1
    assert message in found[0]


def test_all_faults_are_told_at_once() -> None:
    bad = {**COMPUTE, "SlurmConfig": {"NodeType": "Compute"}, "MinInstanceCount": 9}
    assert len(cluster_problems(create_request(bad, bad))) == 5


def test_type_and_role_of_a_group_stay() -> None:
    old = {"train": COMPUTE}
    assert update_problems(old, [{**COMPUTE, "InstanceCount": 9}, group("new", "ml.m5.large", 1)]) == []
    assert update_problems(old, [group("train", "ml.p4d.24xlarge", 4, "Login")]) == [
        "InstanceType of instance group 'train' cannot be changed from ml.p5.48xlarge to ml.p4d.24xlarge.",
        "SlurmConfig.NodeType of instance group 'train' cannot be changed from Compute to Login.",
    ]
