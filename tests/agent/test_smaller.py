"""A change that makes a partition's largest job smaller says so, and no other does: pure."""

from __future__ import annotations

from dataclasses import replace

from agent.test_conf_being_written import CONF, NAMES, seen
from slurm_topology.agent.compute import compute
from slurm_topology.agent.smaller import smaller_jobs
from slurm_topology.core.difference import LargestJob
from slurm_topology.core.model import ClusterTopology, Flat, NamedTopology, Partition, Switch, Tree


def tree(*leaves: tuple[str, ...], root: bool) -> ClusterTopology:
    switches = [Switch(f"leaf{number}", (), leaf) for number, leaf in enumerate(leaves)]
    top = [Switch("root", tuple(switch.name for switch in switches))] if root else []
    return ClusterTopology((NamedTopology("tree", Tree((*top, *switches)), True),))


def told(before: ClusterTopology, after: ClusterTopology, *partitions: Partition) -> list[LargestJob]:
    look = seen(CONF, 10)
    wanted = compute(look, {}, opt_out=False)
    assert wanted is not None
    assert look.slurm is not None
    view = replace(look.slurm, in_force=before, partitions=partitions or (Partition("dev", nodes=NAMES),))
    return list(smaller_jobs(view, replace(wanted, rendering=replace(wanted.rendering, topology=after))))


JOINED = tree(NAMES[:4], NAMES[4:], root=True)
APART = tree(NAMES[:4], NAMES[4:], root=False)
FLAT = ClusterTopology((NamedTopology("flat", Flat(), True),))


def test_two_fabrics_are_smaller_than_one() -> None:
    assert told(JOINED, APART) == [LargestJob("dev", 8, 4)]
    assert told(FLAT, APART) == [LargestJob("dev", 8, 4)]


def test_what_grows_or_stays_is_not_said() -> None:
    assert told(APART, JOINED) == []
    assert told(JOINED, FLAT) == []
    assert told(FLAT, JOINED) == []


def test_each_partition_by_its_own_nodes_and_live_topology() -> None:
    both = ClusterTopology((*FLAT.topologies, NamedTopology("tree", APART.topologies[0].body)))
    inside, across = Partition("in", nodes=NAMES[:4]), Partition("across", nodes=NAMES[2:6], topology="flat")
    assert told(both, APART, inside, across) == [LargestJob("across", 4, 2)]


def test_a_node_that_leaves_makes_nothing_smaller() -> None:
    gone = Partition("dev", nodes=(*NAMES, "ip-10-9-9-9"))
    assert told(tree((*NAMES, "ip-10-9-9-9"), root=False), tree(NAMES, root=False), gone) == []
