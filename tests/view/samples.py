"""Clusters to look at: the same rules at every size, so that 16 nodes and 10,000 can be compared."""

from __future__ import annotations

from dataclasses import replace

from slurm_topology.core.explain import Job, JobPhase, NodeFacts, NodeState, Snapshot
from slurm_topology.core.model import (
    Block,
    Blocks,
    ClusterTopology,
    Finding,
    Flat,
    NamedTopology,
    Partition,
    Severity,
    Switch,
    Tree,
)

__all__ = ["HOSTILE", "bare", "escaping", "hostile", "mixed", "name", "tree", "ultraservers", "with_finding_about"]

LEAF_SIZE = 16
LEAVES_A_SPINE = 20
FINDINGS = (
    Finding(
        "TOPO311",
        Severity.WARNING,
        "ip-10-1-0-3",
        "the network path of ip-10-1-0-3 is unknown: it is in a catch-all leaf",
        "its label comes minutes after launch; the next pass looks again",
    ),
    Finding("TOPO401", Severity.INFO, "root", "two switches that carry no information were left out"),
)


def name(number: int) -> str:
    return f"ip-10-{1 + number // 65536}-{number // 256 % 256}-{number % 256}"


def state_of(number: int) -> NodeState:
    """Mostly busy, some free, a few of everything else."""
    if number % 97 == 13:
        return NodeState.DOWN
    if number % 61 == 7:
        return NodeState.DRAINED
    if number % 83 == 20:
        return NodeState.DRAINING
    return NodeState.IDLE if number // 8 % 5 == 4 else NodeState.ALLOCATED


def facts(number: int, instance_type: str = "ml.p5.48xlarge", group: str = "train") -> NodeFacts:
    state = state_of(number)
    reason = {NodeState.DOWN: "Not responding", NodeState.DRAINED: "ecc errors on gpu 3"}.get(state)
    leaf = number // LEAF_SIZE
    return NodeFacts(
        name=name(number),
        state=state,
        instance_type=instance_type,
        instance_id=f"i-{number:017x}",
        group=group,
        zone="usw2-az1",
        partitions=(group,),
        reason=reason,
        reason_since="2026-12-01T05:12:44" if reason else None,
        network_path=("nn-c0ffee0000000001", f"nn-5b1ae{leaf // LEAVES_A_SPINE:011d}", f"nn-1eaf{leaf:012d}"),
    )


def tree(count: int) -> Snapshot:
    """One zone, spines of 20 leaves of 16 nodes; jobs of 1 to 4 leaves on what is allocated."""
    numbers = range(count)
    leaves = [[name(each) for each in numbers[start : start + LEAF_SIZE]] for start in range(0, count, LEAF_SIZE)]
    switches = [Switch(f"nn-1eaf{index:012d}", (), tuple(nodes)) for index, nodes in enumerate(leaves)]
    names = [switch.name for switch in switches]
    spines = [
        Switch(f"nn-5b1ae{start // LEAVES_A_SPINE:011d}", tuple(names[start : start + LEAVES_A_SPINE]))
        for start in range(0, len(names), LEAVES_A_SPINE)
    ]
    root = Switch("nn-c0ffee0000000001", tuple(spine.name for spine in spines))
    body = Tree((*switches, *spines, root) if len(names) > 1 else tuple(switches))
    nodes = {name(number): facts(number) for number in numbers}
    return Snapshot(
        topology=ClusterTopology((NamedTopology("tree", body, True),), {"train": "tree"}),
        nodes=nodes,
        jobs=tuple(jobs(nodes, LEAF_SIZE * 2)),
        partitions=(Partition("train", nodes=tuple(nodes), topology="tree"),),
        findings=FINDINGS,
        cluster=f"research-{count}",
        slurm_version="25.11.4",
        taken="2026-12-01 06:30:57 UTC",
        source="the running Slurm",
    )


def jobs(nodes: dict[str, NodeFacts], most: int, partition: str = "train", first: int = 4001) -> list[Job]:
    busy = [each.name for each in nodes.values() if each.state in (NodeState.ALLOCATED, NodeState.DRAINING)]
    found: list[Job] = []
    at = 0
    while at < len(busy):
        size = 4 + len(found) * 7 % most
        held = tuple(busy[at : at + size])
        number = str(first + len(found))
        label, user = ("llama-pretrain", "ada") if len(found) % 3 else ("eval-suite", "grace")
        found.append(
            Job(number, number, label, user, (partition,), JobPhase.RUNNING, "RUNNING", "", held, len(held),
                "2026-12-01T05:00:00", "2026-12-01T05:10:00")
        )  # fmt: skip
        at += size
    waiting = Job(
        "4999", "4999", "big-run", "ada", ("train",), JobPhase.PENDING, "PENDING", "Resources", (), len(nodes)
    )
    return [*found, waiting]


