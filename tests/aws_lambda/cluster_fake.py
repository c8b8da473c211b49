"""SageMaker's side: the nodes of a cluster, and training plans with UltraServers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from aws_lambda.service_fake import Refusal, ServiceFake

__all__ = ["ClusterFake", "FakeNode", "nodes"]

_ARN = "arn:aws:sagemaker:us-west-2:123456789012"


@dataclass(frozen=True)
class FakeNode:
    """A node as SageMaker shows it."""

    instance_id: str
    address: str
    group: str = "gpu"
    instance_type: str = "ml.p5.48xlarge"
    zone: int = 1
    ultraserver: str | None = None
    status: str = "Running"
    listed_host_name: bool = True  # False: as an SDK older than 1.42.40 shows it

    @property
    def host_name(self) -> str:
        return f"ip-{self.address.replace('.', '-')}.us-west-2.compute.internal"

    def common(self) -> dict[str, Any]:
        info = {"Id": self.ultraserver, "Type": "ml.u-p6e-gb200x72"}
        return {
            "InstanceGroupName": self.group,
            "InstanceId": self.instance_id,
            "InstanceType": self.instance_type,
            "LaunchTime": datetime(2026, 12, 1, tzinfo=timezone.utc),
            "InstanceStatus": {"Status": self.status},
            **({"UltraServerInfo": info} if self.ultraserver else {}),
        }

    def summary(self) -> dict[str, Any]:
        return {**self.common(), **({"PrivateDnsHostname": self.host_name} if self.listed_host_name else {})}

    def details(self) -> dict[str, Any]:
        zone = {"AvailabilityZone": f"us-west-2{' abc'[self.zone]}", "AvailabilityZoneId": f"usw2-az{self.zone}"}
        return {
            **self.common(),
            "PrivateDnsHostname": self.host_name,
            "PrivatePrimaryIp": self.address,
            "Placement": zone,
        }


def nodes(count: int, first: int = 0, **changes: Any) -> list[FakeNode]:
    """Nodes number ``first`` and up, each with an id and an address of its own."""
    base = FakeNode("", "")
    return [
        replace(base, instance_id=f"i-{n:017x}", address=f"10.1.{n // 250}.{n % 250 + 1}", **changes)
        for n in range(first, first + count)
    ]


@dataclass
class ClusterFake:
    """``denied``: operations that are refused; ``throttled``: those that never get through.

    ``ultraservers``: (id, total, spares) of training plan "plan".
    """

    nodes: list[FakeNode] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    throttled: set[str] = field(default_factory=set)
    ultraservers: list[tuple[str, int, int]] = field(default_factory=list)
    plan_name: str = "plan"
    plan_status: str = "Active"
    capacity: dict[str, Any] = field(default_factory=lambda: {"ReservedCapacityType": "UltraServer"})
    cluster_name: str = "c1"
    describe_failures: list[Refusal] = field(default_factory=list)  # of the next DescribeClusterNode calls

    def __post_init__(self) -> None:
        handlers = {
            "ListClusterNodes": self._list,
            "DescribeClusterNode": self._describe,
            "DescribeTrainingPlan": self._plan,
            "ListUltraServersByReservedCapacity": self._ultraservers,
        }
        self.fake = ServiceFake("sagemaker", {name: self._checked(name, handler) for name, handler in handlers.items()})
        self.client = self.fake.client

    @property
    def plan_arn(self) -> str:
        return f"{_ARN}:training-plan/plan"

    def described(self) -> list[str]:
        return sorted(parameters["NodeId"] for name, parameters in self.fake.calls if name == "DescribeClusterNode")

    def _checked(self, name: str, handler: Any) -> Any:
        def checked(**parameters: Any) -> Any:
            if name in self.denied:
                raise Refusal(
                    "AccessDeniedException", f"User: arn:x is not authorized to perform: sagemaker:{name}", 403
                )
            if name in self.throttled:
                raise Refusal("ThrottlingException", "Rate exceeded")
            return handler(**parameters)

        return checked

    def _cluster(self, name: str) -> None:
        if name != self.cluster_name:
            raise Refusal("ResourceNotFound", f"Cluster {name} not found.")

    def _list(self, ClusterName: str, MaxResults: int, NextToken: str = "0") -> dict[str, Any]:  # noqa: N803
        self._cluster(ClusterName)
        start = int(NextToken)
        more = {"NextToken": str(start + MaxResults)} if start + MaxResults < len(self.nodes) else {}
        return {"ClusterNodeSummaries": [node.summary() for node in self.nodes[start:][:MaxResults]], **more}

    def _describe(self, ClusterName: str, NodeId: str) -> dict[str, Any]:  # noqa: N803
        self._cluster(ClusterName)
        if self.describe_failures:
            raise self.describe_failures.pop()
        for node in self.nodes:
            if node.instance_id == NodeId:
                return {"NodeDetails": node.details()}
        raise Refusal("ResourceNotFound", f"Node {NodeId} not found.")

    def _plan(self, TrainingPlanName: str) -> dict[str, Any]:  # noqa: N803
        if TrainingPlanName != self.plan_name:
            raise Refusal("ResourceNotFound", "no such plan")
        capacity: dict[str, Any] = {
            "ReservedCapacityArn": f"{_ARN}:reserved-capacity/rc-0123456789abcdef",
            "Status": "Active",
        }
        capacity |= {"InstanceType": "ml.p6e-gb200.36xlarge", "TotalInstanceCount": 18, **self.capacity}
        plan = {"TrainingPlanArn": self.plan_arn, "TrainingPlanName": "plan", "Status": self.plan_status}
        return {**plan, "ReservedCapacitySummaries": [capacity]}

    def _ultraservers(self, ReservedCapacityArn: str, MaxResults: int) -> dict[str, Any]:  # noqa: N803
        common = {"UltraServerType": "ml.u-p6e-gb200x72", "AvailabilityZone": "us-west-2a"}
        common["InstanceType"] = "ml.p6e-gb200.36xlarge"
        return {
            "UltraServers": [
                {**common, "UltraServerId": name, "TotalInstanceCount": total, "ConfiguredSpareInstanceCount": spares}
                for name, total, spares in self.ultraservers
            ]
        }
