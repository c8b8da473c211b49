"""Which topology everybody gets: design rules and every mixture of groups."""

from __future__ import annotations

from typing import Any

import pytest

from slurm_topology.core.choose import make_plan
from slurm_topology.core.model import Group, NodeRole, Partition, Severity, TopologyKind

from .clusters import V24_11, V25_11, cpu, gb200, ids, p5

TREE, BLOCK, FLAT = TopologyKind.TREE, TopologyKind.BLOCK, TopologyKind.FLAT
LOGIN = Group("login", "ml.m5.xlarge", NodeRole.LOGIN)
CONTROLLER = Group("controller", "ml.m5.xlarge", NodeRole.CONTROLLER)


@pytest.mark.parametrize(
    ("groups", "several", "one_for_all"),
    [
        ([p5()], TREE, TREE),
        ([gb200()], BLOCK, BLOCK),
        ([cpu()], FLAT, FLAT),
        ([], FLAT, FLAT),
        ([p5(), gb200()], TREE, TREE),
        ([p5(), cpu()], FLAT, TREE),
        ([gb200(), cpu()], FLAT, TREE),
        ([p5(), gb200(), cpu()], FLAT, TREE),
        ([p5(), p5("b200", instance_type="ml.p6-b200.48xlarge")], TREE, TREE),
        ([p5(), LOGIN, CONTROLLER], TREE, TREE),
        ([gb200(), LOGIN], BLOCK, BLOCK),
        ([p5(), cpu(count=0)], FLAT, TREE),
        ([p5(count=0)], TREE, TREE),
    ],
)
def test_the_default(groups: list[Group], several: TopologyKind, one_for_all: TopologyKind) -> None:
    """Per partition from 25.05 on; before, the one topology that every node can live in. Only compute groups count."""
    assert make_plan(groups, (), V25_11).default.kind is several
    assert make_plan(groups, (), V24_11).default.kind is one_for_all


def test_each_partition_by_its_own_groups() -> None:
    partitions = (
        Partition("cpu", ("cpu",)),
        Partition("dev", ("train", "ultra", "cpu", "login")),
        Partition("gpu", ("train", "ultra")),
        Partition("train", ("train",)),
        Partition("ultra", ("ultra", "login")),
        Partition("empty", ()),
    )
    plan = make_plan([p5(), gb200(), cpu(), LOGIN], partitions, V25_11)
    assert {choice.subject: choice.kind for choice in plan.partitions} == {
        "cpu": FLAT,
        "dev": FLAT,
        "empty": FLAT,
        "gpu": TREE,
        "train": TREE,
        "ultra": BLOCK,
    }
    assert [choice.subject for choice in plan.partitions] == sorted(partition.name for partition in partitions)
    assert plan.block_sizes == (18,)


def test_groups_may_name_their_partitions_instead() -> None:
    plan = make_plan([p5(partitions=("a",)), gb200(partitions=("b",))], (Partition("a"), Partition("b")), V25_11)
    assert [(choice.subject, choice.kind) for choice in plan.partitions] == [("a", TREE), ("b", BLOCK)]


def test_before_25_05_no_partition_has_a_topology_of_its_own() -> None:
    assert make_plan([p5()], (Partition("a", ("train",)),), V24_11).partitions == ()


def test_every_choice_says_why() -> None:
    plan = make_plan([p5(), cpu()], (Partition("cpu", ("cpu",)), Partition("train", ("train",))), V25_11)
    assert "cpu (ml.c5.9xlarge) has no network topology" in plan.default.reason
    assert "train (ml.p5.48xlarge) has a network path" in plan.partitions[1].reason


def test_flat_because_of_a_cpu_group_is_a_warning() -> None:
    findings = make_plan([p5(), cpu()], (), V25_11).findings
    assert [(finding.id, finding.severity) for finding in findings] == [("TOPO202", Severity.WARNING)]
    assert make_plan([cpu()], (), V25_11).findings == ()


def flat_because_of_cpu(*partitions: Partition) -> dict[str, tuple[Severity, str]]:
    findings = make_plan([p5(), gb200("ultra", ultraserver_instances=18), cpu()], partitions, V25_11).findings
    return {each.subject: (each.severity, each.remedy) for each in findings if each.id == "TOPO202"}


def test_nobody_is_told_to_do_what_is_done() -> None:
    """Each group has a partition of its own: the default only matters to partitions that the plan doesn't know."""
    own = [Partition(name, (name,)) for name in ("cpu", "train", "ultra")]
    submit = (Severity.INFO, "submit jobs that need the network to partitions train, ultra")
    assert flat_because_of_cpu(*own) == {"cluster default": submit}
    everybody = Partition("dev", ("cpu", "train", "ultra"))
    assert flat_because_of_cpu(*own, everybody) == {"cluster default": submit, "partition dev": submit}
    part = (Severity.WARNING, "put group cpu into a partition without the others")
    assert flat_because_of_cpu(own[0], own[1], everybody) == {"cluster default": part, "partition dev": part}
    mixed = Partition("some", ("cpu", "train"))
    train = (Severity.INFO, "submit jobs that need the network to partition train")
    assert flat_because_of_cpu(*own, mixed)["partition some"] == train


