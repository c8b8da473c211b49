"""topology_plan.json: the plan and what it was made from, as the Lambda writes it into the lifecycle prefix and the
agent reads it there.

The text is canonical: equal plans are equal bytes, so that its hash says whether anything changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from .errors import InputError
from .instance_types import lookup
from .model import Capability, Choice, Finding, Group, NodeRole, Partition, Plan, Severity, TopologyKind
from .shapes import describe, items, mapping, number, text

__all__ = ["FORMAT", "PlanDocument", "PlanInputs", "dump", "load", "read_inputs"]

FORMAT = 1  # raised when an older reader would misunderstand the document


class PlanInputs(NamedTuple):
    """What a plan is made from."""

    groups: tuple[Group, ...]
    partitions: tuple[Partition, ...]
    wanted: TopologyKind | None = None  # None: the plan chooses
    block_sizes: tuple[int, ...] = ()  # (): from the UltraServers


@dataclass(frozen=True)
class PlanDocument:
    """A plan, its groups and partitions, and the user's own wishes that went into it."""

    plan: Plan
    groups: tuple[Group, ...]
    partitions: tuple[Partition, ...]
    wanted: TopologyKind | None = None
    block_sizes: tuple[int, ...] = ()
    mode: str = "own"
    slurm_version: str | None = None
    pointer: str | None = None  # S3 URI of the document that says which plan is in force (see plan_pointer)


