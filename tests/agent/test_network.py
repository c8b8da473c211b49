"""EC2 as the last source of places: whom it is asked about, what that costs, and what comes of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.agent_lab import GB200, P5, Member, resource_config
from agent.looks import observe
from agent.offline import SettableClock, make_world, write_members
from aws_lambda.service_fake import Refusal, ServiceFake
from slurm_topology.agent import network
from slurm_topology.agent.cloud import refresh
from slurm_topology.agent.compute import compute
from slurm_topology.agent.missed import marks
from slurm_topology.agent.network import fallback, whom_to_ask
from slurm_topology.agent.zones import Facts
from slurm_topology.core import read_instance_topology, read_resource_config
from slurm_topology.core.model import Capability, Placement
from slurm_topology.core.read_instance_topology import TopologyInstance

TYPES = {"a": P5, "nvl": GB200, "cpu": "ml.c5.xlarge"}
KINDS = {"a": Capability.TREE, "nvl": Capability.BLOCK, "cpu": Capability.NONE}
# as the API reference shows an answer, CapacityBlockId with it
RECORDED = {
    "Instances": [
        {
            "InstanceId": "i-a00000",
            "InstanceType": "p5.48xlarge",
            "NetworkNodes": ["nn-1111111111example", "nn-2222222222example", "nn-3333333333example"],
            "ZoneId": "usw2-az2",
            "AvailabilityZone": "us-west-2a",
        },
        {
            "InstanceId": "i-nvl00000",
            "InstanceType": "p6e-gb200.36xlarge",
            "NetworkNodes": ["nn-1111111111example", "nn-4444444444example", "nn-5555555555example"],
            "CapacityBlockId": "null",
            "ZoneId": "usw2-az2",
            "AvailabilityZone": "us-west-2a",
        },
    ]
}


def member(number: int, group: str = "a", path: tuple[str, ...] = (), ultraserver: str | None = None) -> Member:
    prefix = {"a": "10.1", "nvl": "10.3", "cpu": "10.4"}[group]
    return Member(f"{prefix}.{number // 250}.{number % 250}", f"i-{group}{number:05}", path, ultraserver, group)


def config(found: Sequence[Member]) -> read_resource_config.ResourceConfig:
    return read_resource_config.read(resource_config(list(found), TYPES))


def placed(instance_id: str, *path: str, block: str | None = None) -> dict[str, TopologyInstance]:
    return {instance_id: TopologyInstance(instance_id, None, None, path, block, "usw2-az2", "us-west-2a")}


# ---- whom to ask


@pytest.mark.parametrize(
    ("one", "facts", "known", "asked"),
    [
        (member(0), {}, {}, True),
        (member(0, path=("c", "s", "l")), {}, {}, False),
        (member(0), {"i-a00000": Facts("usw2-az1")}, {}, True),  # SageMaker knows zones, not networks
        (member(0), {}, placed("i-a00000", "c", "l"), False),
        (member(0, "cpu"), {}, {}, False),
        (member(0, "nvl"), {}, {}, True),
        (member(0, "nvl", ultraserver="us-1"), {}, {}, False),
        (member(0, "nvl"), {"i-nvl00000": Facts(ultraserver_id="us-1")}, {}, False),
        (member(0, "nvl"), {}, placed("i-nvl00000", "c", "l"), True),  # CapacityBlockId comes later
        (member(0, "nvl"), {}, placed("i-nvl00000", "c", "l", block="cb-1"), False),
    ],
)
def test_only_those_that_no_other_source_places_are_asked_about(
    one: Member, facts: dict[str, Facts], known: dict[str, TopologyInstance], asked: bool
) -> None:
    assert bool(whom_to_ask(config([one]), KINDS, facts, known)) is asked


# ---- what comes of it


def placements(found: Sequence[Member], known: dict[str, TopologyInstance]) -> dict[str | None, Placement]:
    seen = replace(observe(list(found), TYPES, (), None), instance_topology=fallback(config(found), known))
    wanted = compute(seen, {}, opt_out=False)
    assert wanted is not None
    assert not [finding for finding in wanted.findings if finding.id == "TOPO109"], "no disagreement"
    return {node.instance_id: node.placement for node in wanted.inventory.nodes}


def test_an_instance_without_labels_sits_where_ec2_says() -> None:
    found = placements([member(0), member(1)], placed("i-a00000", "c", "s", "l"))
    assert found == {"i-a00000": Placement(("c", "s", "l"), None, "usw2-az2"), "i-a00001": Placement()}


def test_labels_beat_what_ec2_said_before_they_came() -> None:
    """EC2's ids are made for the account that asks: they name the same switch otherwise."""
    labelled = member(0, path=("C", "S", "L"))
    assert placements([labelled], placed("i-a00000", "c", "s", "l"))["i-a00000"].network_nodes == ("C", "S", "L")
    assert fallback(config([labelled]), placed("i-a00000", "c", "s", "l")) is None


