"""What the cluster's resource says."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import CfnParameter
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from cdk.apps import CLUSTER, controller, new_cluster, new_stack, p5, properties_of, template_of
from hyperpod_slurm import (
    Capacity,
    ClusterInstanceType,
    ComputeGroup,
    DeepHealthCheck,
    EbsVolume,
    InterfaceType,
    Lifecycle,
    LoginGroup,
    LustreMount,
    NodeProvisioningMode,
    NodeRecovery,
    OpenZfsMount,
    PatchingStrategy,
    SlurmConfigStrategy,
)


def groups_of(properties: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {group["InstanceGroupName"]: group for group in properties["InstanceGroups"]}


def test_the_simple_case() -> None:
    """A controller and compute instances, continuous provisioning, Slurm said by an empty map."""
    stack = new_stack()
    new_cluster(stack)
    properties = properties_of(stack, CLUSTER)
    assert properties["Orchestrator"] == {"Slurm": {}}
    assert properties["NodeProvisioningMode"] == "Continuous"
    assert properties["NodeRecovery"] == "Automatic"
    assert "ClusterName" not in properties
    groups = groups_of(properties)
    assert list(groups) == ["controller", "train"]
    assert groups["controller"]["SlurmConfig"] == {"NodeType": "Controller"}
    assert groups["train"]["SlurmConfig"] == {"NodeType": "Compute", "PartitionNames": ["train"]}
    assert groups["train"]["InstanceType"] == "ml.p5.48xlarge"
    assert groups["train"]["InstanceCount"] == 8


def test_groups_stay_in_their_order() -> None:
    """CloudFormation compares groups by position: sorting them would replace instances."""
    stack = new_stack()
    new_cluster(stack, p5("z"), controller(), p5("a"), LoginGroup("m"))
    assert list(groups_of(properties_of(stack, CLUSTER))) == ["z", "controller", "a", "m"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [(None, "Managed"), (SlurmConfigStrategy.MERGE, "Merge"), (SlurmConfigStrategy.OVERWRITE, "Overwrite")],
)
def test_outside_continuous_the_strategy_is_named(wanted: SlurmConfigStrategy | None, expected: str) -> None:
    stack = new_stack()
    new_cluster(stack, node_provisioning_mode=NodeProvisioningMode.STANDARD, slurm_config_strategy=wanted)
    properties = properties_of(stack, CLUSTER)
    assert properties["Orchestrator"] == {"Slurm": {"SlurmConfigStrategy": expected}}
    assert "NodeProvisioningMode" not in properties


def test_everything_a_compute_group_can_say() -> None:
    stack = new_stack()
    key = kms.Key(stack, "Key")
    subnet = ec2.Subnet.from_subnet_attributes(stack, "Subnet", subnet_id="subnet-2", availability_zone="us-west-2b")
    group = ComputeGroup(
        "train",
        ClusterInstanceType.P5_48XLARGE,
        16,
        partition="gpu",
        min_count=12,
        capacity=Capacity.training_plan("arn:aws:sagemaker:us-west-2:123456789012:training-plan/p5"),
        deep_health_checks=[DeepHealthCheck.INSTANCE_STRESS, DeepHealthCheck.INSTANCE_CONNECTIVITY],
        interface_type=InterfaceType.EFA_ONLY,
        root_volume_key=key,
        ebs_volume=EbsVolume(size_gib=500, encryption_key=key),
        mounts=[
            LustreMount(dns_name="fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com", mount_name="abcdef12"),
            OpenZfsMount(dns_name="fs-0123456789abcdef1.fsx.us-west-2.amazonaws.com"),
        ],
        threads_per_core=1,
        image_id="ami-0123456789abcdef0",
        image_release_version="1.2.3",
        auto_patch=PatchingStrategy.WHEN_ALL_IDLE,
        update_schedule="cron(0 3 ? * SUN *)",
        subnets=[subnet],
        execution_role=iam.Role(stack, "Own", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com")),
    )
    new_cluster(stack, controller(), group)
    rendered = groups_of(properties_of(stack, CLUSTER))["train"]
    network = rendered.pop("OverrideVpcConfig")
    role = rendered.pop("ExecutionRole")
    rendered.pop("LifeCycleConfig")
    key_arn = stack.resolve(key.key_arn)
    assert rendered == {
        "InstanceGroupName": "train",
        "InstanceType": "ml.p5.48xlarge",
        "InstanceCount": 16,
        "MinInstanceCount": 12,
        "SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["gpu"]},
        "TrainingPlanArn": "arn:aws:sagemaker:us-west-2:123456789012:training-plan/p5",
        "OnStartDeepHealthChecks": ["InstanceStress", "InstanceConnectivity"],
        "NetworkInterface": {"InterfaceType": "efa-only"},
        "ThreadsPerCore": 1,
        "ImageId": "ami-0123456789abcdef0",
        "ImageReleaseVersion": "1.2.3",
        "AutoPatchConfig": {"PatchingStrategy": "WhenAllIdle"},
        "ScheduledUpdateConfig": {"ScheduleExpression": "cron(0 3 ? * SUN *)"},
        "InstanceStorageConfigs": [
            {"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": key_arn}},
            {"EbsVolumeConfig": {"VolumeSizeInGB": 500, "VolumeKmsKeyId": key_arn}},
            {
                "FsxLustreConfig": {
                    "DnsName": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
                    "MountName": "abcdef12",
                    "MountPath": "/fsx",
                }
            },
            {
                "FsxOpenZfsConfig": {
                    "DnsName": "fs-0123456789abcdef1.fsx.us-west-2.amazonaws.com",
                    "MountPath": "/home",
                }
            },
        ],
    }
    assert network["Subnets"] == ["subnet-2"]
    assert len(network["SecurityGroupIds"]) == 1
    assert role["Fn::GetAtt"][0].startswith("Own")


def test_capacity() -> None:
    """Spot is an empty map, on-demand is silence."""
    stack = new_stack()
    spot = p5("spot", capacity=Capacity.spot_instances())
    new_cluster(stack, controller(), spot, p5("plain", capacity=Capacity.on_demand()))
    groups = groups_of(properties_of(stack, CLUSTER))
    assert groups["spot"]["CapacityRequirements"] == {"Spot": {}}
    assert "CapacityRequirements" not in groups["plain"]
    assert "TrainingPlanArn" not in groups["plain"]


def test_lifecycle_scripts_run_after_the_plan_has_put_them_there() -> None:
    """SourceS3Uri is what the plan answers, so that CloudFormation waits for it."""
    stack = new_stack()
    new_cluster(stack)
    for group in properties_of(stack, CLUSTER)["InstanceGroups"]:
        config = group["LifeCycleConfig"]
        assert config["SourceS3Uri"]["Fn::GetAtt"][1] == "LifecycleS3Uri"
        assert config["OnInitComplete"] == "on_init_complete.sh"
        assert "OnCreate" not in config


def test_own_scripts_run_at_creation(tmp_path: Any) -> None:
    (tmp_path / "start.sh").write_text("true\n")
    stack = new_stack()
    new_cluster(stack, lifecycle=Lifecycle.own(tmp_path, script="start.sh"))
    config = properties_of(stack, CLUSTER)["InstanceGroups"][0]["LifeCycleConfig"]
    assert config["OnCreate"] == "on_create.sh"
    assert "OnInitComplete" not in config


def test_tokens_reach_the_template() -> None:
    stack = new_stack()
    count = CfnParameter(stack, "Count", type="Number")
    name = CfnParameter(stack, "Name")
    new_cluster(stack, controller(), p5(count=count.value_as_number), cluster_name=name.value_as_string)
    properties = properties_of(stack, CLUSTER)
    assert groups_of(properties)["train"]["InstanceCount"] == {"Ref": "Count"}
    assert properties["ClusterName"] == {"Ref": "Name"}


def test_a_group_in_the_middle_changes_nothing_of_the_others() -> None:
    """Neither the other groups nor any other resource of the stack, but the plan and the cluster's list."""
    before, after = new_stack(), new_stack()
    new_cluster(before, controller(), p5("a"), p5("z"))
    new_cluster(after, controller(), p5("a"), p5("m"), p5("z"))
    old, new = template_of(before), template_of(after)
    changed = {name for name, resource in new["Resources"].items() if old["Resources"].get(name) != resource}
    kinds = sorted(new["Resources"][name]["Type"] for name in changed)
    assert kinds == [CLUSTER, "Custom::HyperPodSlurmInitialTopology", "Custom::HyperPodSlurmTopologyPlan"]
    assert set(old["Resources"]) == set(new["Resources"])
    (cluster,) = (name for name in changed if new["Resources"][name]["Type"] == CLUSTER)
    old_groups = groups_of(old["Resources"][cluster]["Properties"])
    new_groups = groups_of(new["Resources"][cluster]["Properties"])
    assert new_groups.pop("m")
    assert new_groups == old_groups


