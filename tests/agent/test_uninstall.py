"""Taking the agent away: no pass in between, nothing half-done left behind, and all as before when it fails."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.agent_lab import STATE, AgentLab, tree_of
from slurm_lab import Level
from slurm_topology.agent.install import Installer
from slurm_topology.cli import uninstall
from slurm_topology.core.errors import ApplyError

Make = Callable[..., AgentLab]


@pytest.mark.slurm
def test_a_change_that_was_killed_is_undone_even_if_the_topology_is_kept(make_agent_lab: Make) -> None:
    """Stopping the units may kill a pass, and nobody would come after it."""
    lab = make_agent_lab("24.11", level=Level.CONTROLLER)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.settle()
    right = lab.conf_files()
    before = {"topology.conf": right["topology.conf"], "topology.yaml": None, "TopologyPlugin": "topology/tree"}
    journal = {
        "format": 1, "started_at": 1.0, "conf_path": lab.lab.path("slurm.conf"), "slurm_version": "24.11.5",
        "before": before, "after": {**before, "TopologyPlugin": "topology/block", "topology.conf": "BlockName=b"},
    }  # fmt: skip
    lab.lab.box.write_text(f"{STATE}/transaction.json", json.dumps(journal))
    text = right["slurm.conf"].replace("topology/tree", "topology/default")
    lab.lab.box.write_text(lab.lab.path("slurm.conf"), text)
    done = lab.run("uninstall", "--keep-topology", "--prefix", "/tmp/nothing-installed")
    assert done.returncode == 0, done.stderr
    assert lab.conf_files() == right
    assert not lab.lab.box.exists(f"{STATE}/transaction.json")


def test_an_agent_whose_topology_cannot_be_put_back_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither gone nor silently stopped: the topology would be nobody's."""
    done: list[str] = []

    def refuse(_: object) -> str:
        done.append("put back")
        raise ApplyError("no slurmctld answers here: nothing can be put in force", "observe")

    monkeypatch.setattr(uninstall, "put_back_original", refuse)

    def noted(name: str) -> Callable[[Installer], bool]:
        def call(_: Installer) -> bool:
            done.append(name)
            return True

        return call

    for name in ("stop", "start", "remove"):
        monkeypatch.setattr(Installer, name, noted(name))
    settings = tmp_path / "agent.json"
    settings.write_text(json.dumps({"state_folder": str(tmp_path / "state"), "run_folder": str(tmp_path / "run")}))
    with pytest.raises(ApplyError, match="no slurmctld"):
        uninstall.run(Namespace(settings=settings, prefix=tmp_path, keep_topology=False))
    assert done == ["stop", "put back", "start"]