def mixed() -> Snapshot:
    """Slurm 25.11: UltraServers in blocks, P5 in a tree, and a default that is flat; one node is in no topology."""
    train = [facts(number) for number in range(32)]
    ultra = [
        facts(1000 + number, "ml.p6e-gb200.36xlarge", "ultra")._replace(
            ultraserver_id=f"us-{number // 17:04d}", zone="usw2-az2", network_path=()
        )
        for number in range(51)
    ]
    cpu = [
        facts(2000 + number, "ml.m5.4xlarge", "cpu")._replace(zone="usw2-az1", network_path=()) for number in range(4)
    ]
    lost = facts(31)._replace(name="ip-10-1-9-9", instance_id="i-09999999999999999", network_path=())
    nodes = {each.name: each for each in (*train, lost, *ultra, *cpu)}
    base = tree(32)
    blocks = tuple(
        Block(f"us-{start // 17:04d}", tuple(each.name for each in ultra[start : start + 17]))
        for start in range(0, 51, 17)
    )
    return replace(
        base,
        cluster="mixed",
        topology=ClusterTopology(
            (
                NamedTopology("default", Flat(), True),
                replace(base.topology.topologies[0], cluster_default=False),
                NamedTopology("block", Blocks((17, 34), blocks)),
            ),
            {"train": "tree", "ultra": "block", "cpu": "default"},
        ),
        nodes=nodes,
        jobs=(*base.jobs, *jobs({each.name: each for each in ultra}, 17, "ultra", 5001)[:-1]),
        partitions=(
            Partition("train", nodes=tuple(each.name for each in (*train, lost)), topology="tree"),
            Partition("ultra", nodes=tuple(each.name for each in ultra), topology="block"),
            Partition("cpu", nodes=tuple(each.name for each in cpu)),
        ),
        findings=(
            Finding(
                "TOPO021",
                Severity.ERROR,
                "ip-10-1-9-9",
                "ip-10-1-9-9 is in partition train, but in no leaf switch: jobs of more than one node never get it",
                "slurm-topology reconcile",
            ),
            *FINDINGS,
        ),
    )


def ultraservers(count: int) -> Snapshot:
    """So many UltraServers of two nodes."""
    names = [f"us-{number:04d}" for number in range(count)]
    nodes = {
        node.name: node
        for number in range(count * 2)
        for node in (facts(number, "ml.p6e-gb200.36xlarge", "ultra")._replace(ultraserver_id=names[number // 2]),)
    }
    blocks = tuple(Block(each, tuple(n for n in nodes if nodes[n].ultraserver_id == each)) for each in names)
    topology = ClusterTopology((NamedTopology("block", Blocks((2,), blocks), True),))
    return Snapshot(topology, nodes, cluster=f"ultra-{count}")


def with_finding_about(subject: str) -> Snapshot:
    """The mixed cluster with one finding."""
    finding = Finding("TOPO999", Severity.WARNING, subject, f"something about {subject}", "look at it")
    return replace(mixed(), cluster=f"finding-{subject}", findings=(finding,))


HOSTILE = "</script><script>window.bad=1</script><img src=x onerror=window.bad=1>@DATA@"


def hostile() -> Snapshot:
    """A cluster whose names try to be markup."""
    base = tree(8)
    switch = Switch(HOSTILE, (), tuple(base.nodes))
    nodes = {each.name: each._replace(reason=HOSTILE, group=HOSTILE) for each in base.nodes.values()}
    return replace(
        base,
        cluster="hostile",
        topology=ClusterTopology((NamedTopology("tree", Tree((switch,)), True),)),
        nodes=nodes,
        jobs=tuple(job._replace(name=HOSTILE, user=HOSTILE) for job in base.jobs),
        findings=(Finding("TOPO999", Severity.WARNING, HOSTILE, HOSTILE, HOSTILE),),
    )


def bare() -> Snapshot:
    """Only a topology file: nothing is known about any node."""
    base = tree(40)
    return Snapshot(topology=base.topology, slurm_version="25.11.4")


def escaping() -> Snapshot:
    """Names that try to move the cursor, ring the bell and end the colour."""
    base = tree(8)
    return replace(
        base,
        cluster="c\x1b[2Jluster\x9b",
        jobs=tuple(job._replace(name="bell\x07", user="new\rline") for job in base.jobs),
        findings=(Finding("TOPO999", Severity.WARNING, "x", "message\x1b]0;title\x07", "remedy\nline"),),
    )
