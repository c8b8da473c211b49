"""Rules about one instance group at a time. Ids HPS020 to HPS049."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from slurm_topology.core.instance_types import is_type_name, lookup
from slurm_topology.core.model import Capability, Finding

from ._rules import error, is_name, warning
from ._spec import ClusterSpec, facts
from ._tokens import known_number, known_text
from .instance_group import DeepHealthCheck

__all__ = ["RULES"]

_MOST_INSTANCES = 6758  # ClusterInstanceCount
_MOST_PARTITION_NAME = 1024  # ClusterPartitionName
_TRAINING_PLAN = re.compile(r"arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:training-plan/.+")
_IMAGE = re.compile(r"ami-[0-9a-fA-F]{8,17}|default")
# One thread a core: Graviton (a "g" after the generation) and Grace, the processor of GB200.
_ONE_THREAD = re.compile(r"ml\.([a-z]+\d+g[a-z]*|[a-z0-9]+-gb\d+)\..+")
# Types that EC2 has and SageMaker's ClusterInstanceType enum lacks, though their names suggest otherwise.
_REFUSED_FAMILIES = ("ml.p6e-gb300.", "ml.trn2u.", "ml.trn3.", "ml.p3dn.")


def group_name(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        if known_text(group.name) and not is_name(group.name):
            yield error(
                "HPS020",
                group.name,
                f"a group's name must be 1 to 63 letters, digits and inner hyphens; got {group.name!r}",
                "Choose another name.",
            )


def instance_count(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        if known_number(group.count) and not (0 <= group.count <= _MOST_INSTANCES and group.count == int(group.count)):
            yield error(
                "HPS021",
                group.name,
                f"a group has 0 to {_MOST_INSTANCES} instances; got {group.count}",
                "Split the group, or ask for less.",
            )


def min_count(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.compute_groups:
        if not known_number(group.min_count) or not known_number(group.count):
            continue
        if not 0 <= group.min_count <= group.count:
            yield error(
                "HPS022",
                group.name,
                f"min_count must be 0 to count ({group.count}); got {group.min_count}",
                "Lower min_count, or leave it out.",
            )


def type_is_accepted(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        name = group.type_name
        if known_text(name) and (not is_type_name(name) or name.startswith(_REFUSED_FAMILIES)):
            yield error(
                "HPS023",
                group.name,
                f"HyperPod does not accept the instance type {name!r}",
                "Use a constant of ClusterInstanceType.",
            )


def type_is_known(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        name = group.type_name
        if not known_text(name) or not is_type_name(name) or name.startswith(_REFUSED_FAMILIES):
            continue
        if lookup(name) is None:
            yield warning(
                "HPS024",
                group.name,
                f"this version does not know {name}, so the plan here may differ from the one that is deployed",
                "Check the spelling; the deployment asks EC2 what the type's network can do.",
            )


def partition_name(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.compute_groups:
        name = group.partition  # without one, the partition has the group's name, which HPS020 looks at
        if known_text(name) and not is_name(name, _MOST_PARTITION_NAME):
            yield error(
                "HPS025",
                group.name,
                f"a partition's name must be letters, digits and inner hyphens; got {name!r}",
                "Choose another partition.",
            )


def partition_default(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.compute_groups:
        if known_text(group.partition_name) and group.partition_name.upper() == "DEFAULT":
            yield error(
                "HPS026",
                group.name,
                "slurm.conf takes PartitionName=DEFAULT for defaults of the lines after it, not for a partition",
                "Choose another partition.",
            )


def partition_dev(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.compute_groups:
        if group.partition_name == "dev":
            yield warning(
                "HPS027",
                group.name,
                "HyperPod makes a partition named dev of all nodes; got a group that asks for one of that name",
                "Choose another partition.",
            )


def threads_per_core(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        threads = group.threads_per_core
        if not known_number(threads):
            continue
        most = 1 if known_text(group.type_name) and _ONE_THREAD.fullmatch(group.type_name) else 2
        if threads not in range(1, most + 1):
            yield error(
                "HPS028",
                group.name,
                f"threads_per_core must be {'1' if most == 1 else '1 or 2'} on {group.type_name}; got {threads}",
                "Leave it out: the instance type decides.",
            )


def image(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        if known_text(group.image_id) and _IMAGE.fullmatch(group.image_id) is None:
            yield error(
                "HPS029",
                group.name,
                f"image_id must be an AMI's id, or 'default'; got {group.image_id!r}",
                "Leave it out: the newest HyperPod AMI is used.",
            )


def training_plan(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.compute_groups:
        arn = group.capacity.training_plan_arn
        if known_text(arn) and _TRAINING_PLAN.fullmatch(arn) is None:
            yield error(
                "HPS030",
                group.name,
                f"a training plan is named by its ARN, arn:…:training-plan/…; got {arn!r}",
                "See `aws sagemaker list-training-plans`.",
            )


def ultraserver_needs_plan(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.compute_groups:
        known = facts(group)
        if known and known.capability is Capability.BLOCK and group.capacity.training_plan_arn is None:
            yield warning(
                "HPS031",
                group.name,
                f"{known.name} comes in UltraServers, which are reserved by training plans; got none",
                "Set capacity=Capacity.training_plan(arn).",
            )


def ultraserver_count(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.compute_groups:
        known = facts(group)
        if not known or not known.largest_ultraserver or not known_number(group.count) or not group.count:
            continue
        sizes = sorted({size - spare for _, size in known.ultraservers for spare in (0, 1)}, reverse=True)
        if all(group.count % size for size in sizes):
            yield warning(
                "HPS032",
                group.name,
                f"UltraServers are filled one at a time, {_either(sizes)} instances each; "
                f"got {group.count}, so that one block stays short",
                "Ask for a multiple.",
            )


def ultraservers_mixed(spec: ClusterSpec) -> Iterator[Finding]:
    kinds: dict[str, dict[Capability, str]] = {}
    for group in spec.compute_groups:
        known = facts(group)
        if known and known_text(group.partition_name):
            kinds.setdefault(group.partition_name, {})[known.capability] = group.name
    for partition, names in kinds.items():
        if Capability.BLOCK in names and len(names) > 1:
            others = ", ".join(name for kind, name in names.items() if kind is not Capability.BLOCK)
            yield warning(
                "HPS033",
                partition,
                f"the UltraServers of {names[Capability.BLOCK]} share a partition with {others}: "
                "the partition gets no blocks, and jobs may span UltraServers that fit into one",
                "Give UltraServers a partition of their own.",
            )


def deep_health_checks_once(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.compute_groups:
        repeated = [check.value for check, count in Counter(group.deep_health_checks).items() if count > 1]
        if repeated:
            yield error(
                "HPS034",
                group.name,
                f"each deep health check can be named once; got {', '.join(repeated)} more often",
                f"Name each of {_either([check.value for check in DeepHealthCheck])} at most once.",
            )


def deep_health_checks_need_accelerators(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.compute_groups:
        known = facts(group)
        if group.deep_health_checks and known and known.accelerators == 0:
            yield error(
                "HPS035",
                group.name,
                f"deep health checks test GPUs and Trainium chips; got {known.name}, which has none",
                "Leave deep_health_checks out.",
            )


def _either(values: list[int] | list[str]) -> str:
    texts = [str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


RULES: tuple[Callable[[ClusterSpec], Iterator[Finding]], ...] = (
    group_name,
    instance_count,
    min_count,
    type_is_accepted,
    type_is_known,
    partition_name,
    partition_default,
    partition_dev,
    threads_per_core,
    image,
    training_plan,
    ultraserver_needs_plan,
    ultraserver_count,
    ultraservers_mixed,
    deep_health_checks_once,
    deep_health_checks_need_accelerators,
)
