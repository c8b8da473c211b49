"""Zones, which HyperPod's file doesn't have: whom to ask, what it costs, and what comes of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.agent_lab import GB200, P5, Member, resource_config
from agent.looks import name_of, wanted
from agent.offline import SettableClock, make_world, write_members
from aws_lambda.cluster_fake import ClusterFake, FakeNode
from aws_lambda.service_fake import Refusal
from slurm_topology.agent import learning
from slurm_topology.agent.cloud import refresh
from slurm_topology.agent.missed import marks
from slurm_topology.agent.zones import Facts, cluster_nodes, whom_to_ask
from slurm_topology.core import parse_yaml, read_resource_config
from slurm_topology.core.model import Capability, Tree
from slurm_topology.core.read_resource_config import ResourceConfig

TREE = {"a": Capability.TREE, "b": Capability.TREE, "nvl": Capability.BLOCK, "cpu": Capability.NONE}
TYPES = {"a": P5, "b": P5, "nvl": GB200, "cpu": "ml.c5.xlarge"}
WEST_A, WEST_B = Facts("usw2-az1", "us-west-2a"), Facts("usw2-az2", "us-west-2b")


def members(group: str, count: int, core: str | None = "core", ultraserver: str | None = None) -> list[Member]:
    """Nodes of a group below a core of their own; None: no labels yet."""
    prefix = {"a": "10.1", "b": "10.2", "nvl": "10.3", "cpu": "10.4"}[group]

    def path(n: int) -> tuple[str, ...]:
        return () if core is None else (f"nn-{core}", f"nn-{core}-spine{n // 4}", f"nn-{core}-leaf{n // 2}")

    return [
        Member(f"{prefix}.{n // 250}.{n % 250}", f"i-{group}{n:05}", path(n), ultraserver, group) for n in range(count)
    ]


def config(*found: Sequence[Member]) -> ResourceConfig:
    every = [member for some in found for member in some]
    types = {group: TYPES[group] for group in sorted({member.group for member in every})}
    return read_resource_config.read(resource_config(every, types))


# ---- whom to ask


def test_one_instance_tells_the_zone_of_all_that_share_a_switch_with_it() -> None:
    """A network node is in one zone."""
    assert whom_to_ask(config(members("a", 500)), TREE, {}) == ["i-a00000"]
    assert whom_to_ask(config(members("a", 500)), TREE, {"i-a00007": WEST_A}) == []


def test_each_fabric_is_asked_about_once() -> None:
    found = config(members("a", 8, "x"), members("b", 8, "y"))
    assert whom_to_ask(found, TREE, {}) == ["i-a00000", "i-b00000"]
    assert whom_to_ask(found, TREE, {"i-a00003": WEST_A}) == ["i-b00000"]


def test_paths_of_any_depth_meet_in_what_they_share() -> None:
    """One only knows its leaf: another one says what is above it."""
    short = replace(members("a", 1)[0], path=("nn-core-leaf0",))
    assert whom_to_ask(config([short], members("b", 8)), TREE, {"i-b00005": WEST_A}) == []


def test_an_answer_without_a_zone_makes_the_next_one_asked() -> None:
    assert whom_to_ask(config(members("a", 3)), TREE, {"i-a00000": Facts()}) == ["i-a00001"]


def test_without_labels_one_instance_of_a_group_is_asked_until_there_are_two_zones() -> None:
    found = config(members("a", 30, None), members("b", 30, None))
    assert whom_to_ask(found, TREE, {}) == ["i-a00000", "i-b00000"]
    assert whom_to_ask(found, TREE, {"i-a00000": WEST_A, "i-b00000": WEST_A}) == []
    assert len(whom_to_ask(found, TREE, {"i-a00000": WEST_A, "i-b00000": WEST_B})) == 58


def test_each_ultraserver_node_without_a_label_is_asked_about() -> None:
    """SageMaker may know the UltraServer before HyperPod's file does."""
    assert len(whom_to_ask(config(members("nvl", 18, None)), TREE, {})) == 18
    assert whom_to_ask(config(members("nvl", 18, "core", "us-1")), TREE, {}) == ["i-nvl00000"]


def test_types_without_a_network_are_asked_about_only_where_zones_differ() -> None:
    found = config(members("cpu", 2, None), members("a", 2, "x"), members("b", 2, "y"))
    assert whom_to_ask(found, TREE, {"i-a00000": WEST_A, "i-b00000": WEST_A}) == []
    assert whom_to_ask(found, TREE, {"i-a00000": WEST_A, "i-b00000": WEST_B}) == ["i-cpu00000", "i-cpu00001"]