@pytest.mark.parametrize(
    ("facts", "size"),
    [
        ({"ultraserver_instances": 18}, 18),
        ({"ultraserver_instances": 18, "spare_instances": 1}, 17),
        ({"ultraserver_instances": 9}, 9),
        ({"ultraserver_instances": 9, "spare_instances": 1}, 8),
        ({}, 18),
        ({"ultraserver_instances": 1, "spare_instances": 5}, 1),
    ],
)
def test_the_block_size_is_the_ultraserver_without_its_spares(facts: dict[str, Any], size: int) -> None:
    """One level: a second would make slurmctld refuse jobs (see choose)."""
    assert make_plan([gb200(**facts)], (), V25_11).block_sizes == (size,)


def test_an_assumed_ultraserver_size_is_said() -> None:
    assert ids(make_plan([gb200()], (), V25_11).findings) == ["TOPO206"]
    assert ids(make_plan([gb200(ultraserver_instances=18)], (), V25_11).findings) == []


def test_two_plans_with_different_spares_in_one_partition_get_the_smaller_size() -> None:
    groups = [gb200("a", ultraserver_instances=18, spare_instances=1), gb200("b", ultraserver_instances=18)]
    plan = make_plan(groups, (Partition("all", ("a", "b")),), V25_11)
    assert plan.default.block_sizes == plan.partitions[0].block_sizes == (17,)
    assert ids(plan.findings) == ["TOPO205"]


def test_two_plans_with_different_spares_in_two_partitions_get_a_topology_each() -> None:
    groups = [gb200("a", ultraserver_instances=18, spare_instances=1), gb200("b", ultraserver_instances=18)]
    plan = make_plan(groups, (Partition("a", ("a",)), Partition("b", ("b",))), V25_11)
    assert [(choice.topology, choice.block_sizes) for choice in (plan.default, *plan.partitions)] == [
        ("block", (17,)),
        ("block", (17,)),
        ("block-18", (18,)),
    ]


def test_without_a_block_default_the_largest_size_is_called_block() -> None:
    groups = [gb200("x36", ultraserver_instances=9), gb200("x72", ultraserver_instances=18), p5()]
    plan = make_plan(groups, (Partition("a", ("x36",)), Partition("b", ("x72",))), V25_11)
    assert [(choice.topology, choice.block_sizes) for choice in plan.partitions] == [
        ("block-9", (9,)),
        ("block", (18,)),
    ]


def test_wishes_override_and_what_they_cost_is_said() -> None:
    plan = make_plan([p5(), cpu()], (Partition("cpu", ("cpu",)),), V25_11, wanted=TREE)
    assert {choice.kind for choice in (plan.default, *plan.partitions)} == {TREE}
    assert "was asked for" in plan.default.reason
    assert ids(plan.findings) == ["TOPO204"]
    assert make_plan([p5()], (), V25_11, wanted=TREE).findings == ()


def test_blocks_where_nothing_forms_ultraservers_are_a_warning() -> None:
    plan = make_plan([p5()], (), V25_11, wanted=BLOCK)
    assert [(finding.id, finding.severity) for finding in plan.findings] == [("TOPO204", Severity.WARNING)]
    assert plan.block_sizes == (1,)


@pytest.mark.parametrize("sizes", [(18,), (18, 36), (18, 72), (1, 2, 4), (17, 34, 68, 136)])
def test_wished_block_sizes(sizes: tuple[int, ...]) -> None:
    plan = make_plan([gb200()], (), V25_11, block_sizes=sizes)
    assert plan.block_sizes == sizes
    assert ids(plan.findings) == []


@pytest.mark.parametrize("sizes", [(0,), (18, 35), (18, 54), (36, 18), (18, 18), (-1,), tuple(2**k for k in range(17))])
def test_block_sizes_that_slurmctld_refuses_are_an_error(sizes: tuple[int, ...]) -> None:
    plan = make_plan([gb200(ultraserver_instances=18)], (), V25_11, block_sizes=sizes)
    assert [(finding.id, finding.severity) for finding in plan.findings] == [("TOPO203", Severity.ERROR)]
    assert plan.block_sizes == (18,)


def test_at_synth_the_version_is_unknown_and_the_plan_says_what_an_older_one_gets() -> None:
    plan = make_plan([p5(), cpu()], (Partition("cpu", ("cpu",)),), None)
    assert (plan.default.kind, len(plan.partitions)) == (FLAT, 1)
    older = next(finding for finding in plan.findings if finding.id == "TOPO201")
    assert "an older one gets tree" in older.message


def test_order_carries_no_meaning() -> None:
    groups = [p5(), cpu(), gb200(), gb200("b", ultraserver_instances=9)]
    partitions = [Partition("a", ("train", "cpu")), Partition("b", ("ultra", "b"))]
    assert make_plan(groups, partitions, None) == make_plan(groups[::-1], partitions[::-1], None)
