"""EC2 as the last source: where instances sit of which HyperPod's file and SageMaker say nothing.

EC2 sees instances of the account that asks. HyperPod's own are in the service's account, so most often it sees none of
them; then, and without the permission, the agent asks a few again, after pauses that grow to a day. What is known of
an instance is never asked again. As soon as labels say where an instance is, EC2's word doesn't count any more: its ids
of switches are made for the account that asks, and two names for one switch would make two switches of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from slurm_topology.agent.cluster import cluster_arn, region_of
from slurm_topology.agent.learning import capabilities, read_config
from slurm_topology.core.errors import AwsError
from slurm_topology.core.model import Capability
from slurm_topology.core.read_instance_topology import InstanceTopology, TopologyInstance, read
from slurm_topology.deadline import run_within

if TYPE_CHECKING:
    from slurm_topology.agent.state import CloudMemory
    from slurm_topology.agent.world import World
    from slurm_topology.agent.zones import Facts
    from slurm_topology.core.instance import Instance
    from slurm_topology.core.read_resource_config import ResourceConfig

__all__ = [
    "AT_ONCE",
    "BUDGET_SECONDS",
    "LONGEST_PAUSE_SECONDS",
    "SUBJECT",
    "after_failure",
    "ask_ec2",
    "fallback",
    "whom_to_ask",
    "why_not",
]

SUBJECT = "network"  # of the finding, when EC2 can't be asked
BUDGET_SECONDS = 5.0  # a trigger that comes meanwhile waits so long at most
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 300.0, 86_400.0  # between two questions that tell nothing; it doubles
FIRST_TRIAL = 20  # instances, as long as EC2 has never seen one of this cluster
AT_ONCE = 400  # instances, when it has: four calls at the same time
STATEMENT = '{"Effect": "Allow", "Action": "ec2:DescribeInstanceTopology", "Resource": "*"}'

Known = dict[str, TopologyInstance]


def ask_ec2(world: World, memory: CloudMemory, make_client: Callable[[str, str], Any]) -> CloudMemory:
    """Ask about some instances. Raises whatever the SDK raises; ``after_failure`` says when to ask again."""
    now, mark = world.clock.now(), _mark(world)
    waits = 0 < memory.network_ask_at - now <= LONGEST_PAUSE_SECONDS
    if waits and memory.network_mark == mark:
        return memory
    config, region = read_config(world), region_of(cluster_arn(world))
    if config is None or region is None:
        return memory
    store = world.store()
    present = {instance.instance_id for instance in config.instances}
    known = {name: place for name, place in store.load_network().items() if name in present}
    wanted = whom_to_ask(config, capabilities(world, config), store.load_instances(), known)
    seen = replace(memory, network_mark=mark)
    if not wanted:
        return replace(seen, network_ask_at=now + LONGEST_PAUSE_SECONDS, network_pause=0.0).without_trouble(SUBJECT)
    if waits and memory.network_pause and (not known or SUBJECT in memory.troubles):
        return seen  # somebody is new, but EC2 has not been of any use
    some = _in_turn(wanted, memory.network_asked)[: AT_ONCE if known else FIRST_TRIAL]
    found = run_within(BUDGET_SECONDS, partial(_ask, some, lambda: make_client("ec2", region)))
    asked = replace(seen, network_asked=some[-1]).without_trouble(SUBJECT)
    if not found:
        return _paused(asked, now)
    store.save_network({**known, **found})
    return replace(asked, network_mark="", network_ask_at=0.0, network_pause=0.0)


def after_failure(memory: CloudMemory, now: float, error: Exception) -> CloudMemory:
    """The pause after EC2 couldn't be asked: a day without the permission, which comes with a deployment if ever."""
    denied = isinstance(error, AwsError) and _denied(error)
    return _paused(replace(memory, network_pause=LONGEST_PAUSE_SECONDS) if denied else memory, now)


def why_not(error: Exception) -> str:
    """The error in words; without the permission, with the statement that gives it."""
    said = str(error) or repr(error)
    if isinstance(error, AwsError) and _denied(error):
        return f"{error.operation} is denied ({error.code}); the statement for the controllers' role: {STATEMENT}"
    return said


def _paused(memory: CloudMemory, now: float) -> CloudMemory:
    pause = min(max(FIRST_PAUSE_SECONDS, 2 * memory.network_pause), LONGEST_PAUSE_SECONDS)
    return replace(memory, network_pause=pause, network_ask_at=now + pause)


def whom_to_ask(
    config: ResourceConfig,
    capability: Mapping[str, Capability],
    facts: Mapping[str, Facts],
    known: Mapping[str, TopologyInstance],
) -> list[str]:
    """Ids, sorted, of the instances of a type with a network whose place neither labels nor SageMaker nor EC2 told."""
    ids = []
    for instance in config.instances:
        kind, instance_id = capability.get(instance.group, Capability.NONE), instance.instance_id
        if instance_id is None or kind is Capability.NONE:
            continue
        by_sagemaker, by_ec2 = facts.get(instance_id), known.get(instance_id)
        told = _labelled(instance) or (by_sagemaker is not None and by_sagemaker.ultraserver_id is not None)
        if by_ec2 is not None:  # CapacityBlockId may come minutes after the path
            told = told or kind is Capability.TREE or by_ec2.capacity_block_id is not None
        if not told:
            ids.append(instance_id)
    return sorted(ids)


def fallback(config: ResourceConfig, known: Mapping[str, TopologyInstance]) -> InstanceTopology | None:
    """What EC2 said, about the instances to which no label gives a place; None when that is nothing."""
    silent = (each.instance_id or "" for each in config.instances if not _labelled(each))
    told = tuple(known[instance_id] for instance_id in silent if instance_id in known)
    return InstanceTopology(told) if told else None


def _ask(ids: list[str], make_client: Callable[[], Any], remaining_seconds: Callable[[], float]) -> Known:
    """What EC2 says of these; without those that it doesn't see, or has no place for (yet)."""
    from slurm_topology import aws  # most passes need no SDK

    patience = aws.Patience(remaining_seconds, attempts=3)
    answer = aws.describe_instance_topology(make_client(), ids, patience).answer
    found = read(answer).instances
    return {each.instance_id: each for each in found if each.network_nodes or each.capacity_block_id}


def _labelled(instance: Instance) -> bool:
    return bool(instance.placement.network_nodes) or instance.placement.ultraserver_id is not None


def _in_turn(ids: list[str], last: str) -> list[str]:
    """The ids after the last one that was asked first, so that those that EC2 never sees keep nobody waiting."""
    return sorted(ids, key=lambda each: (each <= last, each))


def _denied(error: AwsError) -> bool:
    from slurm_topology import aws

    return error.code in aws.DENIED


def _mark(world: World) -> str:
    """Changes when there may be somebody new to ask about, or something new was learnt."""
    files, settings = world.files, world.settings
    learnt = settings.state_folder / "instances.json"
    return " ".join(str(files.signature(path)) for path in (settings.resource_config, settings.plan, learnt))
