"""Partitions' live topologies (25.05 and newer): another writer is yielded to, and a refusal is a failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.agent_lab import AgentLab, blocks_of, tree_of
from slurm_lab import Level, Partition, make_nodes

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]

NODES = make_nodes(8)
TYPES = {"train": "ml.p5.48xlarge", "gb": "ml.p6e-gb200.36xlarge"}
REFUSING = """\
#!/bin/sh
case "$*" in *PartitionName=block*Topology=*) echo "slurm_update error: Invalid topology" >&2; exit 1 ;; esac
exec /usr/bin/scontrol "$@"
"""


@pytest.fixture
def mixed(make_agent_lab: Make) -> AgentLab:
    """A partition of tree nodes, one of block nodes, one of all."""
    names = tuple(node.name for node in NODES)
    partitions = (Partition("dev", default=True), Partition("train", names[:4]), Partition("block", names[4:]))
    lab = make_agent_lab("26.05", level=Level.CONTROLLER, partitions=partitions)
    blocks = [replace(member, group="gb") for member in blocks_of(NODES[4:], 2)]
    lab.write_members([*tree_of(NODES[:4], 2), *blocks], TYPES)
    return lab


def live(lab: AgentLab) -> str:
    return lab.lab.scontrol("--oneliner", "show", "partition", "block")


def test_another_programs_choice_is_overruled_three_times(mixed: AgentLab) -> None:
    """And then it is yielded to, as with files. A reconfigure, which takes all assignments away, is nobody's choice."""
    mixed.settle()
    assert "Topology=block" in live(mixed)
    for _ in range(4):
        assert mixed.lab.reconfigure().accepted
        record = mixed.reconcile()
        assert (record["action"], record["reverted"]) == ("assign", False)
    seen = []
    for _ in range(4):
        mixed.lab.scontrol("update", "PartitionName=block", "Topology=tree")
        record = mixed.reconcile()
        seen.append((record["reason"], record["reverted"]))
    assert seen == [("unassigned", True)] * 3 + [("yielding", False)]
    assert "Topology=tree" in live(mixed)


def test_an_assignment_that_slurm_refuses_is_a_failure(mixed: AgentLab) -> None:
    """Tried after growing waits, counted, and the topology isn't called right meanwhile."""
    mixed.lab.run("sh", "-c", "rm /opt/slurm/bin; mkdir /opt/slurm/bin", check=True)
    mixed.lab.box.write_text("/opt/slurm/bin/scontrol", REFUSING, 0o755)
    record = mixed.reconcile()
    assert record["action"] == "publish"
    assert "AGENT019" in {finding["id"] for finding in record["findings"]}
    record = mixed.reconcile(failed=True)
    assert (record["action"], record["stage"]) == ("assign", "assign")
    assert "Invalid topology" in record["failed"]
    assert mixed.reconcile()["reason"] == "backing-off"
    state = mixed.state()
    assert (state["counters"]["changes"], state["counters"]["failures"]) == (1, 1)
    assert state["behind_since"] > 0
    mixed.lab.run("rm", "-r", "/opt/slurm/bin", check=True)
    record = mixed.reconcile(clock_offset=400.0)
    assert record["action"] == "assign"
    assert "Topology=block" in live(mixed)
