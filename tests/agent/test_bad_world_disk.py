"""Bad world, the disk: full, read-only, half-written, from another time. What is said, and that nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from agent.agent_lab import RESOURCE_CONFIG, STATE, AgentLab, Member, resource_config, tree_of
from slurm_lab import Level, make_nodes

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]


def settled(make: Make, version: str, nodes: int = 8) -> tuple[AgentLab, list[Member]]:
    """A cluster whose topology is right, and its members."""
    lab = make(version, nodes=nodes, level=Level.CONTROLLER)
    members = tree_of(lab.lab.nodes, 4)
    lab.write_members(members)
    lab.settle()
    return lab, members


def move_one(lab: AgentLab, members: list[Member]) -> None:
    members[7] = members[7].moved_to(0)
    lab.write_members(members)


def test_configuration_folder_is_full(make_agent_lab: Make, slurm_version: str) -> None:
    lab, members = settled(make_agent_lab, slurm_version)
    before, pid = lab.conf_files(), lab.lab.controller.pid()
    move_one(lab, members)
    record = lab.reconcile(failed=True, full_disk=["/opt/slurm/etc/"])
    assert record["stage"] == "write"
    assert "No space left on device" in record["failed"]
    assert lab.conf_files() == before
    assert lab.lab.controller.pid() == pid
    assert not [name for name in lab.lab.run("ls", "-A", "/opt/slurm/etc").stdout.split() if "new" in name]
    assert lab.reconcile()["reason"] == "backing-off"
    assert lab.reconcile(clock_offset=60)["reason"] == "changed"


def test_state_folder_is_full(make_agent_lab: Make, slurm_version: str) -> None:
    """A change that can't be journalled isn't begun."""
    lab, members = settled(make_agent_lab, slurm_version)
    before = lab.conf_files()
    move_one(lab, members)
    answer = lab.ask(full_disk=[STATE])
    assert "No space left on device" in answer["error"]
    assert lab.conf_files() == before
    assert lab.reconcile()["reason"] == "changed"


def test_configuration_folder_is_read_only(make_agent_lab: Make) -> None:
    lab, members = settled(make_agent_lab, "24.11")
    lab.lab.run("mount", "--bind", "-o", "ro", "/opt/slurm/etc", "/opt/slurm/etc", check=True)
    move_one(lab, members)
    record = lab.reconcile(failed=True)
    assert "Read-only file system" in record["failed"]
    assert "slurm-topology install" in record["failed"]
    assert lab.lab.controller.answers()
    lab.lab.run("umount", "/opt/slurm/etc", check=True)
    assert lab.reconcile(clock_offset=60)["reason"] == "changed"


@pytest.mark.parametrize("spoil", ["half", "nothing", "[]", "no brace"])
def test_resource_config_is_broken(make_agent_lab: Make, spoil: str) -> None:
    """Half-written, empty, of another shape: the topology in force stays, and one finding says why."""
    lab, members = settled(make_agent_lab, "26.05")
    before = lab.unit_of()
    whole = json.dumps(resource_config(members))
    spoilt = {"half": whole[: len(whole) // 2], "nothing": "", "[]": "[]", "no brace": whole[1:]}
    lab.lab.box.write_text(RESOURCE_CONFIG, spoilt[spoil])
    record = lab.reconcile()
    assert record["reason"] == "no-input"
    assert [finding["id"] for finding in record["findings"]] == ["AGENT013"]
    assert lab.unit_of() == before
    lab.lab.box.write_text(RESOURCE_CONFIG, whole)
    assert lab.reconcile()["reason"] == "in-force"


def test_resource_config_is_missing_or_a_link(make_agent_lab: Make) -> None:
    lab, members = settled(make_agent_lab, "24.11")
    lab.lab.run("mv", RESOURCE_CONFIG, "/srv/real.json", check=True)
    assert lab.reconcile()["reason"] == "no-input"
    lab.lab.run("ln", "-s", "/srv/real.json", RESOURCE_CONFIG, check=True)
    assert lab.reconcile()["reason"] == "in-force"
    members[7] = members[7].moved_to(0)
    lab.lab.box.write_text("/srv/real.json", json.dumps(resource_config(members)))
    assert lab.reconcile()["reason"] == "changed"


def test_resource_config_grows_to_50000_nodes(make_agent_lab: Make) -> None:
    """Slurm doesn't have them (yet): nothing changes, and it doesn't take long."""
    lab, members = settled(make_agent_lab, "24.11")
    before = lab.unit_of()
    strangers = [Member(node.address, node.instance_id) for node in make_nodes(50_000, network="10.2")]
    lab.write_members([*members, *strangers])
    record = lab.reconcile()
    assert record["reason"] == "in-force"
    assert record["seconds"] < 30
    assert lab.unit_of() == before


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("state.json", '{"format": 99, "everything": "different"}', "of format 99"),
        ("state.json", '{"format": 1, "failures": "three"}', "unknown shape"),
        ("state.json", "\0\0\0\0", "broken"),
        ("places.json", '{"format": 1, "places": [1]}', "unknown shape"),
        ("transaction.json", '{"format": 1}', "unknown shape"),
        ("pause.json", "{", "broken"),
    ],
)
def test_state_is_broken_or_from_a_newer_version(make_agent_lab: Make, name: str, text: str, says: str) -> None:
    """It is set aside, said, and not missed."""
    lab, members = settled(make_agent_lab, "24.11")
    lab.lab.box.write_text(f"{STATE}/{name}", text)
    move_one(lab, members)
    record = lab.reconcile()
    assert record["reason"] == "changed"
    assert [each["message"] for each in record["findings"] if each["id"] == "AGENT030" and says in each["message"]]
    assert lab.lab.box.read_text(f"{STATE}/{name}.broken-1") == text
    lab.settle()


def test_last_known_place_survives_a_missing_label(make_agent_lab: Make) -> None:
    """Labels are gone for once: the node stays where it was. A new instance doesn't inherit its predecessor's place."""
    lab, members = settled(make_agent_lab, "24.11")
    node = lab.lab.nodes[7]
    members[7] = Member(node.address, node.instance_id)
    lab.write_members(members)
    assert lab.reconcile()["reason"] == "in-force"
    assert lab.unit_of()[node.name] == "nn-leaf1"
    members[7] = Member(node.address, "i-another")
    lab.write_members(members)
    assert lab.reconcile()["reason"] == "changed"
    assert lab.unit_of()[node.name] not in ("nn-leaf0", "nn-leaf1")


def test_slurm_conf_keeps_every_byte_but_the_plugin(make_agent_lab: Make) -> None:
    lab = make_agent_lab("24.11", level=Level.CONTROLLER, conf="# odd: \t spaces  \n\n#TopologyPlugin=topology/none\n")
    before = lab.conf_files()["slurm.conf"]
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    assert lab.conf_files()["slurm.conf"] == before.replace(
        "TopologyPlugin=topology/default", "TopologyPlugin=topology/tree"
    )


def test_owner_and_mode_of_the_files_are_kept(make_agent_lab: Make, slurm_version: str) -> None:
    lab, members = settled(make_agent_lab, slurm_version)
    path = lab.lab.path(lab.lab.topology_file)
    lab.lab.run("chown", "slurm:daemon", path, check=True)
    lab.lab.run("chmod", "640", path, check=True)
    move_one(lab, members)
    assert lab.reconcile()["reason"] == "changed"
    assert lab.lab.run("stat", "-c", "%U:%G %a", path).stdout.strip() == "slurm:daemon 640"