def dump(
    plan: Plan,
    groups: Sequence[Group],
    partitions: Sequence[Partition],
    *,
    wanted: TopologyKind | None = None,
    block_sizes: tuple[int, ...] = (),
    mode: str = "own",
    slurm_version: str | None = None,
    pointer: str | None = None,
) -> str:
    """The document as JSON text with a line break at its end."""
    document = {
        "Format": FORMAT,
        "Mode": mode,
        "SlurmVersion": slurm_version,
        "Pointer": pointer,
        "Topology": {"Kind": wanted.value if wanted else "auto", "BlockSizes": list(block_sizes)},
        "Default": _choice_json(plan.default),
        "Partitions": {
            partition.name: {"Groups": sorted(partition.groups), "Topology": partition.topology}
            for partition in sorted(partitions)
        },
        "PartitionTopologies": {choice.subject: _choice_json(choice) for choice in plan.partitions},
        "BlockSizes": list(plan.block_sizes),
        "Groups": [_group_json(group) for group in sorted(groups)],
        "Findings": [_finding_json(finding) for finding in plan.findings],
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def load(document_text: str) -> PlanDocument:
    """Read what dump wrote. Raises InputError when it is no such document, or one of a later format."""
    try:
        document = mapping(json.loads(document_text), "topology_plan.json")
    except json.JSONDecodeError as error:
        raise InputError(f"topology_plan.json: not JSON: {error}") from error
    if number(document.get("Format")) != FORMAT:
        got = describe(document.get("Format"))
        raise InputError(f"topology_plan.json: expected Format {FORMAT}, got {got}; install the version that wrote it")
    choices = mapping(document.get("PartitionTopologies") or {}, "PartitionTopologies")
    plan = Plan(
        _choice("", document.get("Default")),
        tuple(_choice(name, choices[name]) for name in sorted(choices)),
        _sizes(document.get("BlockSizes"), "BlockSizes"),
        tuple(_finding(entry) for entry in items(document.get("Findings"), "Findings")),
    )
    return PlanDocument(
        plan,
        *read_inputs(document),
        mode=text(document.get("Mode")) or "own",
        slurm_version=text(document.get("SlurmVersion")),
        pointer=text(document.get("Pointer")),
    )


def read_inputs(document: object) -> PlanInputs:
    """What a plan is to be made from: a plan document, an object with its ``Groups`` alone, or a plain list of groups.

    A group without Capability gets its type's; partitions that aren't listed are those that the groups name. Raises
    InputError for a document without groups, a group without name or type, or a word that isn't known.
    """
    if isinstance(document, list | tuple):
        document = {"Groups": document}
    document = mapping(document, "plan")
    entries = items(document.get("Groups"), "Groups")
    if not entries:
        raise InputError(f"plan: expected Groups with at least one instance group, got {describe(document)}")
    groups = [_group(mapping(entry, f"Groups[{index}]"), f"Groups[{index}]") for index, entry in enumerate(entries)]
    listed = mapping(document.get("Partitions") or {}, "Partitions")
    named = {name for group in groups for name in group.partitions}
    topology = mapping(document.get("Topology") or {}, "Topology")
    kind = text(topology.get("Kind")) or "auto"
    return PlanInputs(
        tuple(sorted(groups, key=lambda group: group.name)),
        tuple(_partition(name, listed.get(name), groups) for name in sorted({*listed, *named})),
        None if kind == "auto" else _word(TopologyKind, kind, "Topology.Kind"),
        _sizes(topology.get("BlockSizes"), "Topology.BlockSizes"),
    )


def _choice_json(choice: Choice) -> dict[str, Any]:
    return {
        "Kind": choice.kind.value,
        "Topology": choice.topology,
        "Reason": choice.reason,
        "BlockSizes": list(choice.block_sizes),
    }


def _choice(subject: str, value: object) -> Choice:
    entry = mapping(value, f"choice of {subject or 'the cluster'}")
    kind = _word(TopologyKind, text(entry.get("Kind")) or "", "Kind")
    sizes = _sizes(entry.get("BlockSizes"), "BlockSizes")
    return Choice(subject, kind, text(entry.get("Topology")) or kind.value, text(entry.get("Reason")) or "", sizes)


def _group_json(group: Group) -> dict[str, Any]:
    return {
        "Name": group.name,
        "InstanceType": group.instance_type,
        "Role": group.role.value,
        "Capability": group.capability.value,
        "Partitions": sorted(group.partitions),
        "Count": group.count,
        "UltraServerInstances": group.ultraserver_instances,
        "SpareInstances": group.spare_instances,
    }


def _group(entry: Mapping[str, Any], where: str) -> Group:
    name, instance_type = text(entry.get("Name")), text(entry.get("InstanceType"))
    if name is None or instance_type is None:
        raise InputError(f"{where}: expected Name and InstanceType, got {describe(entry)}")
    facts = lookup(instance_type)
    capability = text(entry.get("Capability")) or (facts.capability.value if facts else Capability.NONE.value)
    return Group(
        name,
        instance_type,
        _word(NodeRole, text(entry.get("Role")) or NodeRole.COMPUTE.value, f"{where}.Role"),
        _word(Capability, capability, f"{where}.Capability"),
        tuple(str(partition) for partition in items(entry.get("Partitions"), f"{where}.Partitions")),
        number(entry.get("Count")),
        number(entry.get("UltraServerInstances")),
        number(entry.get("SpareInstances")) or 0,
    )


def _partition(name: str, value: object, groups: Sequence[Group]) -> Partition:
    entry = mapping(value or {}, f"Partitions.{name}")
    listed = {str(group) for group in items(entry.get("Groups"), f"Partitions.{name}.Groups")}
    naming = {group.name for group in groups if name in group.partitions}
    return Partition(name, tuple(sorted(listed | naming)), topology=text(entry.get("Topology")))


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "severity": finding.severity.value}


def _finding(value: object) -> Finding:
    entry = mapping(value, "Findings")
    severity = _word(Severity, str(entry.get("severity")), "Findings.severity")
    return Finding(
        str(entry.get("id")),
        severity,
        str(entry.get("subject")),
        str(entry.get("message")),
        str(entry.get("remedy") or ""),
    )


def _sizes(value: object, where: str) -> tuple[int, ...]:
    sizes = [number(size) for size in items(value, where)]
    if None in sizes:
        raise InputError(f"{where}: expected whole numbers, got {describe(value)}")
    return tuple(size for size in sizes if size is not None)


_Word = TypeVar("_Word", bound=Enum)


def _word(words: type[_Word], value: str, where: str) -> _Word:
    try:
        return words(value)
    except ValueError as error:
        expected = ", ".join(str(member.value) for member in words)
        raise InputError(f"{where}: expected one of {expected}, got {value!r}") from error
