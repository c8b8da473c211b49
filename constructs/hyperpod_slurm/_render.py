"""Instance groups as CloudFormation wants them: one function a property, no decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker

from .accounting import AccountingDatabase
from .instance_group import ComputeGroup, InstanceGroup
from .lifecycle import Lifecycle
from .storage import LustreMount, Mount

__all__ = [
    "GroupContext",
    "false_alarms",
    "instance_group",
    "override_newer_properties",
    "topology_group",
    "vpc_config",
]

_Cfn = sagemaker.CfnCluster


@dataclass(frozen=True)
class GroupContext:
    """What a group takes from its cluster."""

    role_arn: str
    lifecycle_s3_uri: str
    lifecycle: Lifecycle
    encryption_key: kms.IKey | None
    shared_mounts: Sequence[Mount]
    subnets: Sequence[ec2.ISubnet]
    security_groups: Sequence[ec2.ISecurityGroup]


def instance_group(group: InstanceGroup, context: GroupContext) -> _Cfn.ClusterInstanceGroupProperty:
    """An element of the cluster's InstanceGroups."""
    return _Cfn.ClusterInstanceGroupProperty(
        instance_group_name=group.name,
        instance_type=group.type_name,
        instance_count=group.count,
        execution_role=context.role_arn,
        life_cycle_config=_life_cycle_config(context),
        slurm_config=_slurm_config(group),
        threads_per_core=group.threads_per_core,
        image_id=group.image_id,
        scheduled_update_config=_scheduled_update_config(group),
        instance_storage_configs=_storage_configs(group, context) or None,
        override_vpc_config=_override_vpc_config(group, context),
        **_compute_only(group),
    )


def topology_group(group: InstanceGroup) -> dict[str, Any]:
    """An element of the custom resources' ``Groups``."""
    described: dict[str, Any] = {
        "Name": group.name,
        "InstanceType": group.type_name,
        "Role": group.role.value,
        "Partitions": [group.partition_name] if isinstance(group, ComputeGroup) else [],
        "Count": group.count,
    }
    if isinstance(group, ComputeGroup) and group.capacity.training_plan_arn is not None:
        described["TrainingPlanArn"] = group.capacity.training_plan_arn
    return described


def vpc_config(subnets: Sequence[ec2.ISubnet], groups: Sequence[ec2.ISecurityGroup]) -> _Cfn.VpcConfigProperty:
    return _Cfn.VpcConfigProperty(
        subnets=[subnet.subnet_id for subnet in subnets],
        security_group_ids=[group.security_group_id for group in groups],
    )


def _life_cycle_config(context: GroupContext) -> _Cfn.ClusterLifeCycleConfigProperty:
    if context.lifecycle.owns_setup:
        return _Cfn.ClusterLifeCycleConfigProperty(source_s3_uri=context.lifecycle_s3_uri, on_create="on_create.sh")
    return _Cfn.ClusterLifeCycleConfigProperty(
        source_s3_uri=context.lifecycle_s3_uri, on_init_complete="on_init_complete.sh"
    )


def _slurm_config(group: InstanceGroup) -> _Cfn.ClusterSlurmConfigProperty:
    partitions = [group.partition_name] if isinstance(group, ComputeGroup) else None
    return _Cfn.ClusterSlurmConfigProperty(node_type=group.role.value, partition_names=partitions)


def _scheduled_update_config(group: InstanceGroup) -> _Cfn.ScheduledUpdateConfigProperty | None:
    """Without batches and alarms: those are for EKS alone (HyperPod developer guide, "Update your AMI version")."""
    if group.update_schedule is None:
        return None
    return _Cfn.ScheduledUpdateConfigProperty(schedule_expression=group.update_schedule)


