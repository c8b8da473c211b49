"""A Slurm that can't have the topology at all is left as it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.agent_lab import AgentLab, tree_of

pytestmark = pytest.mark.slurm

LINEAR = "SelectType=select/linear\nSelectTypeParameters=CR_Memory\n"


def test_a_tree_under_select_linear_is_never_published(make_agent_lab: Callable[..., AgentLab]) -> None:
    """slurmctld dies of the two together ("select/linear … not supported"), at the reconfigure and at each start."""
    lab = make_agent_lab("24.11", conf=LINEAR)
    before, pid = lab.conf_files(), lab.lab.controller.pid()
    lab.write_members(tree_of(lab.lab.nodes, 4))
    record = lab.reconcile(failed=True)
    assert "linear" in record["failed"]
    assert lab.conf_files() == before
    assert lab.lab.controller.pid() == pid
    assert lab.lab.jobs.where(lab.lab.jobs.submit(8))
