"""The plan that an earlier deployment left in the prefix: what it was made from, should AWS not say it any more.

A training plan expires, and is described no longer; a call may be throttled or denied. An update that fails for it
is rolled back, and the rollback is an update, too, to a prefix whose plan is there: it must not fail for the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from slurm_topology.aws import get_object
from slurm_topology.core import plan_document
from slurm_topology.core.errors import AwsError, InputError
from slurm_topology.core.instance_types import InstanceType
from slurm_topology.core.plan_document import PlanDocument

from .cfn_request import Request, RequestType
from .plan_in_force import PLAN_NAME
from .properties import TopologyPlanProperties
from .work import Work

__all__ = ["PlanBefore"]


class PlanBefore:
    """It is read when the first question comes, and once. A resource that is being created has none."""

    def __init__(self, request: Request, properties: TopologyPlanProperties, work: Work) -> None:
        self._request, self._properties, self._work = request, properties, work

    def types(self, names: set[str]) -> Mapping[str, InstanceType] | None:
        """What is known of these types, those left out that nobody knew; None when the plan hasn't all of them."""
        plan = self._plan
        if plan is None or not names <= {group.instance_type for group in plan.groups}:
            return None
        nobody_knew = {finding.subject for finding in plan.plan.findings if finding.id == "TOPO104"}
        known = [group for group in plan.groups if group.instance_type in names and group.name not in nobody_knew]
        return {group.instance_type: InstanceType(group.instance_type, group.capability) for group in known}

    def ultraservers(self, training_plan_arn: str) -> tuple[int | None, int] | None:
        """Instances and spares of an UltraServer of the groups with this training plan; None when nothing is known."""
        groups = {group.name: group for group in self._plan.groups} if self._plan else {}
        for asked in self._properties.groups:
            group = groups.get(asked.name)
            if asked.training_plan_arn == training_plan_arn and group and group.instance_type == asked.instance_type:
                return group.ultraserver_instances, group.spare_instances
        return None

    @cached_property
    def _plan(self) -> PlanDocument | None:
        if self._request.type is not RequestType.UPDATE:
            return None
        key = f"{self._properties.lifecycle_prefix}/{PLAN_NAME}"
        patience = replace(self._work.patience, denied_attempts=1)
        try:
            content = get_object(self._work.client("s3"), self._properties.lifecycle_bucket, key, patience)
            return plan_document.load(content.decode(errors="replace"))
        except (AwsError, InputError) as error:
            self._work.log.warning("no plan from an earlier deployment", reason=str(error))
            return None