def test_an_instance_that_is_gone_comes_back_by_nobody() -> None:
    assert set(placements([member(1)], placed("i-a00000", "c", "s", "l"))) == {"i-a00001"}


# ---- asking


class Lab:
    """``visible``: the ids that EC2 sees; ``failures``: what it answers first."""

    def __init__(self, folder: Path) -> None:
        self.world, self.log = make_world(folder)
        self.visible: set[str] = set()
        self.failures: list[Refusal] = []
        self.ec2 = ServiceFake("ec2", {"DescribeInstanceTopology": self._topology})
        self.sagemaker = ServiceFake("sagemaker", {"DescribeClusterNode": self._no_node})

    def _topology(self, InstanceIds: list[str]) -> dict[str, Any]:  # noqa: N803
        if self.failures:
            raise self.failures.pop(0)
        unknown = [each for each in InstanceIds if each not in self.visible]
        if unknown:
            raise Refusal("InvalidInstanceID.NotFound", f"The instance IDs '{', '.join(unknown)}' do not exist")
        example = dict(RECORDED["Instances"][0])
        return {"Instances": [{**example, "InstanceId": each} for each in InstanceIds]}

    @staticmethod
    def _no_node(**_: Any) -> dict[str, Any]:
        raise Refusal("ResourceNotFound")

    def has(self, found: Sequence[Member]) -> None:
        write_members(
            self.world, list(found), {group: TYPES[group] for group in sorted({each.group for each in found})}
        )

    def client(self, service: str, region: str) -> Any:
        assert region == "us-west-2"
        return {"ec2": self.ec2, "sagemaker": self.sagemaker}[service].client

    def refresh(self, seconds: float = 60.0) -> list[int]:
        """What follows a pass, so many seconds after the last one; the number of ids of each call to EC2."""
        clock = self.world.clock
        assert isinstance(clock, SettableClock)
        clock.time += seconds
        self.ec2.calls.clear()
        refresh(self.world, self.client)
        return [len(parameters["InstanceIds"]) for _, parameters in self.ec2.calls]

    @property
    def known(self) -> set[str]:
        return set(self.world.store().load_network())


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def ids(found: Sequence[Member]) -> set[str]:
    return {each.instance_id for each in found}


def test_with_labels_ec2_is_never_asked(lab: Lab) -> None:
    lab.has([member(n, path=("c", "s", f"l{n}")) for n in range(50)])
    assert lab.refresh() == []
    assert "network" not in lab.log.getvalue()


def test_replacing_one_node_of_10000_costs_one_call(lab: Lab) -> None:
    """All of a cluster without labels are known after some passes; then only the new one is asked about."""
    found = [member(n) for n in range(10_000)]
    lab.visible = ids(found)
    lab.has(found)
    asked = []
    while calls := lab.refresh():
        asked += calls
    assert (sum(asked), max(asked), lab.known) == (10_000, 100, lab.visible)
    found[77] = replace(found[77], instance_id="i-new")
    lab.visible = ids(found)
    lab.has(found)
    assert lab.refresh() == [1]
    assert lab.known == ids(found), "the one that is gone is forgotten"
    assert lab.refresh() == []


def test_one_node_of_10000_with_labels_is_replaced(lab: Lab) -> None:
    """EC2 sees none of HyperPod's instances: one call at most, until the labels are there."""
    found = [member(n, path=("c", f"s{n // 256}", f"l{n // 16}")) for n in range(10_000)]
    lab.has(found)
    assert lab.refresh() == []
    labelled = found[77]
    found[77] = replace(member(77), instance_id="i-new")
    lab.has(found)
    assert [lab.refresh() for _ in range(4)] == [[1], [], [], []]
    found[77] = replace(labelled, instance_id="i-new")
    lab.has(found)
    assert lab.refresh(network.LONGEST_PAUSE_SECONDS) == []


def test_what_ec2_does_not_see_is_asked_about_after_growing_pauses(lab: Lab) -> None:
    lab.has([member(n) for n in range(300)])
    days = 10
    calls = sum(len(lab.refresh(600.0)) for _ in range(144 * days))
    assert calls <= 9 + days
    assert "AGENT040" not in lab.log.getvalue(), "EC2's blindness is no fault"


