"""Which instance is in which Availability Zone, and whom to ask to find out. Pure.

HyperPod's file doesn't say zones; DescribeClusterNode does, one instance a call. Two facts make few calls enough: a
network node is in one zone, and so is an UltraServer. So one instance tells the zone of all that share a switch with
it, directly or over others, and a cluster costs one call for each fabric that it has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from slurm_topology.core.instance import Instance
from slurm_topology.core.model import Capability
from slurm_topology.core.read_cluster_nodes import ClusterNode, ClusterNodes
from slurm_topology.core.read_resource_config import ResourceConfig

__all__ = ["Facts", "cluster_nodes", "whom_to_ask"]


class Facts(NamedTuple):
    """What SageMaker said about an instance; none of it changes in the instance's life. None: it didn't say."""

    zone_id: str | None = None
    zone_name: str | None = None
    ultraserver_id: str | None = None
    ultraserver_type: str | None = None

    @property
    def zone(self) -> str | None:
        return self.zone_id or self.zone_name


def whom_to_ask(config: ResourceConfig, capability: Mapping[str, Capability], facts: Mapping[str, Facts]) -> list[str]:
    """Ids of the instances whose facts would tell something new, most useful first.

    ``capability``: of each group that computes. Of every fabric without a zone the first instance; every instance of
    a type with UltraServers whose label doesn't name one; of every group without labels the first instance, and once
    there are two zones all of them.
    """
    instances = [each for each in config.instances if each.instance_id and each.group in capability]
    fabrics = _Fabrics(instances, facts)
    several = len({fact.zone for fact in facts.values() if fact.zone}) > 1
    asked: dict[str, None] = {}
    asked_groups = {each.group for each in instances if each.instance_id in facts}
    for instance in sorted(instances, key=lambda each: each.instance_id or ""):
        instance_id, kind = str(instance.instance_id), capability[instance.group]
        fabric = fabrics.of(instance)
        if instance_id in facts:
            continue
        if fabric is not None and not fabrics.zones[fabric] and fabric not in asked:
            asked[fabric] = None
            asked[instance_id] = None
        elif kind is Capability.BLOCK and instance.placement.ultraserver_id is None:
            asked[instance_id] = None
        elif fabric is None and (several or (kind is not Capability.NONE and instance.group not in asked_groups)):
            asked_groups.add(instance.group)
            asked[instance_id] = None
    return [each for each in asked if each not in fabrics.zones]


def cluster_nodes(config: ResourceConfig, facts: Mapping[str, Facts]) -> ClusterNodes | None:
    """The facts in the form of SageMaker's answers, each with the zone of its fabric; None when nothing is known."""
    if not facts:
        return None
    fabrics = _Fabrics(config.instances, facts)
    nodes = tuple(_nodes(config.instances, fabrics, facts))
    return ClusterNodes(nodes) if nodes else None


def _nodes(instances: Iterable[Instance], fabrics: _Fabrics, facts: Mapping[str, Facts]) -> Iterator[ClusterNode]:
    nothing = Facts()
    for instance in instances:
        own = facts.get(instance.instance_id or "", nothing)
        zones = fabrics.zones.get(fabrics.of(instance) or "", {})
        told = own if own.zone else next(iter(zones.values())) if len(zones) == 1 else nothing
        if instance.instance_id and (told.zone or own.ultraserver_id):
            yield ClusterNode(
                instance_id=instance.instance_id,
                group=instance.group,
                instance_type=None,
                status=None,
                address=None,
                ultraserver_id=own.ultraserver_id,
                ultraserver_type=own.ultraserver_type,
                zone_id=told.zone_id,
                zone_name=told.zone_name,
            )


class _Fabrics:
    """Instances that share a switch or an UltraServer, directly or over others.

    ``zones``: one switch of each fabric → the zones that its instances are known to be in.
    """

    def __init__(self, instances: Sequence[Instance], facts: Mapping[str, Facts]) -> None:
        self._facts = facts
        self._above: dict[str, str] = {}
        for way in {self._way(instance) for instance in instances}:
            for first, second in pairwise((*way[:1], *way)):
                self._above[self._top(first)] = self._top(second)
        self.zones: defaultdict[str, dict[str, Facts]] = defaultdict(dict)
        for instance in instances:
            fact, fabric = facts.get(instance.instance_id or ""), self.of(instance)
            if fabric is not None and fact is not None and fact.zone is not None:
                self.zones[fabric].setdefault(fact.zone, fact)

    def of(self, instance: Instance) -> str | None:
        """The switch that stands for the instance's fabric; None when nothing is known about where it is."""
        way = self._way(instance)
        return self._top(way[0]) if way else None

    def _way(self, instance: Instance) -> tuple[str, ...]:
        path, labelled, _ = instance.placement
        fact = self._facts.get(instance.instance_id or "")
        ultraserver = labelled or (fact.ultraserver_id if fact else None)
        return (*path, ultraserver) if ultraserver else path

    def _top(self, switch: str) -> str:
        way = []
        while (above := self._above.get(switch, switch)) != switch:
            way.append(switch)
            switch = above
        for each in way:
            self._above[each] = switch
        return switch
