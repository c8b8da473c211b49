"""What a killed pass left, put in order: also when the agent's memory is gone and only the journal is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurm_topology.agent.apply import Applier
from slurm_topology.agent.clock import Clock
from slurm_topology.agent.disk import CONF, PLUGIN, YAML
from slurm_topology.agent.files import Files
from slurm_topology.agent.recover import put_in_order
from slurm_topology.agent.rehearse import Rehearser
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.shell import Shell
from slurm_topology.agent.slurm import Slurm
from slurm_topology.agent.state import AgentState, Store, Transaction

BEFORE = {CONF: "SwitchName=old Nodes=n1\n", YAML: None, PLUGIN: "topology/tree"}
AFTER = {CONF: "BlockName=new Nodes=n1\n", YAML: None, PLUGIN: "topology/block"}


@pytest.fixture
def applier(tmp_path: Path) -> Applier:
    """With a configuration folder half-way from BEFORE to AFTER: the plugin is flat already."""
    (tmp_path / "slurm.conf").write_text("NodeName=n1\nTopologyPlugin=topology/default\n")
    (tmp_path / CONF).write_text(BEFORE[CONF] or "")
    shell, files, settings = Shell(), Files(), Settings(coalesce_seconds=0)
    rehearser = Rehearser(shell, files, tmp_path, 1)
    return Applier(shell, files, Clock(), Slurm(shell, 1), Store(files, tmp_path / "state"), rehearser, settings)


def journalled(applier: Applier, folder: Path, **change: object) -> Transaction:
    transaction = Transaction(**{  # type: ignore[arg-type]
        "started_at": 1.0, "conf_path": str(folder / "slurm.conf"), "before": BEFORE, "after": AFTER,
        "slurm_version": "24.11.5", **change,
    })  # fmt: skip
    applier.store.save_transaction(transaction)
    return transaction


def test_a_first_publish_that_was_killed_is_undone_without_any_other_memory(applier: Applier, tmp_path: Path) -> None:
    put_in_order(applier, journalled(applier, tmp_path), AgentState())
    assert "TopologyPlugin=topology/tree" in (tmp_path / "slurm.conf").read_text()
    assert (tmp_path / CONF).read_text() == BEFORE[CONF]


@pytest.mark.parametrize(
    "change", [{"slurm_version": ""}, {"slurm_version": "?"}, {"conf_path": "/nowhere/slurm.conf"}]
)
def test_a_journal_that_cannot_be_used_is_set_aside_and_said(
    applier: Applier, tmp_path: Path, change: dict[str, str]
) -> None:
    """Else no pass would ever look at anything again."""
    before = (tmp_path / "slurm.conf").read_text()
    assert put_in_order(applier, journalled(applier, tmp_path, **change), AgentState()) == AgentState()
    assert applier.store.load_transaction() is None
    assert [finding.id for finding in applier.store.findings] == ["AGENT030"]
    assert (tmp_path / "slurm.conf").read_text() == before


def test_a_journal_of_before_the_version_was_in_it_goes_by_the_state(applier: Applier, tmp_path: Path) -> None:
    put_in_order(applier, journalled(applier, tmp_path, slurm_version=""), AgentState(slurm_version="24.11.5"))
    assert "TopologyPlugin=topology/tree" in (tmp_path / "slurm.conf").read_text()


def test_what_others_write_after_the_recovery_is_left_alone(applier: Applier, tmp_path: Path) -> None:
    """The journal stays for its jobs' sake, perhaps for long, and an operator may well write a state of its way."""
    put_in_order(applier, journalled(applier, tmp_path), AgentState())
    (tmp_path / "slurm.conf").write_text("NodeName=n1\nTopologyPlugin=topology/default\n")
    kept = applier.store.load_transaction()
    assert kept is not None
    put_in_order(applier, kept, AgentState())
    assert "TopologyPlugin=topology/default" in (tmp_path / "slurm.conf").read_text()
