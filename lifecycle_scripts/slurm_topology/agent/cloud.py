"""What the agent asks AWS: after a pass, for a few seconds at most, and never so that anything depends on it.

A pass works with what is known. What is learnt here lies in files that the service watches, so that it is used at
once: the plan, and the facts about instances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from slurm_topology.agent import findings, learning, network, renewal
from slurm_topology.agent.state import CloudMemory
from slurm_topology.agent.world import World

__all__ = ["MakeClient", "make_client", "refresh"]

MakeClient = Callable[[str, str], Any]  # service, region


def _in_words(error: Exception) -> str:
    return str(error) or repr(error)


class Source(NamedTuple):
    """Something to ask about. ``after_failure`` says when to ask again, ``why_not`` what went wrong."""

    ask: Callable[[World, CloudMemory, MakeClient], CloudMemory]
    after_failure: Callable[[CloudMemory, float, Exception], CloudMemory]
    why_not: Callable[[Exception], str] = _in_words


SOURCES: dict[str, Source] = {
    renewal.SUBJECT: Source(renewal.renew, renewal.after_failure),
    learning.SUBJECT: Source(learning.learn, learning.after_failure),
    # the last one: after it is known what the others say
    network.SUBJECT: Source(network.ask_ec2, network.after_failure, network.why_not),
}


def refresh(world: World, make_client: MakeClient) -> None:
    """Ask what is due. Nothing is raised: what goes wrong is said once, as a finding, and tried again later."""
    try:
        store = world.store()
        memory = before = store.load_cloud()
        for subject, source in SOURCES.items():
            memory = _ask(subject, source, world, memory, make_client)
        if memory != before:
            store.save_cloud(memory)
    except Exception as error:
        world.log.event("cloud-not-remembered", why=repr(error))


def _ask(subject: str, source: Source, world: World, memory: CloudMemory, make_client: MakeClient) -> CloudMemory:
    try:
        return source.ask(world, memory, make_client)
    except Exception as error:  # an SDK can fail in any way
        why = source.why_not(error)
        if memory.troubles.get(subject) != why:
            world.log.finding(findings.aws_not_asked(subject, why))
        troubled = replace(memory, troubles={**memory.troubles, subject: why})
        return source.after_failure(troubled, world.clock.now(), error)


def make_client(service: str, region: str) -> Any:
    """By the instance's role. Impatient: what doesn't answer within seconds is asked again minutes later."""
    from slurm_topology import aws  # most passes need no SDK

    return aws.make_client(service, region, connect_seconds=2, read_seconds=4)
