"""The rules between fields that HyperPod checks when a cluster is created or updated.

Sources: SageMaker API reference (CreateCluster, UpdateCluster, ClusterInstanceGroupSpecification, ClusterSlurmConfig,
ClusterOrchestratorSlurmConfig) and the developer guide's HyperPod Slurm chapter. Every function yields messages; the
caller raises all of them in one ValidationException.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from local_cloud.instance_facts import facts

__all__ = ["Group", "Request", "cluster_problems", "update_problems"]

Group = Mapping[str, Any]
Request = Mapping[str, Any]


def cluster_problems(request: Request) -> list[str]:
    """What HyperPod refuses in a whole cluster definition."""
    groups: list[Group] = request.get("InstanceGroups") or []
    rules: tuple[Callable[[Request, list[Group]], Iterator[str]], ...] = (
        _groups_exist,
        _names_differ,
        _orchestrator,
        _slurm_node_types,
        _network,
    )
    found = [message for rule in rules for message in rule(request, groups)]
    return found + [message for group in groups for message in _group_problems(group)]


def update_problems(old: Mapping[str, Group], new: Iterable[Group]) -> list[str]:
    """What can't be changed in an existing instance group."""
    found = []
    for group in new:
        before = old.get(group["InstanceGroupName"])
        if before is None:
            continue
        for member, was, wanted in (
            ("InstanceType", before.get("InstanceType"), group.get("InstanceType")),
            ("SlurmConfig.NodeType", _node_type(before), _node_type(group)),
        ):
            if was != wanted:
                name = group["InstanceGroupName"]
                found.append(f"{member} of instance group '{name}' cannot be changed from {was} to {wanted}.")
    return found


def _groups_exist(request: Request, groups: list[Group]) -> Iterator[str]:
    if not groups and not request.get("RestrictedInstanceGroups"):
        yield "At least one instance group must be specified."


def _names_differ(_request: Request, groups: list[Group]) -> Iterator[str]:
    for name, count in Counter(group["InstanceGroupName"] for group in groups).items():
        if count > 1:
            yield f"Instance group names must be unique: '{name}' is used {count} times."


def _orchestrator(request: Request, groups: list[Group]) -> Iterator[str]:
    orchestrator = request.get("Orchestrator") or {}
    slurm = orchestrator.get("Slurm") or {}
    continuous = request.get("NodeProvisioningMode") == "Continuous"
    if "Eks" in orchestrator and "Slurm" in orchestrator:
        yield "Orchestrator must be either Eks or Slurm, not both."
    if "SlurmConfigStrategy" in slurm and continuous:
        yield "SlurmConfigStrategy cannot be specified when NodeProvisioningMode is Continuous."
    if "AccountingDatabase" in slurm and not continuous:
        yield "AccountingDatabase requires NodeProvisioningMode Continuous."
    if "SlurmConfigStrategy" in slurm and not any(_node_type(group) for group in groups):
        yield "SlurmConfigStrategy requires SlurmConfig on the instance groups."


def _slurm_node_types(_request: Request, groups: list[Group]) -> Iterator[str]:
    types = Counter(_node_type(group) for group in groups)
    if set(types) <= {None}:
        return
    if missing := [group["InstanceGroupName"] for group in groups if _node_type(group) is None]:
        yield f"SlurmConfig must be specified for all instance groups or none; missing for: {', '.join(missing)}."
    if types["Controller"] != 1:
        yield f"Exactly one instance group must have NodeType Controller, got {types['Controller']}."
    if types["Login"] > 1:
        yield f"At most one instance group can have NodeType Login, got {types['Login']}."


def _network(request: Request, groups: list[Group]) -> Iterator[str]:
    if request.get("VpcConfig"):
        return
    for group in groups:
        if any("Fsx" in kind for config in group.get("InstanceStorageConfigs") or () for kind in config):
            yield f"Instance group '{group['InstanceGroupName']}' uses FSx: VpcConfig of the cluster is required."
        if group.get("OverrideVpcConfig"):
            yield f"Instance group '{group['InstanceGroupName']}' has OverrideVpcConfig: the cluster needs VpcConfig."


def _group_problems(group: Group) -> Iterator[str]:
    name = group["InstanceGroupName"]
    for problem in (*_partitions(group), *_life_cycle(group), *_capacity(group), *_storage(group)):
        yield f"Instance group '{name}': {problem}"


def _partitions(group: Group) -> Iterator[str]:
    node_type = _node_type(group)
    partitions = (group.get("SlurmConfig") or {}).get("PartitionNames") or []
    if node_type == "Compute" and len(partitions) != 1:
        yield f"PartitionNames must have exactly one partition for NodeType Compute, got {len(partitions)}."
    if node_type in ("Controller", "Login") and partitions:
        yield f"PartitionNames cannot be specified for NodeType {node_type}."
    if node_type and group.get("KubernetesConfig"):
        yield "KubernetesConfig cannot be specified together with SlurmConfig."


def _life_cycle(group: Group) -> Iterator[str]:
    config = group.get("LifeCycleConfig") or {}
    scripts = [member for member in ("OnCreate", "OnInitComplete") if config.get(member)]
    if len(scripts) == 2:
        yield "LifeCycleConfig can have OnCreate or OnInitComplete, not both."
    if scripts and not config.get("SourceS3Uri"):
        yield f"LifeCycleConfig with {scripts[0]} requires SourceS3Uri."
    if config.get("SourceS3Uri") and not scripts:
        yield "LifeCycleConfig with SourceS3Uri requires OnCreate or OnInitComplete."


def _capacity(group: Group) -> Iterator[str]:
    capacity = group.get("CapacityRequirements") or {}
    if "Spot" in capacity and "OnDemand" in capacity:
        yield "CapacityRequirements must be either Spot or OnDemand."
    if "Spot" in capacity and group.get("TrainingPlanArn"):
        yield "Spot capacity cannot be used with a training plan."
    if bool(group.get("InstanceType")) == bool(group.get("InstanceRequirements")):
        yield "exactly one of InstanceType and InstanceRequirements must be specified."
    if group.get("MinInstanceCount", 0) > group["InstanceCount"]:
        yield f"MinInstanceCount {group['MinInstanceCount']} exceeds InstanceCount {group['InstanceCount']}."
    instance_type = group.get("InstanceType", "")
    if facts(instance_type).ultraserver_size and not group.get("TrainingPlanArn"):
        yield f"{instance_type} is only available through a training plan: TrainingPlanArn is required."


def _storage(group: Group) -> Iterator[str]:
    configs = group.get("InstanceStorageConfigs") or []
    for kind in ("FsxLustreConfig", "FsxOpenZfsConfig"):
        if (count := sum(kind in config for config in configs)) > 1:
            yield f"at most one {kind} can be specified, got {count}."


def _node_type(group: Group) -> str | None:
    node_type: str | None = (group.get("SlurmConfig") or {}).get("NodeType")
    return node_type