def test_the_controller_is_never_asked_about() -> None:
    """It is in none of the groups that compute."""
    assert whom_to_ask(config(), {}, {}) == []


# ---- what comes of it


def test_what_one_instance_tells_counts_for_its_neighbours() -> None:
    found = cluster_nodes(config(members("a", 4, "x"), members("b", 4, "y")), {"i-a00001": WEST_A})
    assert found is not None
    assert {node.instance_id: node.zone_id for node in found.nodes} == {f"i-a0000{n}": "usw2-az1" for n in range(4)}


def test_a_fabric_in_two_zones_tells_nothing_about_the_others() -> None:
    """It can't be: only what was said about each instance itself counts then."""
    found = cluster_nodes(config(members("a", 4)), {"i-a00000": WEST_A, "i-a00001": WEST_B})
    assert found is not None
    assert {node.instance_id for node in found.nodes} == {"i-a00000", "i-a00001"}


def test_nothing_known_is_nothing() -> None:
    assert cluster_nodes(config(members("a", 4)), {}) is None
    assert cluster_nodes(config(members("a", 4)), {"i-gone": WEST_A}) is None


def roots(found: Sequence[Member], facts: dict[str, Facts]) -> list[set[str]]:
    """The nodes below each root of the default tree."""
    types = {group: TYPES[group] for group in sorted({member.group for member in found})}
    result = wanted(found, types, (), cluster_nodes(config(found), facts))
    assert result.rendering.text is not None
    (tree,) = [one.body for one in parse_yaml.parse(result.rendering.text).topology.topologies if one.cluster_default]
    assert isinstance(tree, Tree)
    switches = {switch.name: switch for switch in tree.switches}
    below = {name for switch in tree.switches for name in switch.children}

    def nodes(name: str) -> set[str]:
        switch = switches[name]
        return {*switch.nodes, *(node for child in switch.children for node in nodes(child))}

    return [nodes(name) for name in switches if name not in below]


def test_two_known_zones_get_a_root_each() -> None:
    """EFA can't cross zones: a job must not either."""
    a, b = members("a", 4, "x"), members("b", 4, "y")
    assert roots([*a, *b], {"i-a00000": WEST_A, "i-b00000": WEST_B}) == [set(map(name_of, a)), set(map(name_of, b))]


@pytest.mark.parametrize(
    "facts", [{}, {"i-a00000": WEST_A}, {"i-a00000": WEST_A, "i-b00000": WEST_A}], ids=["none", "one", "the same"]
)
def test_else_there_is_one_root(facts: dict[str, Facts]) -> None:
    a, b = members("a", 4, "x"), members("b", 4, "y")
    assert roots([*a, *b], facts) == [set(map(name_of, [*a, *b]))]


# ---- asking


class Lab:
    def __init__(self, folder: Path) -> None:
        self.world, self.log = make_world(folder)
        self.sagemaker = ClusterFake()
        self.sagemaker.cluster_name = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abc"

    def has(self, *found: Sequence[Member], zones: dict[str, int]) -> None:
        """The cluster has these instances, each group in a zone."""
        every = [member for some in found for member in some]
        write_members(self.world, every, {group: TYPES[group] for group in sorted({each.group for each in every})})
        self.sagemaker.nodes = [
            FakeNode(each.instance_id, each.address, each.group, zone=zones[each.group]) for each in every
        ]

    def client(self, service: str, region: str) -> Any:
        assert (service, region) == ("sagemaker", "us-west-2")
        return self.sagemaker.client

    def refresh(self, seconds: float = 60.0) -> list[str]:
        """What follows a pass, a minute after the last one; the instances that SageMaker was asked about."""
        clock = self.world.clock
        assert isinstance(clock, SettableClock)
        clock.time += seconds
        self.sagemaker.fake.calls.clear()
        refresh(self.world, self.client)
        return self.sagemaker.described()

    @property
    def zones(self) -> dict[str, str | None]:
        return {instance: facts.zone_id for instance, facts in self.world.store().load_instances().items()}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_what_was_told_is_not_asked_again(lab: Lab) -> None:
    lab.has(members("a", 100, "x"), members("b", 100, "y"), zones={"a": 1, "b": 2})
    assert lab.refresh() == ["i-a00000", "i-b00000"]
    assert lab.zones == {"i-a00000": "usw2-az1", "i-b00000": "usw2-az2"}
    assert lab.refresh() == []
    assert lab.log.getvalue() == ""


