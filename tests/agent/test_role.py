"""Which machine is a controller, and which controller acts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.test_conf_being_written import CONF, decided, seen
from slurm_topology.agent.decision import Action, Reason
from slurm_topology.agent.observation import Role
from slurm_topology.agent.observe import role_of
from slurm_topology.agent.rehearse import Rehearsal, Verdict
from slurm_topology.agent.role import controller_hosts, is_controller, own_names
from slurm_topology.agent.slurm import ControllerLine
from slurm_topology.agent.slurm_conf import read_slurm_conf
from slurm_topology.agent.state import AgentState
from slurm_topology.core import plan_document, read_resource_config

TWO = "SlurmctldHost=head(10.0.0.1)\nSlurmctldHost=spare(10.0.0.2)\n"
HOSTS = controller_hosts(read_slurm_conf("/e/slurm.conf", lambda _: TWO))


def lines(*up: bool) -> tuple[ControllerLine, ...]:
    return tuple(ControllerLine("x", name, each) for name, each in zip(("head", "spare"), up, strict=False))


@pytest.mark.parametrize(
    ("addresses", "up", "role"),
    [
        ({"10.0.0.1"}, (True, True), Role.ACTIVE),
        ({"10.0.0.2"}, (True, True), Role.STANDBY),
        ({"10.0.0.2"}, (False, True), Role.ACTIVE),
        ({"10.0.0.2"}, (False, False), Role.DOWN),
        # neither of them: a worker
        ({"10.1.0.9"}, (True, True), Role.STANDBY),
        ({"10.1.0.9"}, (False, False), Role.STANDBY),
    ],
)
def test_controllers_that_slurm_conf_calls_by_another_name_are_known_by_address(
    addresses: set[str], up: tuple[bool, bool], role: Role
) -> None:
    """Else every one of them would think that another one acts."""
    own = own_names(HOSTS, "ip-10-0-0-1", addresses)
    assert role_of(lines(*up), "ip-10-0-0-1", own, slurmctld_here=False)[0] is role


@pytest.mark.parametrize(("here", "role"), [(True, Role.ACTIVE), (False, Role.STANDBY)])
def test_a_worker_is_not_the_only_controller(here: bool, role: Role) -> None:
    """`scontrol ping` answers there as well."""
    own = own_names(HOSTS[:1], "ip-10-1-0-9", {"10.1.0.9"})
    assert role_of(lines(True), "ip-10-1-0-9", own, slurmctld_here=here)[0] is role


def test_a_slurm_conf_without_slurmctldhost_says_nothing() -> None:
    assert own_names((), "any", set()) is None
    assert role_of(lines(False), "any", None, slurmctld_here=False)[0] is Role.DOWN


@pytest.mark.parametrize(
    ("rank", "down", "expected"),
    [
        (0, 0, (Action.RESCUE, Reason.DOWN_BY_TOPOLOGY)),
        (1, 0, (Action.NOTHING, Reason.SLURM_DOWN)),
        (1, 30, (Action.NOTHING, Reason.SLURM_DOWN)),
        (1, 200, (Action.RESCUE, Reason.DOWN_BY_TOPOLOGY)),
    ],
)
def test_the_second_controller_rescues_only_when_the_first_does_not(
    rank: int, down: float, expected: tuple[Action, Reason]
) -> None:
    """With both slurmctlds down, both agents would write the one shared folder at once."""
    look = replace(seen(CONF, 1000), role=Role.DOWN, slurm=None, controller_rank=rank)
    state = AgentState(down_since=look.now - down if down else 0.0)
    assert decided(look, disk_verdict=Rehearsal(Verdict.REFUSED, ("fatal",)), state=state) == expected


def config(*addresses: str, controllers: tuple[str, ...] = ()) -> read_resource_config.ResourceConfig:
    instances = [{"CustomerIpAddress": address, "InstanceId": f"i-{address}"} for address in addresses]
    group = {"Name": "train", "InstanceType": "ml.p5.48xlarge", "Instances": instances}
    slurm = {"PrimaryControllerIp": next(iter(controllers), ""), "SecondaryControllerIps": []}
    return read_resource_config.read({"InstanceGroups": [group], "SlurmConfig": slurm})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, None),  # not written yet
        (config("10.1.0.7"), None),  # not with this machine in it yet
        (config("10.1.0.9", controllers=("10.0.0.1",)), False),
        (config("10.1.0.7", controllers=("10.1.0.9",)), True),
    ],
)
def test_what_cannot_be_known_yet_is_no_no(
    found: read_resource_config.ResourceConfig | None, expected: bool | None
) -> None:
    plan: plan_document.PlanDocument | None = None
    assert is_controller({"10.1.0.9"}, found, plan, slurmctld_here=False)[0] is expected
