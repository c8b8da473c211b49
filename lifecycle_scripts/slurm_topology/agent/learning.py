"""Learn from SageMaker what HyperPod's file doesn't say about instances (see ``zones``), and keep it.

Only instances that nothing is known about are asked about, some at a time, in a few seconds; what isn't asked now is
after the next pass. Without an answer the agent goes on with what it knows.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from slurm_topology.agent.cluster import cluster_arn, region_of
from slurm_topology.agent.planned import planned_groups
from slurm_topology.agent.state import CloudMemory
from slurm_topology.agent.zones import Facts, whom_to_ask
from slurm_topology.core import plan_document, read_cluster_nodes, read_resource_config
from slurm_topology.core.errors import InputError
from slurm_topology.core.instance_types import lookup
from slurm_topology.core.model import Capability, NodeRole
from slurm_topology.core.read_resource_config import ResourceConfig
from slurm_topology.deadline import run_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurm_topology.agent.world import World

__all__ = ["BUDGET_SECONDS", "RETRY_SECONDS", "SUBJECT", "after_failure", "capabilities", "learn", "read_config"]

SUBJECT = "instances"  # of the finding, when SageMaker can't be asked
BUDGET_SECONDS = 5.0  # a trigger that comes meanwhile waits so long at most
RETRY_SECONDS = 300.0  # after a failure
AT_ONCE = 40  # instances in one go; DescribeClusterNode is throttled at some calls a second
BATCH = 8  # what is learnt of a batch that the time ends in is lost

Known = dict[str, Facts]


def learn(world: World, memory: CloudMemory, make_client: Callable[[str, str], Any]) -> CloudMemory:
    """Ask about some instances. Raises whatever the SDK raises; what was learnt before is kept."""
    now, mark = world.clock.now(), _mark(world)
    if memory.nothing_to_ask == mark or 0 < memory.ask_again_at - now <= RETRY_SECONDS:
        return memory
    config = read_config(world)
    region = region_of(cluster_arn(world))
    if config is None or region is None:
        return memory
    store = world.store()
    before = store.load_instances()
    present = {instance.instance_id for instance in config.instances}
    known: Known = {instance_id: facts for instance_id, facts in before.items() if instance_id in present}
    wanted = whom_to_ask(config, capabilities(world, config), known)
    if not wanted:
        if known != before:
            store.save_instances(known)
        return replace(memory, nothing_to_ask=mark, ask_again_at=0.0).without_trouble(SUBJECT)
    learnt: Known = {}
    try:
        ask = partial(_ask, wanted[:AT_ONCE], cluster_arn(world), lambda: make_client("sagemaker", region), learnt)
        run_within(BUDGET_SECONDS, ask)
    finally:
        if learnt:
            store.save_instances({**known, **learnt})
    return replace(memory, ask_again_at=0.0 if learnt else now + RETRY_SECONDS).without_trouble(SUBJECT)


def after_failure(memory: CloudMemory, now: float, _: Exception) -> CloudMemory:
    """When to ask again."""
    return replace(memory, ask_again_at=now + RETRY_SECONDS)


def _ask(
    ids: list[str],
    cluster: str,
    make_client: Callable[[], Any],
    learnt: Known,
    remaining_seconds: Callable[[], float],
) -> None:
    """Fill ``learnt``, batch by batch. An instance that SageMaker doesn't know is learnt, too."""
    from slurm_topology import aws  # most passes need no SDK

    client, patience = make_client(), aws.Patience(remaining_seconds, attempts=4)
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        answers = aws.describe_cluster_nodes(client, cluster, batch, patience)
        gone = {instance_id: Facts() for instance_id in batch if instance_id not in answers}
        learnt.update(gone)
        for node in read_cluster_nodes.read(list(answers.values())).nodes:
            if node.zone_id or node.zone_name or node.ultraserver_id:  # else it is too young: ask again
                facts = Facts(node.zone_id, node.zone_name, node.ultraserver_id, node.ultraserver_type)
                learnt[node.instance_id] = facts


def _mark(world: World) -> str:
    """Changes when there may be somebody new to ask about."""
    files, settings = world.files, world.settings
    return f"{files.signature(settings.resource_config)} {files.signature(settings.plan)}"


def read_config(world: World) -> ResourceConfig | None:
    """HyperPod's file; None when it isn't there or can't be read."""
    try:
        text = world.files.read_text(world.settings.resource_config)
        return None if text is None else read_resource_config.read(json.loads(text))
    except (InputError, ValueError):
        return None  # the pass says so


def capabilities(world: World, config: ResourceConfig) -> dict[str, Capability]:
    """Of each group that computes: from the plan, else from its type (one without a network may be the controller)."""
    text = world.files.read_text(world.settings.plan)
    try:
        plan = None if text is None else plan_document.load(text)
    except InputError:
        plan = None  # the pass says so
    planned = {group.name: group for group in planned_groups(plan, config)}
    found: dict[str, Capability] = {}
    for group in config.groups:
        known = planned.get(group.name)
        facts = lookup(group.instance_type)
        if known is None and facts is not None and facts.capability is not Capability.NONE:
            found[group.name] = facts.capability
        elif known is not None and known.role is NodeRole.COMPUTE:
            found[group.name] = known.capability
    return found
