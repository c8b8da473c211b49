"""Tells running agents which plan is in force, and which one is on its way (``core.plan_pointer``)."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from slurm_topology.aws import get_object, put_if_changed
from slurm_topology.core import plan_pointer
from slurm_topology.core.errors import AwsError, InputError
from slurm_topology.core.plan_pointer import PlanPointer, announced_key, pointer_key

from .work import Work

__all__ = ["PLAN_NAME", "announce", "is_in_force", "put_in_force"]

PLAN_NAME = "topology_plan.json"


def announce(bucket: str, prefix: str, plan: bytes, work: Work) -> None:
    """A deployment brings this plan: controllers that it makes keep it, whatever the pointer says meanwhile."""
    work.step("announcing the topology plan")
    _put(bucket, announced_key(pointer_key(prefix)), _pointer(prefix, plan), work)


def put_in_force(bucket: str, prefix: str, plan: bytes, cluster: str, work: Work) -> None:
    """The cluster is in service with this plan: from now on running agents follow it."""
    work.step("telling running agents about the plan")
    key, pointer = pointer_key(prefix), _pointer(prefix, plan)._replace(cluster=cluster)
    written = _put(bucket, key, pointer, work)
    work.log.info("pointer names the plan", key=key, plan=pointer.plan_key, written=written)


def is_in_force(bucket: str, prefix: str, plan: bytes, work: Work) -> bool:
    """Whether the pointer names this very plan already. False when nobody can tell."""
    try:
        patience = replace(work.patience, denied_attempts=1)
        content = get_object(work.client("s3"), bucket, pointer_key(prefix), patience)
        named = plan_pointer.read(content.decode(errors="replace"))
    except (AwsError, InputError) as error:
        work.log.warning("the plan in force is not known", reason=str(error))
        return False
    return named._replace(cluster=None) == _pointer(prefix, plan)


def _pointer(prefix: str, plan: bytes) -> PlanPointer:
    return PlanPointer(f"{prefix}/{PLAN_NAME}", hashlib.sha256(plan).hexdigest())


def _put(bucket: str, key: str, pointer: PlanPointer, work: Work) -> bool:
    content = plan_pointer.dump(pointer).encode()
    return put_if_changed(work.client("s3"), bucket, key, content, "application/json", work.patience)
