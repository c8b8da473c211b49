"""slurm.conf caught while its writer is at work: nothing is published from half of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from slurm_topology.agent import picture
from slurm_topology.agent.apply import Applier, Change, ConfChangedError, PausedError
from slurm_topology.agent.clock import Clock
from slurm_topology.agent.compute import compute
from slurm_topology.agent.decide import decide
from slurm_topology.agent.decision import Action, Reason
from slurm_topology.agent.disk import PLUGIN, DiskState, Step
from slurm_topology.agent.files import Files, Signature
from slurm_topology.agent.observation import Observation, Role, SlurmView
from slurm_topology.agent.rehearse import Rehearsal, Rehearser, Verdict
from slurm_topology.agent.settings import Mode, Settings
from slurm_topology.agent.shell import Shell
from slurm_topology.agent.situation import Situation
from slurm_topology.agent.slurm import Slurm
from slurm_topology.agent.slurm_conf import read_slurm_conf
from slurm_topology.agent.state import AgentState, Pause, Store
from slurm_topology.core import read_resource_config
from slurm_topology.core.errors import ApplyError
from slurm_topology.core.model import ClusterTopology, Partition
from slurm_topology.core.read_scontrol import SlurmNode
from slurm_topology.core.slurm_version import SlurmVersion

VERSION = SlurmVersion(24, 11)
NOW = 1_000_000.0
NAMES = tuple(f"ip-10-1-0-{number}" for number in range(8))
CONF = "ClusterName=x\nTopologyPlugin=topology/tree\n" + "".join(
    f"NodeName={name} NodeAddr={name[3:].replace('-', '.')}\n" for name in NAMES
)
HALF = CONF[: CONF.index("NodeName=ip-10-1-0-5")]


def members(count: int = 8) -> read_resource_config.ResourceConfig:
    def labels(number: int) -> dict[str, str]:
        return {"network-node-layer-1": "c", "network-node-layer-2": "s", "network-node-layer-3": f"l{number // 4}"}

    instances = [
        {"CustomerIpAddress": f"10.1.0.{number}", "InstanceId": f"i-{number}", "InstanceLabel": labels(number)}
        for number in range(count)
    ]
    group = {"Name": "train", "InstanceType": "ml.p5.48xlarge", "Instances": instances}
    return read_resource_config.read(json.loads(json.dumps({"InstanceGroups": [group]})))


def seen(text: str, age: float, instances: int = 8) -> Observation:
    """Slurm has all eight nodes, idle; slurm.conf was last changed ``age`` seconds ago."""
    nodes = tuple(SlurmNode(name, name[3:].replace("-", "."), states=("IDLE",)) for name in NAMES)
    partitions = (Partition("dev", nodes=NAMES),)
    view = SlurmView(VERSION, "topology/tree", "slurm", None, nodes, partitions, ClusterTopology(), "", ())
    conf = read_slurm_conf("/e/slurm.conf", lambda _: text)
    disk = DiskState(plugin="topology/tree")
    return Observation(
        NOW, Role.ACTIVE, "c", None, conf, disk, VERSION, VERSION, "slurmctld", view, members(instances), None,
        manager_active=False, conf_signatures={"/e/slurm.conf": Signature(1, 1, int((NOW - age) * 1e9))},
    )  # fmt: skip


def decided(look: Observation, **change: object) -> tuple[Action, Reason]:
    state, settings = AgentState(complete_once=True), Settings()
    wanted = compute(look, {}, opt_out=False)
    assert wanted is not None
    drawn = picture.draw(look, wanted, state)
    situation = Situation(look, wanted, None, drawn, None, state, None, settings, Mode.OWN)
    decision = decide(replace(situation, **change))  # type: ignore[arg-type]
    return decision.action, decision.reason


@pytest.mark.parametrize(
    ("text", "age", "instances", "expected"),
    [
        (CONF, 0.5, 8, (Action.NOTHING, Reason.CONF_CHANGING)),
        (HALF, 0.5, 8, (Action.NOTHING, Reason.CONF_CHANGING)),
        # quiet, but instances of the cluster that Slurm has are missing
        (HALF, 10, 8, (Action.NOTHING, Reason.CONF_AHEAD)),
        # they are gone from HyperPod's file too, or it has been so for long: it is meant
        (HALF, 10, 5, (Action.PUBLISH, Reason.CHANGED)),
        (HALF, 1000, 8, (Action.PUBLISH, Reason.CHANGED)),
        (CONF, 10, 8, (Action.PUBLISH, Reason.CHANGED)),
        # a clock that jumped back says nothing about ages
        (CONF, -5000, 8, (Action.PUBLISH, Reason.CHANGED)),
    ],
)
def test_what_is_done_with_a_young_slurm_conf(
    text: str, age: float, instances: int, expected: tuple[Action, Reason]
) -> None:
    assert decided(seen(text, age, instances)) == expected


def test_no_rescue_from_a_young_slurm_conf() -> None:
    refused = Rehearsal(Verdict.REFUSED, ("fatal",))
    down = replace(seen(HALF, 0.5), role=Role.DOWN, slurm=None)
    assert decided(down, disk_verdict=refused) == (Action.NOTHING, Reason.CONF_CHANGING)
    old = replace(seen(HALF, 10), role=Role.DOWN, slurm=None)
    assert decided(old, disk_verdict=refused) == (Action.RESCUE, Reason.DOWN_BY_TOPOLOGY)


class Willing(Rehearser):
    """Everything starts."""

    def rehearse(self, disk: DiskState, conf: object, slurmctld: str) -> Rehearsal:
        return Rehearsal(Verdict.STARTS)


def test_a_slurm_conf_that_changed_since_it_was_read_stops_the_change_before_it_begins(tmp_path: Path) -> None:
    path, files, shell = tmp_path / "slurm.conf", Files(), Shell()
    path.write_text(CONF)
    rehearser = Willing(shell, files, tmp_path, 1)
    store = Store(files, tmp_path / "state")
    applier = Applier(shell, files, Clock(), Slurm(shell, 1), store, rehearser, Settings())
    conf = read_slurm_conf(str(path), applier.read_text)
    look = replace(seen(CONF, 10), conf=conf, conf_signatures={str(path): files.signature(path)})
    path.write_text(HALF)
    with pytest.raises(ConfChangedError, match=r"slurm\.conf"):
        applier.apply(Change(DiskState("x", None, "topology/block"), None, {}, []), look)
    assert path.read_text() == HALF
    assert store.load_transaction() is None


@pytest.mark.parametrize("heed_pause", [True, False])
def test_a_pause_during_a_pass_stops_its_change_before_it_begins(tmp_path: Path, heed_pause: bool) -> None:
    """`pause` has said "paused" by then. What an operator orders himself, a roll-back, goes on to its first write."""
    path, files, shell = tmp_path / "slurm.conf", Files(), Shell()
    path.write_text(CONF)
    store = Store(files, tmp_path / "state")
    applier = Applier(shell, files, Clock(), Slurm(shell, 1), store, Willing(shell, files, tmp_path, 1), Settings())
    look = replace(seen(CONF, 10), conf=read_slurm_conf(str(path), applier.read_text), conf_signatures={})
    store.save_pause(Pause(1.0, "maintenance"))
    change = Change(DiskState("x", None, "topology/block"), None, {}, [], heed_pause=heed_pause)
    with pytest.raises(ApplyError) as caught:
        applier.apply(change, look)
    assert isinstance(caught.value, PausedError) == heed_pause
    assert (path.read_text() == CONF) == heed_pause or not heed_pause
    if heed_pause:
        assert store.load_transaction() is None


class StepClock(Clock):
    """Time passes only by sleeping, and while we sleep the other writer goes on."""

    def __init__(self, path: Path, pieces: list[str]) -> None:
        self.path, self.pieces, self.time, self.slept = path, pieces, path.stat().st_mtime, 0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept += 1
        self.time += seconds
        if self.pieces:
            with self.path.open("a") as stream:
                stream.write(self.pieces.pop(0))


def test_the_plugin_line_waits_for_the_other_writer(tmp_path: Path) -> None:
    """He holds the file open: what he writes after our rename would be lost, and slurm.conf cut for ever."""
    path, files, shell = tmp_path / "slurm.conf", Files(), Shell()
    path.write_text(HALF)
    clock = StepClock(path, [CONF[len(HALF) :]])
    rehearser, store = Willing(shell, files, tmp_path, 1), Store(files, tmp_path / "state")
    applier = Applier(shell, files, clock, Slurm(shell, 1), store, rehearser, Settings())
    conf = read_slurm_conf(str(path), applier.read_text)
    applier.write_step(Step(PLUGIN, "topology/default"), conf)
    assert path.read_text() == CONF.replace("topology/tree", "topology/default")
    waited = clock.slept
    applier.write_step(Step(PLUGIN, "topology/tree"), conf)
    assert path.read_text() == CONF
    assert clock.slept == waited, "our own write is no reason to wait"


@pytest.mark.parametrize("age", [1.0, 86_400.0])
@pytest.mark.parametrize("broken", ["NodeName=ip-10-1-0-[5-\n", "Include nodes-of-another-team.conf\n"])
def test_a_node_is_not_gone_because_its_line_could_not_be_read(broken: str, age: float) -> None:
    """Whatever the file's age: what isn't read says nothing about the nodes that it would name."""
    now = replace(seen(HALF, age), conf=read_slurm_conf("/e/slurm.conf", {"/e/slurm.conf": HALF + broken}.get))
    wanted = compute(now, {}, opt_out=False)
    assert wanted is not None
    assert {node.name for node in wanted.inventory.nodes} == set(NAMES)
    assert picture.draw(now, wanted, AgentState()).leaving == ()
