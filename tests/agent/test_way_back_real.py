"""Every way back keeps the partitions' topologies (25.05 and newer), which each reconfigure forgets: rollback, undo,
a pass that was killed, removal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.agent_lab import STATE, AgentLab, blocks_of, tree_of
from slurm_lab import Level, Partition, make_nodes

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]

NODES = make_nodes(8)
NAMES = tuple(node.name for node in NODES)
TYPES = {"train": "ml.p5.48xlarge", "gb": "ml.p6e-gb200.36xlarge"}
BEFORE = f"""\
- topology: theirs
  cluster_default: true
  tree:
    switches:
      - switch: root
        nodes: {",".join(NAMES)}
- topology: open
  cluster_default: false
  flat: true
"""
# the first look at what is in force after the next reconfigure fails
UNREADABLE_ONCE = """\
#!/bin/sh
case "$*" in
*reconfigure*) test -e /tmp/unreadable && mv /tmp/unreadable /tmp/now ;;
"show topoconf") test -e /tmp/now && rm /tmp/now && exit 1 ;;
esac
exec /usr/bin/scontrol "$@"
"""


@pytest.fixture
def lab(make_agent_lab: Make) -> AgentLab:
    """A topology of somebody's, with a partition that he gave a topology live, then the agent's first change."""
    partitions = (Partition("dev", default=True), Partition("train", NAMES[:4]), Partition("block", NAMES[4:]))
    made = make_agent_lab(
        "26.05",
        level=Level.CONTROLLER,
        partitions=partitions,
        topology=BEFORE,
        settings={"backoff_first_seconds": 200},
    )
    made.lab.run("sh", "-c", "rm /opt/slurm/bin; mkdir /opt/slurm/bin", check=True)
    made.lab.box.write_text("/opt/slurm/bin/scontrol", UNREADABLE_ONCE, 0o755)
    made.lab.scontrol("update", "PartitionName=dev", "Topology=open")
    want(made, leaf=2)
    made.settle()
    return made


def want(lab: AgentLab, leaf: int) -> None:
    blocks = [replace(member, group="gb") for member in blocks_of(NODES[4:], 2)]
    lab.write_members([*tree_of(NODES[:4], leaf), *blocks], TYPES)


def topology_of(lab: AgentLab, partition: str) -> str:
    shown = lab.lab.scontrol("--oneliner", "show", "partition", partition)
    return shown.partition(" Topology=")[2].partition(" ")[0].strip()


def leaves(lab: AgentLab) -> int:
    """Of the four nodes in the tree."""
    units = lab.unit_of()
    return len({units[name] for name in NAMES[:4]})


def test_partitions_keep_their_topologies_on_every_way_back(lab: AgentLab) -> None:
    assert (leaves(lab), topology_of(lab, "block")) == (2, "block")
    want(lab, leaf=4)
    points = lab.ask()["points"]
    assert (leaves(lab), topology_of(lab, "block")) == (1, "block")

    # rollback: nobody would mend it, because the agent is paused then
    done = lab.run("rollback", "1")
    assert done.returncode == 0, done.stderr
    assert (leaves(lab), topology_of(lab, "block")) == (2, "block")
    assert lab.run("resume").returncode == 0
    lab.settle()
    assert (leaves(lab), topology_of(lab, "block")) == (1, "block")

    # a change that fails after its reconfigure, which is undone by another one
    want(lab, leaf=2)
    lab.lab.box.write_text("/tmp/unreadable", "")
    assert lab.reconcile(failed=True)["stage"] == "read-back"
    assert (leaves(lab), topology_of(lab, "block")) == (1, "block")
    assert lab.reconcile()["reason"] == "backing-off"

    # while that change waits, another's reconfigure makes the partitions lose theirs; its turn is as far away as before
    before = lab.state()["not_before"]
    assert lab.lab.reconfigure().accepted
    assert topology_of(lab, "block") == ""
    assert lab.reconcile()["action"] == "assign"
    assert (leaves(lab), topology_of(lab, "block")) == (1, "block")
    assert lab.reconcile()["reason"] == "backing-off"
    assert lab.state()["not_before"] == before

    # a pass that is killed between its reconfigure and the assignments, and then the agent is taken away
    assert lab.ask(clock_offset=400)["record"]["reason"] == "changed"
    want(lab, leaf=4)
    assert lab.ask(kill_at=points.index("start scontrol update PartitionName=block") + 1) == {"killed": True}
    assert (leaves(lab), topology_of(lab, "block")) == (1, ""), "killed where it was to be"
    removed = ("uninstall", "--prefix", "/tmp/nothing-installed")
    done = lab.run(*removed, "--keep-topology")
    assert done.returncode == 0, done.stderr
    assert (leaves(lab), topology_of(lab, "block")) == (1, "block")
    assert not lab.lab.box.exists(f"{STATE}/transaction.json")

    # what was there before the agent, with what its owner had given to a partition
    done = lab.run(*removed)
    assert done.returncode == 0, done.stderr
    assert lab.conf_files()["topology.yaml"] == BEFORE
    assert (topology_of(lab, "dev"), topology_of(lab, "block")) == ("open", "")