def _storage_configs(group: InstanceGroup, context: GroupContext) -> list[_Cfn.ClusterInstanceStorageConfigProperty]:
    configs = []
    root_key = group.root_volume_key or context.encryption_key
    if root_key is not None:
        root = _Cfn.ClusterEbsVolumeConfigProperty(root_volume=True, volume_kms_key_id=root_key.key_arn)
        configs.append(_Cfn.ClusterInstanceStorageConfigProperty(ebs_volume_config=root))
    if group.ebs_volume is not None:
        key = group.ebs_volume.encryption_key or context.encryption_key
        volume = _Cfn.ClusterEbsVolumeConfigProperty(
            volume_size_in_gb=group.ebs_volume.size_gib, volume_kms_key_id=key.key_arn if key else None
        )
        configs.append(_Cfn.ClusterInstanceStorageConfigProperty(ebs_volume_config=volume))
    return configs + [_mount(mount) for mount in (*context.shared_mounts, *group.mounts)]


def _mount(mount: Mount) -> _Cfn.ClusterInstanceStorageConfigProperty:
    if isinstance(mount, LustreMount):
        lustre = _Cfn.ClusterFsxLustreConfigProperty(
            dns_name=mount.dns_name, mount_name=mount.mount_name, mount_path=mount.mount_path
        )
        return _Cfn.ClusterInstanceStorageConfigProperty(fsx_lustre_config=lustre)
    zfs = _Cfn.ClusterFsxOpenZfsConfigProperty(dns_name=mount.dns_name, mount_path=mount.mount_path)
    return _Cfn.ClusterInstanceStorageConfigProperty(fsx_open_zfs_config=zfs)


def _override_vpc_config(group: InstanceGroup, context: GroupContext) -> _Cfn.VpcConfigProperty | None:
    if not group.subnets and not group.security_groups:
        return None
    return vpc_config(group.subnets or context.subnets, group.security_groups or context.security_groups)


def _compute_only(group: InstanceGroup) -> dict[str, Any]:
    if not isinstance(group, ComputeGroup):
        return {}
    return {
        "min_instance_count": group.min_count,
        "training_plan_arn": group.capacity.training_plan_arn,
        "capacity_requirements": _Cfn.ClusterCapacityRequirementsProperty(spot={}) if group.capacity.spot else None,
        "on_start_deep_health_checks": [check.value for check in group.deep_health_checks] or None,
    }


def override_newer_properties(
    resource: _Cfn, groups: Sequence[InstanceGroup], database: AccountingDatabase | None
) -> None:
    """Properties that the oldest supported aws-cdk-lib has no classes for."""
    for index, group in enumerate(groups):
        for name, value in _newer_properties(group).items():
            resource.add_property_override(f"InstanceGroups.{index}.{name}", value)
    if database is not None:
        resource.add_property_override("Orchestrator.Slurm.AccountingDatabase", _accounting_database(database))


def false_alarms(groups: Sequence[InstanceGroup]) -> dict[str, str]:
    """Rules of CDK's own validation (id → reason) that know less than SageMaker's API."""
    reasons = {
        "CloudFormation-Validate::E3644": (
            "the list behind this rule lacks types that SageMaker's API accepts; HPS023 and HPS024 check the types"
        )
    }
    if any(group.image_release_version is not None for group in groups):
        older = (
            "the schema behind this rule is older than ImageReleaseVersion, which CloudFormation and CfnCluster have"
        )
        reasons["CloudFormation-Validate::F3002"] = older
    return reasons


def _newer_properties(group: InstanceGroup) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if isinstance(group, ComputeGroup) and group.interface_type is not None:
        values["NetworkInterface"] = {"InterfaceType": group.interface_type.value}
    if group.image_release_version is not None:
        values["ImageReleaseVersion"] = group.image_release_version
    if group.auto_patch is not None:
        values["AutoPatchConfig"] = {"PatchingStrategy": group.auto_patch.value}
    return values


def _accounting_database(database: AccountingDatabase) -> dict[str, Any]:
    described = {"Endpoint": database.endpoint, "Port": database.port, "SecretArn": database.secret.secret_arn}
    return described if database.database_name is None else {**described, "Name": database.database_name}
