"""Training plans and the UltraServers of their reserved capacity."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from local_cloud.cluster import Node
from local_cloud.errors import HyperPodError
from local_cloud.instance_facts import facts
from local_cloud.racks import Pool, Slot

__all__ = ["TrainingPlan", "TrainingPlans"]

Json = dict[str, Any]


@dataclass(frozen=True)
class TrainingPlan:
    """Reserved UltraServers. A plan keeps one spare instance per UltraServer unless told otherwise."""

    name: str
    zone: str = "us-west-2a"
    instance_type: str = "ml.p6e-gb200.36xlarge"
    ultraservers: int = 2
    spares: int = 1

    @property
    def pool(self) -> Pool:
        known = facts(self.instance_type)
        return Pool(
            f"{self.zone}/{self.name}",
            known.layers,
            known.ultraserver_size,
            spares=self.spares,
            leaves=self.ultraservers,
            ultraservers=True,
        )


class TrainingPlans:
    """The plans of one account and region."""

    def __init__(self, account: str, region: str) -> None:
        self._prefix = f"arn:aws:sagemaker:{region}:{account}"
        self._plans: dict[str, TrainingPlan] = {}

    def add(self, plan: TrainingPlan) -> str:
        """Register a plan; gives its ARN."""
        if not facts(plan.instance_type).ultraserver_size:
            raise ValueError(f"{plan.instance_type} has no UltraServers")
        self._plans[plan.name] = plan
        return self.arn(plan)

    def arn(self, plan: TrainingPlan) -> str:
        return f"{self._prefix}:training-plan/{plan.name}"

    def reserved_capacity_arn(self, plan: TrainingPlan) -> str:
        return f"{self._prefix}:reserved-capacity/{hashlib.sha256(plan.name.encode()).hexdigest()[:20]}"

    def pool(self, arn: str) -> Pool:
        return self._find(arn).pool

    def problem(self, arn: str, instance_type: str) -> str | None:
        """Why a group of this type can't use the plan."""
        plan = self._plans.get(arn.rpartition("/")[2])
        if plan is None or self.arn(plan) != arn:
            return f"Training plan {arn} not found."
        if plan.instance_type != instance_type:
            return f"Training plan {plan.name} is for {plan.instance_type}, got {instance_type}."
        return None

    def by_reserved_capacity(self, arn: str) -> TrainingPlan:
        for plan in self._plans.values():
            if self.reserved_capacity_arn(plan) == arn:
                return plan
        raise HyperPodError("ResourceNotFound", f"Reserved capacity {arn} not found.")

    def describe(self, name_or_arn: str) -> Json:
        """A DescribeTrainingPlan answer."""
        plan = self._find(name_or_arn)
        size = facts(plan.instance_type).ultraserver_size
        return {
            "TrainingPlanArn": self.arn(plan),
            "TrainingPlanName": plan.name,
            "Status": "Active",
            "TotalInstanceCount": plan.ultraservers * size,
            "TotalUltraServerCount": plan.ultraservers,
            "TargetResources": ["hyperpod-cluster"],
            "ReservedCapacitySummaries": [
                {
                    "ReservedCapacityArn": self.reserved_capacity_arn(plan),
                    "ReservedCapacityType": "UltraServer",
                    "UltraServerType": facts(plan.instance_type).ultraserver_type,
                    "UltraServerCount": plan.ultraservers,
                    "InstanceType": plan.instance_type,
                    "TotalInstanceCount": plan.ultraservers * size,
                    "Status": "Active",
                    "AvailabilityZone": plan.zone,
                }
            ],
        }

    def ultraservers(self, plan: TrainingPlan, nodes: Iterable[Node]) -> list[Json]:
        """The UltraServers of a ListUltraServersByReservedCapacity answer."""
        used = [node.slot.leaf for node in nodes if node.slot and node.slot.pool == plan.pool]
        return [self._ultraserver(plan, leaf, used.count(leaf)) for leaf in range(plan.ultraservers)]

    def _ultraserver(self, plan: TrainingPlan, leaf: int, used: int) -> Json:
        known = facts(plan.instance_type)
        return {
            "UltraServerId": Slot(plan.pool, leaf, 0).ultraserver_id,
            "UltraServerType": known.ultraserver_type,
            "AvailabilityZone": plan.zone,
            "InstanceType": plan.instance_type,
            "TotalInstanceCount": known.ultraserver_size,
            "ConfiguredSpareInstanceCount": plan.spares,
            "AvailableInstanceCount": max(0, known.ultraserver_size - plan.spares - used),
            "InUseInstanceCount": used,
            "AvailableSpareInstanceCount": min(plan.spares, known.ultraserver_size - used),
            "UnhealthyInstanceCount": 0,
            "HealthStatus": "OK",
        }

    def _find(self, name_or_arn: str) -> TrainingPlan:
        plan = self._plans.get(name_or_arn.rpartition("/")[2])
        if plan is None:
            raise HyperPodError("ResourceNotFound", f"Training plan {name_or_arn} not found.")
        return plan
