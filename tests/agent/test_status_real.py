"""`slurm-topology status`: who wrote what, and when."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agent.agent_lab import AgentLab, tree_of
from slurm_lab import Level

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]

LONG_AGO = 1_700_000_000


def written(lab: AgentLab) -> dict[str, dict[str, Any]]:
    done = lab.run("status", "--json")
    assert done.returncode == 0, done.stderr
    return {each["what"]: each for each in json.loads(done.stdout)["written"]}


def test_each_file_has_its_own_writer_and_time(make_agent_lab: Make, slurm_version: str) -> None:
    """What was there before the agent, and what another program wrote since, is not the agent's work."""
    lab = make_agent_lab(slurm_version, level=Level.CONTROLLER, nodes=4)
    ours = lab.lab.topology_file
    theirs = "topology.conf" if ours == "topology.yaml" else "topology.yaml"
    lab.lab.write_topology("# prepared by hand\n", theirs)
    lab.lab.run("touch", "-d", f"@{LONG_AGO}", lab.lab.path(theirs), check=True)
    lab.write_members(tree_of(lab.lab.nodes, 2))
    before = lab.reconcile()["at"]
    after = lab.reconcile()["at"]

    seen = written(lab)
    assert seen[theirs] == {"what": theirs, "by_agent": False, "at": LONG_AGO}
    assert seen[ours]["by_agent"]
    assert before <= seen[ours]["at"] <= after
    # from 25.05 on the plugin line means nothing beside a topology.yaml, and stays as it is
    assert seen["TopologyPlugin"]["by_agent"] is (slurm_version == "24.11")

    lab.lab.write_topology("# somebody else\n")
    lab.lab.run("touch", "-d", f"@{LONG_AGO + 1}", lab.lab.path(ours), check=True)
    assert written(lab)[ours] == {"what": ours, "by_agent": False, "at": LONG_AGO + 1}
    said = lab.run("status").stdout
    assert f"{ours} by another writer, 2023-11-14 22:13:21 UTC" in said, said

    assert lab.reconcile()["action"] == "restore-file"
    assert written(lab)[ours]["by_agent"]
    assert f"{ours} by the agent, " in lab.run("status").stdout
