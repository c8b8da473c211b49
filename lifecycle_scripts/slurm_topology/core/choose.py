"""Which topology the cluster and each partition get, and why: a function of groups and partitions alone, before any
node exists.

Slurm ≥ 25.05, per partition and, over all compute groups, for the cluster's default:

=========================================== =====
all groups form UltraServers                block
all groups have a network topology          tree   (UltraServers among other capable types too)
any group has none                          flat   (Slurm must not prefer nodes by a network that does not exist)
=========================================== =====

Slurm < 25.05 has one topology for everybody, so it must be one that every node can live in: block when all compute
groups form UltraServers, tree when at least one group has a network (the others wait in a catch-all leaf), else flat.
Groups of count 0 count: a plan that changed its mind at the first node would change a living cluster's plugin.

Block sizes: one level, the usable instances of an UltraServer (all but the spares). A second level (base·2, …) is
written only when the user asks for it, because slurmctld refuses every job that is larger than the blocks that make
up whole aggregates: with five blocks of 17 and BlockSizes=17,34,68, -N69 is "Requested node configuration is not
available" (24.11.5, 26.05.5).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from .instance_types import lookup
from .model import Capability, Choice, Finding, Group, NodeRole, Partition, Plan, Severity, TopologyKind
from .slurm_version import SlurmVersion

__all__ = ["MAX_LEVELS", "groups_of", "make_plan", "usable_instances"]

MAX_LEVELS = 16  # slurmctld takes at most 16 block sizes

_Rule = Callable[[Sequence[Group]], tuple[TopologyKind, str]]


def make_plan(
    groups: Sequence[Group],
    partitions: Sequence[Partition],
    version: SlurmVersion | None,
    *,
    wanted: TopologyKind | None = None,
    block_sizes: tuple[int, ...] = (),
) -> Plan:
    """The plan for these groups and partitions; its partitions are sorted by name, and none on Slurm < 25.05.

    ``version`` None means unknown (at synth): the plan is for ≥ 25.05, and a finding says what an older Slurm would
    get. ``wanted`` and ``block_sizes`` are the user's own choice and override the rules; what they cost is a finding.
    """
    compute = groups_of(None, groups)
    findings = list(_bad_block_sizes(block_sizes))
    sizes = () if findings else block_sizes
    subjects = {"": compute}
    if version is None or version.has_topology_yaml:
        subjects |= {partition.name: groups_of(partition, groups) for partition in sorted(partitions)}
        rule: _Rule = _decide
    else:
        rule = _decide_for_all
    choices = [_choice(subject, members, rule, wanted, sizes) for subject, members in subjects.items()]
    for choice, members in zip(choices, subjects.values(), strict=True):
        findings += _choice_findings(choice, members, rule, sizes)
        if choice.kind is TopologyKind.FLAT and rule(members)[0] is TopologyKind.FLAT:
            findings += _flat_for_all(choice.subject, members, subjects)
    if version is None:
        findings += _older_slurm(compute, choices[0])
    named = _named_by_size(choices)
    every_size = [choice.block_sizes for choice in named if choice.block_sizes]
    return Plan(named[0], tuple(named[1:]), every_size[0] if every_size else (), tuple(sorted(set(findings))))


def groups_of(partition: Partition | None, groups: Iterable[Group]) -> list[Group]:
    """The compute groups of a partition, whichever side names the other; all of them for None. Sorted by name."""
    compute = sorted((group for group in groups if group.role is NodeRole.COMPUTE), key=lambda group: group.name)
    if partition is None:
        return compute
    return [group for group in compute if group.name in partition.groups or partition.name in group.partitions]


def _choice(
    subject: str, groups: Sequence[Group], rule: _Rule, wanted: TopologyKind | None, sizes: tuple[int, ...]
) -> Choice:
    kind, reason = rule(groups)
    if wanted is not None:
        kind, reason = wanted, f"{wanted.value} was asked for"
    block_sizes = (sizes or (usable_instances(groups) or 1,)) if kind is TopologyKind.BLOCK else ()
    return Choice(subject, kind, kind.value, reason, block_sizes)


def _decide(groups: Sequence[Group]) -> tuple[TopologyKind, str]:
    if not groups:
        return TopologyKind.FLAT, "there is no compute group"
    without = [group for group in groups if group.capability is Capability.NONE]
    if without:
        return (
            TopologyKind.FLAT,
            f"{_list(without)} has no network topology, and Slurm must not prefer nodes by one that isn't there",
        )
    blocks = [group for group in groups if group.capability is Capability.BLOCK]
    if len(blocks) == len(groups):
        return TopologyKind.BLOCK, f"every node of {_list(groups)} is in an UltraServer"
    if blocks:
        return (
            TopologyKind.TREE,
            f"{_list(blocks)} forms UltraServers but the other groups don't: a tree holds them all",
        )
    return TopologyKind.TREE, f"every node of {_list(groups)} has a network path"


def _decide_for_all(groups: Sequence[Group]) -> tuple[TopologyKind, str]:
    kind, reason = _decide(groups)
    capable = [group for group in groups if group.capability is not Capability.NONE]
    if kind is TopologyKind.FLAT and capable:
        return (
            TopologyKind.TREE,
            f"one topology for all before Slurm 25.05: a tree for {_list(capable)}, a catch-all leaf for the rest",
        )
    return kind, reason


def _list(groups: Iterable[Group]) -> str:
    return ", ".join(f"{group.name} ({group.instance_type or 'unknown type'})" for group in groups)


def usable_instances(groups: Iterable[Group]) -> int | None:
    """Nodes in the smallest of the groups' UltraServers, spares not counted; None when none of them forms any."""
    return min((_usable(group) for group in groups if group.capability is Capability.BLOCK), default=None)


