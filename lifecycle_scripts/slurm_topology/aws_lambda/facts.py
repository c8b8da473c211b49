"""Facts that the properties don't have: types newer than the catalogue, and the UltraServers of training plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from slurm_topology.aws import describe_instance_types, describe_training_plan, list_ultraservers
from slurm_topology.aws.call import NOT_IN_SDK
from slurm_topology.core import read_ultraservers
from slurm_topology.core.errors import AwsError, InputError
from slurm_topology.core.instance_types import InstanceType, known_types, read_ec2_types

from .plan_before import PlanBefore
from .work import Work

__all__ = ["DEFAULT_SPARES", "UltraServerSize", "types_unknown_to_the_catalogue", "ultraserver_sizes"]

# "One spare instance per UltraServer by default" (SageMaker developer guide, UltraServers in training plans).
DEFAULT_SPARES = 1

# A plan or capacity that is over: its UltraServers aren't listed any more (botocore, enum ReservedCapacityStatus).
_OVER = frozenset({"Expired", "Failed"})


class UltraServerSize(NamedTuple):
    """``total``: instances of one UltraServer, None when nobody says; ``spares``: of those, kept back by the plan."""

    total: int | None
    spares: int


def types_unknown_to_the_catalogue(names: Iterable[str], before: PlanBefore, work: Work) -> Mapping[str, InstanceType]:
    """What EC2 says about the types that the catalogue doesn't know: one call for all of them, none for none."""
    unknown = sorted({name for name in names if name not in known_types()})
    if not unknown:
        return {}
    work.step("asking EC2 about instance types that are newer than the catalogue")
    names = [name.removeprefix("ml.") for name in unknown]
    try:
        found = read_ec2_types(describe_instance_types(work.client("ec2"), names, work.patience))
    except (AwsError, InputError) as error:
        known = before.types(set(unknown))
        if known is None:
            raise
        work.log.warning("instance types as in the plan before", types=unknown, reason=str(error))
        return known
    work.log.info("instance types asked", unknown=unknown, found=sorted(found))
    return found


def ultraserver_sizes(arns: Iterable[str], before: PlanBefore, work: Work) -> dict[str, UltraServerSize]:
    """Training plan ARN → the size that every one of its UltraServers can fill.

    A plan that is missing or over raises InputError: HyperPod would find it out after twenty minutes. Not where a plan
    has been made with it before: then it is as good as it was.
    """
    sizes: dict[str, UltraServerSize] = {}
    for arn in sorted(set(arns)):
        work.step(f"asking SageMaker about training plan {_name(arn)}")
        try:
            sizes[arn] = _size(_describe(arn, work), work)
        except (AwsError, InputError) as error:
            known = before.ultraservers(arn)
            if known is None:
                raise
            sizes[arn] = UltraServerSize(*known)
            work.log.warning("UltraServers as in the plan before", arn=arn, reason=str(error))
            continue
        work.log.info("training plan asked", arn=arn, **sizes[arn]._asdict())
    return sizes


def _name(arn: str) -> str:
    return arn.rpartition("/")[2]


def _describe(arn: str, work: Work) -> dict[str, Any]:
    remedy = "correct the training plan of the group"
    try:
        plan = describe_training_plan(work.client("sagemaker"), _name(arn), work.patience)
    except AwsError as error:
        if error.code == "ResourceNotFound":
            raise InputError(f"training plan {arn} is not found in this account and region: {remedy}") from error
        raise
    if plan.get("Status") in _OVER:
        raise InputError(f"training plan {arn} is {plan['Status']}, expected an active or scheduled one: {remedy}")
    return plan


def _size(plan: Mapping[str, Any], work: Work) -> UltraServerSize:
    """From the plan's UltraServers: the fewest instances, the most spares. Before they are listed: from their type."""
    capacities = [one for one in plan.get("ReservedCapacitySummaries") or [] if _has_ultraservers(one)]
    listed = read_ultraservers.read([_list(one["ReservedCapacityArn"], work) for one in capacities])
    known = [(one.total_instances, one.spare_instances or 0) for one in listed.ultraservers if one.total_instances]
    if known:
        return UltraServerSize(min(total for total, _ in known), max(spares for _, spares in known))
    sizes = {name: size for facts in known_types().values() for name, size in facts.ultraservers}
    named = [sizes[name] for one in capacities if (name := one.get("UltraServerType")) in sizes]
    return UltraServerSize(min(named, default=None), DEFAULT_SPARES)


def _has_ultraservers(capacity: Mapping[str, Any]) -> bool:
    """Whether UltraServers of a reserved capacity can be listed. Older SDKs leave its type out."""
    kind = capacity.get("ReservedCapacityType", "UltraServer")
    return kind == "UltraServer" and capacity.get("Status") not in _OVER and bool(capacity.get("ReservedCapacityArn"))


def _list(capacity_arn: str, work: Work) -> dict[str, Any]:
    try:
        return list_ultraservers(work.client("sagemaker"), capacity_arn, work.patience)
    except AwsError as error:
        if error.code != NOT_IN_SDK:
            raise
        work.log.warning("SDK without UltraServers", reason=str(error), spares_assumed=DEFAULT_SPARES)
        return {"UltraServers": []}
