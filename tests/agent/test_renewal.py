"""A stack update reaches a running controller: the pointer in the lifecycle bucket names the plan that is in force."""

from __future__ import annotations

import hashlib
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.offline import SettableClock, make_world, write_members
from aws_lambda.cluster_fake import ClusterFake, nodes
from aws_lambda.lab import Lab as Deployments
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

    def deploy(self, text: str, prefix: str = "0123", sha256: str | None = None, cluster: str | None = None) -> None:
        key = f"hyperpod-slurm/c8/{prefix}/topology_plan.json"
        self.s3.objects[BUCKET, key] = (text.encode(), {})
        pointer = PlanPointer(key, sha256 or hashlib.sha256(text.encode()).hexdigest(), cluster)
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


# ---- while a deployment runs, by the custom resources themselves

OTHER = "hyperpod-slurm/c8/4567"


class Controller(Lab):
    """A controller of cluster "lab", made when its lifecycle files were those of this prefix."""

    def __init__(self, folder: Path, stack: Deployments, prefix: str = "hyperpod-slurm/c8/0123") -> None:
        folder.mkdir()
        super().__init__(folder)
        self.cloud.s3 = stack.s3
        self.install(stack.s3.objects[BUCKET, f"{prefix}/topology_plan.json"][0].decode())

    @property
    def mode(self) -> str:
        """After some looks: what is taken is taken to stay."""
        for _ in range(3):
            self.later()
        return plan_document.load(self.plan).mode


@pytest.fixture
def stack() -> Deployments:
    """Nothing is deployed yet."""
    return Deployments(cluster=ClusterFake(nodes=nodes(4), cluster_name="lab"))


def in_service(stack: Deployments, kind: str = "Update", **changes: Any) -> None:
    """The cluster is made or updated."""
    assert stack.initial(kind, ClusterName=stack.cluster.cluster_name, **changes)["Status"] == "SUCCESS"


@pytest.mark.parametrize("succeeds", [True, False], ids=["succeeds", "is rolled back"])
@pytest.mark.parametrize("place", [{"LifecyclePrefix": OTHER}, {}], ids=["another prefix", "in place"])
def test_a_controller_keeps_the_plan_of_the_deployment_that_makes_it(
    tmp_path: Path, stack: Deployments, place: dict[str, str], succeeds: bool
) -> None:
    """Others keep theirs; when the deployment is over, all have the plan that is in force."""
    stack.plan()
    in_service(stack, "Create")
    old = Controller(tmp_path / "old", stack)
    stack.plan("Update", Mode="observe", **place)
    new = Controller(tmp_path / "new", stack, **({"prefix": OTHER} if place else {}))
    assert (old.mode, new.mode) == ("own", "observe")
    if succeeds:
        in_service(stack, **place)
    else:
        stack.plan("Update")
    late = Controller(tmp_path / "late", stack, **({"prefix": OTHER} if place else {}))
    expected = "observe" if succeeds else "own"
    assert (old.mode, new.mode, late.mode) == (expected,) * 3
    assert "AGENT040" not in old.log.getvalue() + new.log.getvalue()


@pytest.mark.parametrize("former", [None, "lab", "another"], ids=["nothing", "of this name", "of another name"])
def test_a_first_deployment_knows_no_former_one(tmp_path: Path, stack: Deployments, former: str | None) -> None:
    """Into an empty bucket, or into one that a deleted stack left its pointer in. No false alarm meanwhile, either."""
    if former:
        stack.cluster.cluster_name = former
        stack.plan()
        in_service(stack, "Create")
    stack.cluster.cluster_name = "lab"
    stack.plan(Mode="observe", LifecyclePrefix=OTHER)
    controller = Controller(tmp_path / "new", stack, OTHER)
    assert controller.mode == "observe"
    in_service(stack, "Create", LifecyclePrefix=OTHER)
    assert controller.mode == "observe"
    assert "AGENT040" not in controller.log.getvalue()


def test_a_controller_of_a_cluster_that_is_replaced_keeps_its_plan(tmp_path: Path, stack: Deployments) -> None:
    """The new one's is not its own, though it lives for some minutes more."""
    stack.cluster.cluster_name = "another"
    stack.plan()
    in_service(stack, "Create")
    stack.plan("Update", Mode="observe", LifecyclePrefix=OTHER)
    new = Controller(tmp_path / "new", stack, OTHER)
    assert new.mode == "observe"
    stack.cluster.cluster_name = "lab"
    in_service(stack, old={"ClusterName": "another"}, LifecyclePrefix=OTHER)
    assert new.mode == "observe"
    old = Controller(tmp_path / "old", stack)
    name = {"ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/xyz", "ClusterName": "another"}
    old.world.settings.resource_config.write_text(json.dumps({"ClusterConfig": name}))
    assert old.mode == "own"


@pytest.mark.parametrize(
    ("cluster", "taken"),
    [
        (None, True),
        ("lab", True),
        ("arn:aws:sagemaker:us-west-2:111122223333:cluster/abc", True),
        ("arn:aws:sagemaker:us-west-2:111122223333:cluster/xyz", False),
        ("alice", False),
    ],
)
def test_the_plan_of_another_cluster_is_not_taken(lab: Lab, cluster: str | None, taken: bool) -> None:
    """Two stacks that share a place in a bucket; it is said once, by name."""
    lab.cloud.deploy(plan_text("observe"), cluster=cluster)
    lab.later()
    lab.later()
    assert lab.plan == plan_text("observe" if taken else "own")
    assert lab.log.getvalue().count("id=AGENT040") == (0 if taken else 1)
    assert taken or f"names the plan of cluster {cluster}" in lab.log.getvalue()


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff"])
def test_an_announcement_that_cannot_be_read_is_none(lab: Lab, content: bytes) -> None:
    lab.cloud.s3.objects[BUCKET, "hyperpod-slurm/c8/announced.json"] = (content, {})
    lab.cloud.deploy(plan_text("observe"))
    lab.later()
    assert lab.plan == plan_text("observe")
