"""The words of the core as types: inventory in, plan and topology out.

All values are immutable and hold only the standard library's types, so that they compare, hash and pickle.
The per-node types are named tuples: an inventory of 50,000 nodes has to be built in tens of milliseconds.

Terms (the same in code, CLI, documentation and metrics):

* *instance*: an EC2 instance id; *node*: a Slurm NodeName
* *placement*: where a node sits: network-node path top → leaf, UltraServer, Availability Zone
* *capability*: what the network of an instance type can offer (tree, block, none)
* *inventory*: all nodes with types and placements, all instance groups, all partitions
* *plan*: which topology each partition gets, and why
* *topology*: trees, blocks or flat, with nodes in them
* *finding*: something a person should know, with an id, a severity, a subject and a remedy
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

__all__ = [
    "UNKNOWN_PLACEMENT",
    "Block",
    "Blocks",
    "Capability",
    "Choice",
    "ClusterTopology",
    "Finding",
    "Flat",
    "Group",
    "Inventory",
    "NamedTopology",
    "Node",
    "NodeRole",
    "Partition",
    "Placement",
    "Plan",
    "Severity",
    "Switch",
    "TopologyKind",
    "Tree",
    "UltraServer",
]


class Capability(str, Enum):
    """What the network of an instance type can offer to Slurm."""

    TREE = "tree"
    BLOCK = "block"
    NONE = "none"


class TopologyKind(str, Enum):
    """Slurm's topology plugins: topology/tree, topology/block, topology/flat (topology/default before 25.05)."""

    TREE = "tree"
    BLOCK = "block"
    FLAT = "flat"


class NodeRole(str, Enum):
    """SageMaker's SlurmConfig NodeType of an instance group."""

    CONTROLLER = "Controller"
    LOGIN = "Login"
    COMPUTE = "Compute"


class Severity(str, Enum):
    """ERROR: nothing is written or applied. WARNING: it works, but could work better. INFO: a fact worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, order=True)
class Finding:
    """One thing a person should know. ``docs/findings.md`` lists every id with cause and remedy."""

    id: str  # stable, such as "TOPO012"
    severity: Severity
    subject: str  # the node, switch, group, partition or file that it is about
    message: str  # what was got and what was expected
    remedy: str = ""  # what to do; empty when there is nothing to do


class Placement(NamedTuple):
    """Where a node sits. Unknown parts are empty or None, never guessed."""

    network_nodes: tuple[str, ...] = ()  # top → leaf, any depth
    ultraserver_id: str | None = None
    zone: str | None = None  # Availability Zone id or name, whichever the source gives


UNKNOWN_PLACEMENT = Placement()


class Node(NamedTuple):
    """A Slurm node and the instance behind it. A node of which only Slurm knows has no instance."""

    name: str
    instance_id: str | None = None
    instance_type: str | None = None  # in SageMaker's form, "ml.p5.48xlarge"
    group: str | None = None
    placement: Placement = UNKNOWN_PLACEMENT


class UltraServer(NamedTuple):
    """Facts about one UltraServer (sagemaker:ListUltraServersByReservedCapacity)."""

    id: str
    type: str | None = None  # "ml.u-p6e-gb200x72"
    total_instances: int | None = None  # 18 for x72, 9 for x36
    spare_instances: int | None = None  # ConfiguredSpareInstanceCount


class Group(NamedTuple):
    """An instance group."""

    name: str
    instance_type: str
    role: NodeRole = NodeRole.COMPUTE
    capability: Capability = Capability.NONE
    partitions: tuple[str, ...] = ()
    count: int | None = None  # type: ignore[assignment]  # hides tuple.count; None: a token at synth
    ultraserver_instances: int | None = None  # instances of one UltraServer; None: the type has none, or unknown
    spare_instances: int = 0  # kept back per UltraServer (a training plan keeps one)


class Partition(NamedTuple):
    """A Slurm partition. ``groups`` decides the choice, ``nodes`` (from Slurm, when known) who must be placed."""

    name: str
    groups: tuple[str, ...] = ()
    nodes: tuple[str, ...] | None = None
    topology: str | None = None  # the Topology= that slurm.conf's line names: the yaml must define it


@dataclass(frozen=True)
class Inventory:
    """Everything the core needs to know, from all sources merged. The order of the nodes carries no meaning."""

    nodes: tuple[Node, ...] = ()
    groups: tuple[Group, ...] = ()
    partitions: tuple[Partition, ...] = ()
    ultraservers: tuple[UltraServer, ...] = ()


class Choice(NamedTuple):
    """The topology that one partition, or the cluster by default, gets."""

    subject: str  # the partition's name; "" is the cluster default
    kind: TopologyKind
    topology: str  # name of the topology in topology.yaml
    reason: str  # one sentence for people
    block_sizes: tuple[int, ...] = ()  # nodes: base, base·2, …; empty unless kind is BLOCK


@dataclass(frozen=True)
class Plan:
    """Which topology everybody gets. Made from groups and partitions alone, so it exists before any node does."""

    default: Choice
    partitions: tuple[Choice, ...] = ()
    block_sizes: tuple[
        int, ...
    ] = ()  # of the default when that is BLOCK, else of the first block partition; empty without blocks
    findings: tuple[Finding, ...] = ()


class Switch(NamedTuple):
    """A switch has child switches or nodes, never both."""

    name: str
    children: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


class Block(NamedTuple):
    name: str
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tree:
    """topology/tree. Order of the switches is the order in the file."""

    switches: tuple[Switch, ...] = ()


@dataclass(frozen=True)
class Blocks:
    """topology/block. Order of the blocks is topology: Slurm aggregates consecutive blocks."""

    block_sizes: tuple[int, ...] = ()
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Flat:
    """topology/flat: every node is as near as any other."""


@dataclass(frozen=True)
class NamedTopology:
    """One entry of topology.yaml. A topology.conf is one entry whose name is not written."""

    name: str
    body: Tree | Blocks | Flat
    cluster_default: bool = False


@dataclass(frozen=True)
class ClusterTopology:
    """All that a rendering says, plus which partition is to be pointed at which entry."""

    topologies: tuple[NamedTopology, ...] = ()
    partitions: dict[str, str] = field(default_factory=dict)  # partition → name of its topology (Slurm ≥ 25.05)