def test_recovery_can_be_switched_off() -> None:
    stack = new_stack()
    new_cluster(stack, node_recovery=NodeRecovery.NONE)
    assert properties_of(stack, CLUSTER)["NodeRecovery"] == "None"


def test_cluster_key_encrypts_volumes() -> None:
    """The cluster's key is used where a group has none of its own, root volumes included."""
    stack = new_stack()
    own, shared = kms.Key(stack, "Own"), kms.Key(stack, "Shared")
    new_cluster(stack, controller(), p5(root_volume_key=own, ebs_volume=EbsVolume(size_gib=10)), encryption_key=shared)
    groups = groups_of(properties_of(stack, CLUSTER))
    keys = [config["EbsVolumeConfig"]["VolumeKmsKeyId"] for config in groups["train"]["InstanceStorageConfigs"]]
    assert keys == [stack.resolve(own.key_arn), stack.resolve(shared.key_arn)]
    (root,) = groups["controller"]["InstanceStorageConfigs"]
    assert root["EbsVolumeConfig"] == {"RootVolume": True, "VolumeKmsKeyId": stack.resolve(shared.key_arn)}


def test_the_cluster_waits_for_policies_and_network() -> None:
    """Instances start while CloudFormation still works: without these, the first ones fail."""
    stack = new_stack()
    new_cluster(stack)
    (resource,) = (found for found in template_of(stack)["Resources"].values() if found["Type"] == CLUSTER)
    waits = " ".join(resource["DependsOn"])
    for part in ("ExecutionRoleDefaultPolicy", "ControllerRoleDefaultPolicy", "NetworkS3", "ALLTRAFFIC"):
        assert part in waits


def test_every_property_is_one_that_sagemaker_knows() -> None:
    """Group members, compared with the newest service model that is installed."""
    import botocore.session

    model = botocore.session.get_session().get_service_model("sagemaker")
    known = set(model.shape_for("ClusterInstanceGroupSpecification").members)
    stack = new_stack()
    group = p5(
        interface_type=InterfaceType.EFA,
        min_count=1,
        threads_per_core=1,
        image_release_version="1.2.3",
        auto_patch=PatchingStrategy.WHEN_IDLE,
        update_schedule="cron(0 3 ? * SUN *)",
    )
    new_cluster(stack, controller(), group)
    properties = properties_of(stack, CLUSTER)
    assert set(properties) <= set(model.operation_model("CreateCluster").input_shape.members)
    for group in properties["InstanceGroups"]:
        assert set(group) <= known