def test_replacing_one_node_of_10000_costs_one_question_at_most(lab: Lab) -> None:
    """None below a known switch; one for the first instance below a new core."""
    found = members("a", 10_000)
    lab.has(found, zones={"a": 1})
    assert len(lab.refresh()) == 1
    found[77] = replace(found[77], instance_id="i-new1")
    lab.has(found, zones={"a": 1})
    assert lab.refresh() == []
    found[78] = replace(found[78], instance_id="i-new2", path=("nn-other", "nn-other-spine", "nn-other-leaf"))
    lab.has(found, zones={"a": 1})
    assert lab.refresh() == ["i-new2"]


def test_the_one_that_told_is_replaced_and_the_others_are_asked(lab: Lab) -> None:
    found = members("a", 10)
    lab.has(found, zones={"a": 1})
    lab.refresh()
    found[0] = replace(found[0], instance_id="i-new")
    lab.has(found, zones={"a": 1})
    assert lab.refresh() == ["i-a00001"]
    assert lab.zones.keys() == {"i-a00001"}, "instances that are gone are forgotten"


def test_nothing_new_is_nothing_read(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each minute's look must cost next to nothing."""
    lab.has(members("a", 10), zones={"a": 1})
    lab.refresh()
    lab.refresh()
    monkeypatch.setattr(learning, "whom_to_ask", None)
    assert lab.refresh() == []


def test_many_are_asked_about_in_several_rounds(lab: Lab) -> None:
    lab.has(members("nvl", 90, None), zones={"nvl": 1})
    asked = [len(lab.refresh()) for _ in range(4)]
    assert asked == [40, 40, 10, 0]


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (Refusal("AccessDeniedException", "not authorized to perform: sagemaker:DescribeClusterNode", 403), "Allow"),
        (Refusal("ThrottlingException", "Rate exceeded"), "Rate exceeded"),
    ],
    ids=["denied", "throttled"],
)
def test_a_refusal_is_said_once_and_tried_again_later(lab: Lab, failure: Refusal, said: str) -> None:
    lab.has(members("a", 10), zones={"a": 1})
    lab.sagemaker.describe_failures += [failure] * 8
    assert lab.refresh() == ["i-a00000"] * len(lab.sagemaker.described())
    assert [lab.refresh() for _ in range(4)] == [[]] * 4, "not at every pass"
    assert len(re.findall("id=AGENT040", lab.log.getvalue())) == 1
    assert said in lab.log.getvalue()
    lab.sagemaker.describe_failures.clear()
    assert lab.refresh(learning.RETRY_SECONDS) == ["i-a00000"]
    assert lab.zones == {"i-a00000": "usw2-az1"}


def test_an_instance_that_sagemaker_does_not_know_is_not_asked_about_for_ever(lab: Lab) -> None:
    found = members("a", 2)
    lab.has(found, zones={"a": 1})
    lab.sagemaker.nodes = lab.sagemaker.nodes[1:]
    assert [lab.refresh() for _ in range(3)] == [["i-a00000"], ["i-a00001"], []]


def test_a_file_that_is_no_file_is_nobodys_trouble(lab: Lab) -> None:
    """AGENT013 says it."""
    lab.world.settings.resource_config.write_text("{")
    assert lab.refresh() == []
    assert lab.log.getvalue() == ""


def test_without_hyperpod_nothing_is_asked(lab: Lab) -> None:
    assert lab.refresh() == []


def test_a_broken_memory_is_learnt_anew(lab: Lab) -> None:
    lab.has(members("a", 10), zones={"a": 1})
    lab.refresh()
    for name in ("instances.json", "cloud.json"):
        (lab.world.settings.state_folder / name).write_text('{"format": 1, "instances": 7, "troubles": 7}')
    assert lab.refresh() == ["i-a00000"]
    assert lab.zones == {"i-a00000": "usw2-az1"}


def test_the_service_notices_what_was_learnt_and_looks_again_at_once(lab: Lab) -> None:
    lab.has(members("a", 2), zones={"a": 1})
    before = marks(lab.world)
    lab.refresh()
    assert marks(lab.world) != before
    before = marks(lab.world)
    lab.refresh()
    assert marks(lab.world) == before, "and no pass is run for nothing"
