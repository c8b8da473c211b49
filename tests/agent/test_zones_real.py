"""Zones that became known after the topology was published, against real slurmctld."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.agent_lab import P5, STATE, AgentLab, tree_of
from slurm_topology.core.model import Tree

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]


def roots(lab: AgentLab) -> int:
    """How many switches are below no other."""
    (body,) = {one.body for one in lab.in_force().topologies if isinstance(one.body, Tree)}
    below = {name for switch in body.switches for name in switch.children}
    return len([switch for switch in body.switches if switch.name not in below])


def test_two_zones_get_a_root_each_once_sagemaker_has_said_so(make_agent_lab: Make, slurm_version: str) -> None:
    """What is learnt after a pass is news for the next one; what is known costs nothing more."""
    lab = make_agent_lab(slurm_version)
    members = [
        replace(member, group="a" if number < 4 else "b", path=(f"nn-core{number // 4}", *member.path[1:]))
        for number, member in enumerate(tree_of(lab.lab.nodes, 2))
    ]
    lab.write_members(members, {"a": P5, "b": P5})
    lab.settle()
    assert roots(lab) == 1
    facts = {
        member.instance_id: [f"usw2-az{zone}", None, None, None]
        for zone, member in enumerate((members[0], members[4]), 1)
    }
    lab.lab.box.write_text(f"{STATE}/instances.json", json.dumps({"format": 1, "instances": facts}))
    assert lab.reconcile()["reason"] == "changed"
    assert roots(lab) == 2
    assert lab.reconcile()["reason"] == "in-force"
    lab.lab.box.write_text(f"{STATE}/cloud.json", json.dumps({"format": 1, "troubles": {"instances": "denied"}}))
    lab.lab.box.write_text(f"{STATE}/instances.json", "{")
    record = lab.reconcile()
    assert {"AGENT030", "AGENT040"} <= {finding["id"] for finding in record["findings"]}
    assert record["reason"] == "in-force", "the zones are among the last known places"
