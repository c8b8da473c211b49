"""A stack update reaches a running controller: the pointer in the lifecycle bucket names the plan that is in force."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.offline import SettableClock, make_world, write_members
from aws_lambda.s3_fake import S3Fake
from slurm_topology.agent import renewal
from slurm_topology.agent.cloud import refresh
from slurm_topology.agent.world import World
from slurm_topology.core import plan_document
from slurm_topology.core.choose import make_plan
from slurm_topology.core.model import Capability, Group, NodeRole, Partition
from slurm_topology.core.plan_pointer import PlanPointer, dump

BUCKET, POINTER = "sagemaker-lifecycle", "hyperpod-slurm/c8/current.json"
GROUPS = (
    Group("controller", "ml.m5.xlarge", NodeRole.CONTROLLER),
    Group("train", "ml.p5.48xlarge", NodeRole.COMPUTE, Capability.TREE, ("dev",)),
)


def plan_text(mode: str = "own", **changes: Any) -> str:
    partitions = (Partition("dev", ("train",)),)
    plan = make_plan(GROUPS, partitions, None)
    pointer = f"s3://{BUCKET}/{POINTER}"
    return plan_document.dump(plan, GROUPS, partitions, mode=mode, **{"pointer": pointer, **changes})


class Cloud:
    """The bucket, as a deployment leaves it."""

    def __init__(self) -> None:
        self.s3 = S3Fake()

    def deploy(self, text: str, prefix: str = "0123", sha256: str | None = None) -> None:
        key = f"hyperpod-slurm/c8/{prefix}/topology_plan.json"
        self.s3.objects[BUCKET, key] = (text.encode(), {})
        pointer = PlanPointer(key, sha256 or hashlib.sha256(text.encode()).hexdigest())
        self.s3.objects[BUCKET, POINTER] = (dump(pointer).encode(), {})

    def client(self, service: str, region: str) -> Any:
        assert (service, region) == ("s3", "us-west-2"), "nobody is asked about instances: all their types have none"
        return self.s3.client

    @property
    def read(self) -> list[str]:
        """Keys of the GetObject calls since the last look here."""
        keys = [parameters["Key"] for _, parameters in self.s3.fake.calls]
        self.s3.fake.calls.clear()
        return keys


class Lab:
    def __init__(self, folder: Path) -> None:
        self.world, self.log = make_world(folder)
        self.cloud = Cloud()
        write_members(self.world, [], {})
        self.install(plan_text())
        self.cloud.deploy(plan_text())

    def install(self, text: str) -> None:
        """What the lifecycle script does."""
        self.world.settings.plan.parent.mkdir(exist_ok=True)
        self.world.settings.plan.write_text(text)

    def later(self, seconds: float = renewal.LOOK_SECONDS) -> None:
        """After that time: what the agent does after a pass."""
        clock = self.world.clock
        assert isinstance(clock, SettableClock)
        clock.time += seconds
        refresh(self.world, self.cloud.client)

    @property
    def plan(self) -> str:
        return self.world.settings.plan.read_text()


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_an_update_of_the_stack_is_taken(lab: Lab) -> None:
    lab.cloud.deploy(plan_text("observe"), "4567")
    lab.later()
    assert lab.plan == plan_text("observe")
    assert "event=plan-renewed" in lab.log.getvalue()
    assert "mode=observe" in lab.log.getvalue()
    assert lab.world.settings.plan.stat().st_mode & 0o777 == 0o644


def test_looking_costs_one_small_question_every_few_minutes(lab: Lab) -> None:
    """With the pointer as it was, S3 answers 304 without a body."""
    lab.later()
    assert lab.cloud.read == [POINTER]
    for _ in range(3):
        lab.later(60)
    assert lab.cloud.read == []
    lab.later(60)
    (call,) = [parameters for _, parameters in lab.cloud.s3.fake.calls]
    assert call["IfNoneMatch"]
    assert lab.log.getvalue() == ""


def test_a_plan_from_the_lifecycle_script_is_held_against_the_pointer_again(lab: Lab) -> None:
    """A controller that is re-made in the middle of an update that is rolled back has that update's plan."""
    lab.later()
    lab.install(plan_text("observe"))
    lab.later()
    assert lab.plan == plan_text()


def test_a_plan_that_is_not_the_one_that_the_pointer_names_is_not_taken(lab: Lab) -> None:
    """A scale writes the plan in place, before the pointer: the deployment is under way. The next look sees its end."""
    lab.cloud.deploy(plan_text("observe"), sha256="ab" * 32)
    lab.later()
    assert lab.plan == plan_text()
    lab.cloud.deploy(plan_text("observe"))
    lab.later()
    assert lab.plan == plan_text("observe")
    assert "AGENT040" not in lab.log.getvalue()


@pytest.mark.parametrize("content", ["", "[]", '{"Format": 9}', plan_text().replace('"Format": 1', '"Format": 9')])
def test_a_plan_that_this_agent_does_not_understand_is_not_taken(lab: Lab, content: str) -> None:
    lab.cloud.deploy(content)
    lab.later()
    assert lab.plan == plan_text()
    assert "id=AGENT040" in lab.log.getvalue()


def test_without_permission_it_goes_on_and_says_so_once(lab: Lab) -> None:
    lab.cloud.s3.denied.add("GetObject")
    for _ in range(4):
        lab.later()
    assert lab.log.getvalue().count("id=AGENT040") == 1
    assert "s3:GetObject" in lab.log.getvalue()
    lab.cloud.s3.denied.clear()
    lab.cloud.deploy(plan_text("repair"))
    lab.later()
    assert lab.plan == plan_text("repair")


@pytest.mark.parametrize("text", [plan_text(pointer=None), "", "{"])
def test_without_a_pointer_nothing_is_asked(lab: Lab, text: str) -> None:
    """A plan that was made without a deployment, or one that can't be read (AGENT014 says that)."""
    lab.install(text)
    lab.later()
    assert lab.cloud.read == []
    assert lab.plan == text


def test_without_a_plan_nothing_is_asked(lab: Lab) -> None:
    lab.world.settings.plan.unlink()
    lab.later()
    assert lab.cloud.read == []


@pytest.mark.parametrize("error", [ImportError("x"), SyntaxError("y"), RuntimeError("z"), MemoryError()])
def test_an_sdk_that_fails_in_any_way_is_a_finding(lab: Lab, error: Exception) -> None:
    def broken(service: str, region: str) -> Any:
        raise error

    refresh(lab.world, broken)
    assert "id=AGENT040" in lab.log.getvalue()


@pytest.fixture
def hanging() -> Iterator[Any]:
    """A client that never answers, until the test is over."""
    over = threading.Event()

    def client(service: str, region: str) -> Any:
        over.wait(60)
        raise RuntimeError("over")

    yield client
    over.set()


def test_an_aws_that_hangs_is_left(lab: Lab, hanging: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "BUDGET_SECONDS", 0.01)
    refresh(lab.world, hanging)
    assert "not done after" in lab.log.getvalue()


def test_a_clock_that_jumps_back_does_not_stop_the_looking(lab: Lab) -> None:
    lab.later()
    lab.cloud.deploy(plan_text("observe"))
    lab.later(-1e6)
    assert lab.plan == plan_text("observe")


def test_a_disk_that_is_full_leaves_the_plan_whole(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    lab.cloud.deploy(plan_text("observe"))
    monkeypatch.setattr(type(lab.world.files), "_write", full)
    lab.later()
    assert lab.plan == plan_text()
    assert isinstance(lab.log, io.StringIO)
    assert isinstance(lab.world, World)
