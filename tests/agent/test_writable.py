"""What the agent's unit may write: Slurm's folders wherever they are, and where the files really are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from slurm_topology.agent.clock import Clock
from slurm_topology.agent.decision import Action, Reason
from slurm_topology.agent.files import Files
from slurm_topology.agent.log import Log
from slurm_topology.agent.record import PassRecord, after_pass
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.shell import Completed, Shell
from slurm_topology.agent.state import AgentState
from slurm_topology.agent.world import World
from slurm_topology.agent.writable import conf_folders
from slurm_topology.cli import install
from slurm_topology.core import choose, plan_document
from slurm_topology.core.model import Group, NodeRole


@dataclass(frozen=True)
class Scontrol(Shell):
    """Slurm's answers, when it is ``up``."""

    conf: str = ""
    up: bool = True

    def run(self, argv: Sequence[str], *, timeout: float, user: str | None = None) -> Completed:
        said = {
            "ping": f"Slurmctld(primary) at head is {'UP' if self.up else 'DOWN'}\n",
            "config": f"SLURM_CONF              = {self.conf}\n",
        }[argv[-1]]
        assert self.up or argv[-1] == "ping", "it would wait for a minute"
        return Completed(tuple(argv), 0, said, "")


def world(folder: Path, *, up: bool = True, clock: Clock | None = None) -> World:
    settings = Settings(state_folder=folder / "state", run_folder=folder / "run", resource_config=folder / "rc.json")
    return World(
        Scontrol(conf=str(folder / "etc/slurm.conf"), up=up), Files(), clock or Clock(), Log(), settings, "head"
    )


def test_the_folder_that_slurm_names_and_where_its_links_lead(tmp_path: Path) -> None:
    for name in ("etc", "shared", "included"):
        (tmp_path / name).mkdir()
    (tmp_path / "shared/topology.yaml").write_text("")
    (tmp_path / "etc/topology.yaml").symlink_to(tmp_path / "shared/topology.yaml")
    here = world(tmp_path)
    here.store().save_state(AgentState(conf_files=[str(tmp_path / "included/nodes.conf")]))
    wanted = {"/opt/slurm/etc", "/etc/slurm", *(str(tmp_path / name) for name in ("etc", "shared", "included"))}
    assert wanted <= set(conf_folders(here))


def test_a_slurm_that_is_down_is_not_waited_for(tmp_path: Path) -> None:
    known = world(tmp_path, up=False)
    known.store().save_state(AgentState(conf_path=str(tmp_path / "seen/slurm.conf")))
    assert str(tmp_path / "seen") in conf_folders(known)


class LateFile(Clock):
    """HyperPod's file comes after so many seconds; no time passes otherwise."""

    def __init__(self, path: Path, text: str, after: float) -> None:
        self.path, self.text, self.after, self.time = path, text, after, 0.0

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        if self.time >= self.after:
            self.path.write_text(self.text)


HALF = '{"InstanceGroups": [{"Name": "head", "InstanceType": "ml.m5.xlarge", "Inst'
WHOLE = HALF + 'ances": [{"CustomerIpAddress": "10.0.0.9", "InstanceId": "i-1"}]}]}'


@pytest.mark.parametrize(("after", "expected", "waited"), [(25.0, True, 25.0), (1e9, False, 60.0)])
def test_installation_waits_for_hyperpods_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: float, expected: bool, waited: float
) -> None:
    """Nobody installs again later. Without any sign of a controller, not even in a plan, it isn't installed."""
    monkeypatch.setattr(install, "find_daemon", lambda *_: None)
    monkeypatch.setattr(install, "local_addresses", lambda _: {"10.0.0.9"})
    (tmp_path / "rc.json").write_text(HALF)
    clock = LateFile(tmp_path / "rc.json", WHOLE, after)
    assert install._is_controller(world(tmp_path, clock=clock), tmp_path)[0] is expected
    assert clock.time == waited


def test_what_stays_unknown_is_installed_where_the_plan_has_a_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent on a machine that is none stands by; a controller without an agent has nobody."""
    monkeypatch.setattr(install, "find_daemon", lambda *_: None)
    groups = (Group("head", "ml.m5.xlarge", NodeRole.CONTROLLER), Group("train", "ml.p5.48xlarge", NodeRole.COMPUTE))
    plan = plan_document.dump(choose.make_plan(groups, (), None), groups, ())
    (tmp_path / "topology_plan.json").write_text(plan)
    clock = LateFile(tmp_path / "rc.json", WHOLE, 1e9)
    assert install._is_controller(world(tmp_path, clock=clock), tmp_path)[0] is True


def test_first_boot_begins_with_the_first_node() -> None:
    """Capacity may come hours after the controller, and then nodes still come one by one."""
    nobody = PassRecord(100.0, 1.0, Action.NOTHING, Reason.WAITING_FOR_PLACES)
    state = after_pass(AgentState(), nobody, None, None)
    assert state.first_node_at == 0.0
    state = after_pass(state, PassRecord(9000.0, 1.0, Action.NOTHING, Reason.WAITING_FOR_PLACES, nodes=1), None, None)
    assert state.first_node_at == 9000.0
    later = PassRecord(9100.0, 1.0, Action.NOTHING, Reason.IN_FORCE, nodes=2)
    assert after_pass(state, later, None, None).first_node_at == 9000.0