def _usable(group: Group) -> int:
    return max(1, (group.ultraserver_instances or _assumed_size(group) or 1) - group.spare_instances)


def _assumed_size(group: Group) -> int | None:
    """The largest UltraServer of the type: if the real ones turn out smaller, the base is lowered to what is there."""
    facts = lookup(group.instance_type)
    return facts.largest_ultraserver if facts else None


def _named_by_size(choices: Sequence[Choice]) -> list[Choice]:
    """Block topologies of different base sizes get names of their own: "block" is the default's, or else the
    largest."""
    sizes = [choice.block_sizes for choice in choices if choice.block_sizes]
    main = choices[0].block_sizes or max(sizes, default=())
    return [
        choice._replace(topology=f"{choice.topology}-{choice.block_sizes[0]}")
        if choice.block_sizes and choice.block_sizes != main
        else choice
        for choice in choices
    ]


def _bad_block_sizes(sizes: tuple[int, ...]) -> Iterable[Finding]:
    base = sizes[0] if sizes else 1
    good = base >= 1 and all(size > 0 and size % base == 0 and (size // base).bit_count() == 1 for size in sizes)
    if not good or len(sizes) > MAX_LEVELS or list(sizes) != sorted(set(sizes)):
        yield Finding(
            "TOPO203",
            Severity.ERROR,
            "block sizes",
            f"block sizes {', '.join(map(str, sizes))}: expected up to {MAX_LEVELS} ascending numbers, each the "
            "first one times a power of two",
            "for example 18 or 18, 36, 72; or leave them out",
        )


def _choice_findings(choice: Choice, groups: Sequence[Group], rule: _Rule, sizes: tuple[int, ...]) -> Iterable[Finding]:
    subject = f"partition {choice.subject}" if choice.subject else "cluster default"
    natural, _ = rule(groups)
    blocks = [group for group in groups if group.capability is Capability.BLOCK]
    if choice.kind is not natural:
        yield Finding(
            "TOPO204",
            Severity.WARNING if choice.kind is TopologyKind.BLOCK else Severity.INFO,
            subject,
            f"{subject}: {choice.kind.value} was asked for where {natural.value} fits the instance types "
            f"({_list(groups) or 'no compute group'})",
            "leave the kind to the plan unless you mean it",
        )
    if choice.kind is TopologyKind.BLOCK and blocks:
        yield from _size_findings(subject, blocks, sizes)


def _flat_for_all(subject: str, groups: Sequence[Group], subjects: Mapping[str, Sequence[Group]]) -> Iterable[Finding]:
    """``subjects``: the compute groups of the cluster ("") and of each partition. No warning where each group that has
    a network also has a partition in which it counts: HyperPod's partition of all nodes, dev, can't be otherwise."""
    without = [group for group in groups if group.capability is Capability.NONE]
    capable = {group.name for group in groups if group.capability is not Capability.NONE}
    if not without or not capable:
        return
    better = _with_a_network(capable, {name: each for name, each in subjects.items() if name not in ("", subject)})
    told = f"partition {subject}" if subject else "cluster default"
    where = "" if subject or not better else " in partitions that aren't in this plan"
    yield Finding(
        "TOPO202",
        Severity.INFO if better else Severity.WARNING,
        told,
        f"{told}: flat, because of {_list(without)}: jobs on the other groups{where} are placed without regard to the "
        "network",
        f"submit jobs that need the network to {_these('partition', better)}"
        if better
        else f"put {_these('group', [group.name for group in without])} into a partition without the others",
    )


def _with_a_network(groups: Collection[str], partitions: Mapping[str, Sequence[Group]]) -> list[str]:
    """Partitions of capable groups alone in which all of these groups are; none when one of them is in no such."""
    good = {
        name: {group.name for group in members}
        for name, members in sorted(partitions.items())
        if all(group.capability is not Capability.NONE for group in members)
    }
    missing = set(groups).difference(*good.values())
    return [] if missing else [name for name, members in good.items() if members.intersection(groups)]


def _these(what: str, names: Sequence[str]) -> str:
    return f"{what}{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _size_findings(subject: str, blocks: Sequence[Group], sizes: tuple[int, ...]) -> Iterable[Finding]:
    usable = {group.name: _usable(group) for group in blocks}
    if len(set(usable.values())) > 1 and not sizes:
        told = ", ".join(f"{name} {size}" for name, size in sorted(usable.items()))
        yield Finding(
            "TOPO205",
            Severity.WARNING,
            subject,
            f"{subject}: UltraServers of different usable size share one block topology ({told}): its block size is "
            "the "
            f"smallest, {min(usable.values())}",
            "give each size a partition of its own",
        )
    for group in blocks:
        if group.ultraserver_instances is None and not sizes:
            yield Finding(
                "TOPO206",
                Severity.INFO,
                group.name,
                f"the UltraServer size of {group.name} ({group.instance_type}) is not known yet: "
                f"{_assumed_size(group)} is assumed, and lowered when "
                "the nodes show less",
                "known as soon as its training plan or its first nodes are",
            )


def _older_slurm(compute: Sequence[Group], default: Choice) -> Iterable[Finding]:
    kind, reason = _decide_for_all(compute)
    yield Finding(
        "TOPO201",
        Severity.INFO,
        "Slurm version",
        f"the Slurm version is not known yet: planned for 25.05 and newer (default {default.kind.value}); an older "
        f"one gets {kind.value} "
        f"for the whole cluster ({reason})",
        "the agent asks Slurm itself and plans again",
    )
