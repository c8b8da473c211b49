"""Follow the plan of the stack: a stack update reaches the running controller without anything being run there.

HyperPod runs lifecycle scripts once, so the plan that they brought is as old as this machine. The deployment names the
plan in force at a place that never changes (``core.plan_pointer``); it is looked at every few minutes, by ETag, and a
new plan is taken when its bytes have the SHA-256 that the pointer says.

The plan that lifecycle scripts brought is newer than the pointer while the deployment that made this machine runs: it
stays as long as that deployment announces it. A pointer that another cluster is in service with is never followed.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from slurm_topology.agent.cluster import cluster_arn, cluster_names, region_of
from slurm_topology.agent.state import CloudMemory
from slurm_topology.core import plan_document, plan_pointer
from slurm_topology.core.errors import AwsError, InputError
from slurm_topology.deadline import run_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurm_topology.agent.world import World
    from slurm_topology.aws import Patience

__all__ = ["BUDGET_SECONDS", "LOOK_SECONDS", "SUBJECT", "after_failure", "renew"]

SUBJECT = "plan"  # of the finding, when S3 can't be asked
LOOK_SECONDS = 240.0  # a deployment takes minutes; a look costs half a second of CPU, for the SDK's start
BUDGET_SECONDS = 5.0  # a trigger that comes meanwhile waits so long at most


class _Own(NamedTuple):
    """Where this machine's plan says that the pointer is, the SHA-256 of that plan, the cluster's names."""

    pointer: str
    plan_sha256: str
    cluster_names: frozenset[str]


class _News(NamedTuple):
    """``etag`` of the pointer, "" when it has to be read again; ``text`` of a new plan, None when there is none."""

    etag: str
    text: str | None = None


def renew(world: World, memory: CloudMemory, make_client: Callable[[str, str], Any]) -> CloudMemory:
    """Take the plan that the pointer names. Raises whatever the SDK raises, InputError for what it can't understand."""
    now = world.clock.now()
    if 0 <= now - memory.plan_looked_at < LOOK_SECONDS:
        return memory
    text = world.files.read_text(world.settings.plan)
    pointer, region = _pointer(text), region_of(cluster_arn(world))
    if text is None or pointer is None or region is None:
        return memory
    ours = _sha256(text)
    etag = memory.plan_etag if memory.plan_sha256 == ours else ""
    own = _Own(pointer, ours, cluster_names(world))
    look = partial(_look, own, etag, lambda: make_client("s3", region))
    news = run_within(BUDGET_SECONDS, look)
    if news.text is not None:
        plan = plan_document.load(news.text)
        world.files.write_atomically(world.settings.plan, news.text, mode=0o644)
        ours = _sha256(news.text)
        world.log.event("plan-renewed", mode=plan.mode, groups=len(plan.groups), sha256=ours)
    seen = replace(memory, plan_looked_at=now, plan_etag=news.etag, plan_sha256=ours)
    return seen.without_trouble(SUBJECT)


def after_failure(memory: CloudMemory, now: float, _: Exception) -> CloudMemory:
    """The next look is at its usual time."""
    return replace(memory, plan_looked_at=now)


def _look(own: _Own, etag: str, make_client: Callable[[], Any], remaining_seconds: Callable[[], float]) -> _News:
    from slurm_topology import aws  # most passes need no SDK

    client, patience = make_client(), aws.Patience(remaining_seconds, attempts=4)
    bucket, key = plan_pointer.split_uri(own.pointer)
    try:
        found = aws.get_if_changed(client, bucket, key, etag, patience)
    except AwsError:
        if _is_announced(own, client, patience):
            return _News("")  # no deployment has succeeded yet
        raise
    if found is None:
        return _News(etag)
    content, fresh_etag = found
    named = plan_pointer.read(content.decode(errors="replace"))
    if named.plan_sha256 == own.plan_sha256:
        return _News(fresh_etag)
    if _is_announced(own, client, patience):
        return _News("")  # the pointer is older than this plan, and follows when its deployment has succeeded
    _refuse_another_cluster(own, named.cluster)
    plan = aws.get_object(client, bucket, named.plan_key, patience)
    if hashlib.sha256(plan).hexdigest() != named.plan_sha256:
        return _News("")  # a deployment has begun to write another one: the pointer follows when it has succeeded
    return _News(fresh_etag, plan.decode())


def _is_announced(own: _Own, client: Any, patience: Patience) -> bool:
    """Whether a deployment is about to put our plan in force. An announcement that can't be read is none."""
    from slurm_topology import aws

    bucket, key = plan_pointer.split_uri(own.pointer)
    try:
        content = aws.get_object(client, bucket, plan_pointer.announced_key(key), patience)
        return plan_pointer.read(content.decode(errors="replace")).plan_sha256 == own.plan_sha256
    except (AwsError, InputError):
        return False


def _refuse_another_cluster(own: _Own, cluster: str | None) -> None:
    if cluster is None or cluster in own.cluster_names:
        return
    names = " or ".join(sorted(own.cluster_names))
    raise InputError(
        f"{own.pointer} names the plan of cluster {cluster}, expected that of {names}: "
        "it is not taken. If both are there to stay, give each stack a lifecycle bucket or prefix of its own"
    )


def _pointer(text: str | None) -> str | None:
    """Where the plan says that the pointer is; a plan that can't be read is the pass's business."""
    try:
        return None if text is None else plan_document.load(text).pointer
    except InputError:
        return None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