def test_those_that_ec2_never_sees_keep_nobody_waiting(lab: Lab) -> None:
    found = [member(n) for n in range(2 * network.FIRST_TRIAL)]
    lab.visible = ids(found[network.FIRST_TRIAL :])
    lab.has(found)
    lab.refresh()
    assert lab.known == set()
    lab.refresh(network.FIRST_PAUSE_SECONDS)
    assert lab.known == lab.visible


def test_without_the_permission_it_is_said_once_and_asked_once_a_day(lab: Lab) -> None:
    lab.has([member(n) for n in range(300)])
    denied = Refusal("UnauthorizedOperation", "You are not authorized to perform this operation.", 403)
    lab.failures += [denied] * 1000
    calls = sum(len(lab.refresh(600.0)) for _ in range(144 * 3))
    assert calls <= 4
    assert lab.log.getvalue().count("id=AGENT040") == 1
    assert '"Action": "ec2:DescribeInstanceTopology"' in lab.log.getvalue().replace('\\"', '"')
    lab.failures.clear()
    lab.visible = ids([member(n) for n in range(300)])
    lab.refresh(network.LONGEST_PAUSE_SECONDS)
    assert lab.known
    assert lab.world.store().load_cloud().troubles == {}


def test_a_throttled_question_is_asked_again_later(lab: Lab) -> None:
    lab.has([member(0)])
    lab.visible = {"i-a00000"}
    lab.failures += [Refusal("RequestLimitExceeded", "Request limit exceeded.", 503)] * 50
    assert len(lab.refresh()) <= 3
    lab.failures.clear()
    assert lab.refresh() == []
    assert lab.refresh(network.FIRST_PAUSE_SECONDS) == [1]


def test_an_ec2_that_cannot_be_reached_is_left_and_asked_ever_more_seldom(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed network has no way to EC2."""
    over, clients = threading.Event(), []

    def hanging(service: str, region: str) -> Any:
        clients.append(service)
        over.wait(60)
        raise RuntimeError("over")

    monkeypatch.setattr(network, "BUDGET_SECONDS", 0.01)
    monkeypatch.setattr(lab, "client", lambda *asked: hanging(*asked) if asked[0] == "ec2" else lab.sagemaker.client)
    lab.has([member(0)])
    lab.refresh()
    assert "not done after" in lab.log.getvalue()
    for _ in range(144):
        lab.refresh(600.0)
    over.set()
    assert len(clients) <= 9


def test_labels_end_the_trouble(lab: Lab) -> None:
    """Though the next question would be a day away."""
    lab.has([member(0)])
    lab.failures.append(Refusal("UnauthorizedOperation", "no", 403))
    lab.refresh()
    assert set(lab.world.store().load_cloud().troubles) == {network.SUBJECT}
    lab.has([member(0, path=("c", "s", "l"))])
    lab.refresh()
    assert lab.world.store().load_cloud().troubles == {}


def test_nothing_new_is_nothing_read(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each minute's look must cost next to nothing, whatever EC2 said."""
    lab.has([member(0), member(1)])
    lab.visible = {"i-a00000"}
    for _ in range(3):
        lab.refresh()
    monkeypatch.setattr(network, "whom_to_ask", None)
    assert lab.refresh() == []


def test_what_ec2_and_sagemaker_said_lies_in_one_file_and_neither_loses_the_other(lab: Lab) -> None:
    """The service watches that file, so that it is used at once."""
    store = lab.world.store()
    store.save_instances({"i-1": Facts("usw2-az1")})
    before = marks(lab.world)
    store.save_network(placed("i-1", "c", "l", block="cb-1"))
    assert marks(lab.world) != before
    store.save_instances({"i-1": Facts("usw2-az2")})
    assert store.load_instances() == {"i-1": Facts("usw2-az2")}
    assert store.load_network() == placed("i-1", "c", "l", block="cb-1")


@pytest.mark.parametrize("broken", [7, [], {"i-1": 7}, {"i-1": [1]}, {"i-1": ["i-1", None, None, 7, None, None, None]}])
def test_a_broken_memory_is_set_aside(lab: Lab, broken: object) -> None:
    folder = lab.world.settings.state_folder
    folder.mkdir(exist_ok=True)
    (folder / "instances.json").write_text(json.dumps({"format": 1, "instances": {}, "network": broken}))
    store = lab.world.store()
    assert store.load_network() == {}
    assert [finding.id for finding in store.findings] == ["AGENT030"]


def test_a_recorded_answer_is_kept_as_it_is_read(lab: Lab) -> None:
    """CapacityBlockId "null" is unknown."""
    told = {each.instance_id: each for each in read_instance_topology.read(RECORDED).instances}
    store = lab.world.store()
    store.save_network(told)
    assert store.load_network() == told
    assert told["i-nvl00000"].capacity_block_id is None
