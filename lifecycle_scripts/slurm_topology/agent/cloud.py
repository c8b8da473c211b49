"""What the agent asks AWS: after a pass, for a few seconds at most, and never so that anything depends on it.

A pass works with what is known. What is learnt here lies in files that the service watches, so that it is used at
once: the plan, and the facts about instances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from slurm_topology.agent import findings, learning, network, renewal
from slurm_topology.agent.state import CloudMemory
from slurm_topology.agent.world import World

__all__ = ["MakeClient", "make_client", "refresh"]

MakeClient = Callable[[str, str], Any]  # service, region
Step = Callable[[World, CloudMemory, MakeClient], CloudMemory]

STEPS: dict[str, Step] = {
    renewal.SUBJECT: renewal.renew,
    learning.SUBJECT: learning.learn,
    network.SUBJECT: network.ask_ec2,  # the last source: after it is known what the others say
}


def refresh(world: World, make_client: MakeClient) -> None:
    """Ask what is due. Nothing is raised: what goes wrong is said once, as a finding, and tried again later."""
    try:
        store = world.store()
        memory = before = store.load_cloud()
        for subject, step in STEPS.items():
            memory = _take(subject, step, world, memory, make_client)
        if memory != before:
            store.save_cloud(memory)
    except Exception as error:
        world.log.event("cloud-not-remembered", why=repr(error))


def _take(subject: str, step: Step, world: World, memory: CloudMemory, make_client: MakeClient) -> CloudMemory:
    try:
        return step(world, memory, make_client)
    except Exception as error:  # an SDK can fail in any way
        why = network.why_not(error) if subject == network.SUBJECT else str(error) or repr(error)
        if memory.troubles.get(subject) != why:
            world.log.finding(findings.aws_not_asked(subject, why))
        return _later(world, memory, subject, why, error)


def _later(world: World, memory: CloudMemory, subject: str, why: str, error: Exception) -> CloudMemory:
    now = world.clock.now()
    troubled = replace(memory, troubles={**memory.troubles, subject: why})
    if subject == renewal.SUBJECT:
        return replace(troubled, plan_looked_at=now)
    if subject == network.SUBJECT:
        return network.after_failure(troubled, now, error)
    return replace(troubled, ask_again_at=now + learning.RETRY_SECONDS)


def make_client(service: str, region: str) -> Any:
    """By the instance's role. Impatient: what doesn't answer within seconds is asked again minutes later."""
    from slurm_topology import aws  # most passes need no SDK

    return aws.make_client(service, region, connect_seconds=2, read_seconds=4)
