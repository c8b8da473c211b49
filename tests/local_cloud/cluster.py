"""One HyperPod cluster and its nodes, as the API describes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from local_cloud.racks import Slot

__all__ = ["Cluster", "Node", "Subnet"]

Json = dict[str, Any]
SOFTWARE_VERSION = "1.4.2"  # made up: an AMI release of after January 2026, as SlurmConfig needs


@dataclass(frozen=True)
class Subnet:
    """What a node needs to know of its subnet; `cidr` such as "10.1.0.0/20"."""

    subnet_id: str
    cidr: str
    zone: str
    zone_id: str


@dataclass(frozen=True)
class Node:
    """One instance with the node that runs on it. A replacement has the same group, number, address and name."""

    instance_id: str
    logical_id: str
    group: str
    number: int  # 1-based within its group
    instance_type: str
    address: str
    subnet: Subnet
    slot: Slot | None
    network_nodes: tuple[str, ...]  # top to leaf, all that EC2 knows
    ultraserver_type: str | None
    launched: int
    generation: int = 0
    updated: int | None = None
    spot: bool = False

    @property
    def name(self) -> str:
        """As HyperPod names it in Slurm: ip-10-1-2-3."""
        return "ip-" + self.address.replace(".", "-")

    @property
    def region(self) -> str:
        return self.subnet.zone[:-1]

    def summary(self, with_logical_id: bool) -> Json:
        """A ClusterNodeSummary."""
        ultraserver = self.slot.ultraserver_id if self.slot else None
        return _present(
            InstanceGroupName=self.group,
            InstanceId=self.instance_id,
            NodeLogicalId=self.logical_id if with_logical_id else None,
            InstanceType=self.instance_type,
            LaunchTime=self.launched,
            LastSoftwareUpdateTime=self.updated,
            InstanceStatus={"Status": "Running"},
            UltraServerInfo={"Id": ultraserver, "Type": self.ultraserver_type} if ultraserver else None,
            PrivateDnsHostname=f"{self.name}.{self.region}.compute.internal",
            CurrentImageReleaseVersion=SOFTWARE_VERSION,
            ImageVersionStatus="UpToDate",
        )

    def details(self, group: Json, with_logical_id: bool) -> Json:
        """ClusterNodeDetails."""
        return self.summary(with_logical_id) | _present(
            LifeCycleConfig=group.get("LifeCycleConfig"),
            OverrideVpcConfig=group.get("OverrideVpcConfig"),
            ThreadsPerCore=group.get("ThreadsPerCore", 1),
            InstanceStorageConfigs=group.get("InstanceStorageConfigs"),
            PrivatePrimaryIp=self.address,
            Placement={"AvailabilityZone": self.subnet.zone, "AvailabilityZoneId": self.subnet.zone_id},
            CapacityType="Spot" if self.spot else "OnDemand",
        )


class Cluster:
    """A cluster: the definition in force and its nodes."""

    def __init__(self, arn: str, request: Json, created: int) -> None:
        self.arn = arn
        self.name: str = request["ClusterName"]
        self.created = created
        self.request = request
        self.nodes: list[Node] = []
        self.status = "Creating"
        self.failure: str | None = None

    @property
    def groups(self) -> dict[str, Json]:
        return {group["InstanceGroupName"]: group for group in self.request.get("InstanceGroups", ())}

    @property
    def continuous(self) -> bool:
        return self.request.get("NodeProvisioningMode") == "Continuous"

    def merged(self, update: Json) -> Json:
        """The whole definition after an UpdateCluster request: groups it doesn't name stay as they are."""
        groups = self.groups | {group["InstanceGroupName"]: group for group in update.get("InstanceGroups", ())}
        for name in update.get("InstanceGroupsToDelete", ()):
            groups.pop(name, None)
        changed = {
            k: v for k, v in update.items() if k not in ("ClusterName", "InstanceGroups", "InstanceGroupsToDelete")
        }
        return {**self.request, **changed, "InstanceGroups": list(groups.values())}

    def with_count(self, group_name: str, count: int) -> Json:
        return self.merged({"InstanceGroups": [{**self.groups[group_name], "InstanceCount": count}]})

    def succeed(self, request: Json) -> None:
        self.request, self.status, self.failure = request, "InService", None

    def fail(self, message: str, *, gone: bool, request: Json) -> None:
        """A new cluster that couldn't be made is Failed; an updated one is back in service as it was."""
        self.request, self.status, self.failure = request, "Failed" if gone else "InService", message

    def swap(self, old: Node, new: Node) -> Node:
        self.nodes = [new if node == old else node for node in self.nodes]
        return new

    def remove(self, gone: Node) -> None:
        self.nodes = [node for node in self.nodes if node != gone]
        self.request = self.with_count(gone.group, self.groups[gone.group]["InstanceCount"] - 1)

    def software_updated(self, group_names: Iterable[str], now: int) -> None:
        self.nodes = [replace(node, updated=now) if node.group in group_names else node for node in self.nodes]

    def training_plans(self) -> list[str]:
        return sorted({group["TrainingPlanArn"] for group in self.groups.values() if group.get("TrainingPlanArn")})

    def summary(self) -> Json:
        return _present(
            ClusterArn=self.arn,
            ClusterName=self.name,
            CreationTime=self.created,
            ClusterStatus=self.status,
            TrainingPlanArns=self.training_plans() or None,
        )

    def describe(self) -> Json:
        """A DescribeCluster answer."""
        members = (
            "VpcConfig",
            "Orchestrator",
            "TieredStorageConfig",
            "NodeRecovery",
            "NodeProvisioningMode",
            "ClusterRole",
        )
        return _present(
            ClusterArn=self.arn,
            ClusterName=self.name,
            ClusterStatus=self.status,
            CreationTime=self.created,
            FailureMessage=self.failure,
            InstanceGroups=[self._describe_group(group) for group in self.groups.values()],
            **{member: self.request.get(member) for member in members},
        )

    def _describe_group(self, group: Json) -> Json:
        name = group["InstanceGroupName"]
        kept = (
            *("InstanceGroupName", "InstanceType", "LifeCycleConfig", "ExecutionRole", "ThreadsPerCore"),
            *("InstanceStorageConfigs", "OnStartDeepHealthChecks", "TrainingPlanArn", "OverrideVpcConfig"),
            *("ScheduledUpdateConfig", "CapacityRequirements", "SlurmConfig", "NetworkInterface"),
        )
        return _present(
            CurrentCount=sum(node.group == name for node in self.nodes),
            TargetCount=group["InstanceCount"],
            Status="InService",
            **{member: group.get(member) for member in kept},
        )


def _present(**members: Any) -> Json:
    """AWS leaves out members that have no value."""
    return {name: value for name, value in members.items() if value is not None}
