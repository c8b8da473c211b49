"""Launching instances: ids, addresses from the subnets, slots in the racks."""

from __future__ import annotations

import hashlib
import ipaddress
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from local_cloud.cluster import Node, Subnet
from local_cloud.instance_facts import facts
from local_cloud.racks import Fabric, NoRoomError, Pool, Slot
from local_cloud.training_plans import TrainingPlans

__all__ = ["Launcher", "World"]

Json = dict[str, Any]
FIRST_TICK = 1_767_225_600  # 2026-01-01T00:00:00Z; later moments are a second apart each
AWS_RESERVED = 4  # first addresses of each subnet; AWS keeps the last one too


class World(Protocol):
    """What is around a cluster."""

    def subnets(self, ids: list[str]) -> list[Subnet]:
        """The subnets with these ids, those of the service's own network if there are no ids."""
        ...

    def problems(self, request: Json) -> list[str]:
        """What HyperPod would find missing: subnets, security groups, roles, lifecycle scripts in S3."""
        ...


@dataclass
class Launcher:
    """Makes nodes. All its decisions follow from the calls made so far."""

    fabric: Fabric
    plans: TrainingPlans
    world: World
    region: str

    def __post_init__(self) -> None:
        self._ticks = itertools.count(FIRST_TICK)
        self._addresses: dict[str, set[int]] = {}  # taken addresses by subnet id

    def tick(self) -> int:
        """A moment in seconds since 1970, later than any before."""
        return next(self._ticks)

    def nodes_for(self, cluster_arn: str, nodes: list[Node], wanted: Json) -> list[Node]:
        """The nodes that a cluster definition wants, keeping what is there; all or nothing (NoRoomError)."""
        launched: list[Node] = []
        kept: list[Node] = []
        for group in wanted.get("InstanceGroups", ()):
            have = [node for node in nodes if node.group == group["InstanceGroupName"]]
            kept += have[: group["InstanceCount"]]
            try:
                numbers = self._free_numbers(have, group["InstanceCount"])
                launched.extend(self._launch(cluster_arn, group, number, wanted) for number in numbers)
            except NoRoomError:
                self.release(launched)
                raise
        self.release(node for node in nodes if node not in kept)
        return sorted(kept + launched, key=lambda node: (self._order(wanted, node.group), node.number))

    def replacement(self, node: Node, leaf: int | None = None) -> Node:
        """A new instance for the same node: same name and address, another instance id, possibly another leaf."""
        slot = self.fabric.move(node.slot, leaf) if node.slot else None
        generation = node.generation + 1
        return replace(
            node,
            instance_id="i-" + _digest(node.logical_id, generation)[:17],
            slot=slot,
            network_nodes=self.fabric.path(slot) if slot else (),
            launched=self.tick(),
            generation=generation,
        )

    def release(self, nodes: Iterable[Node]) -> None:
        """Give back slots and addresses."""
        for node in nodes:
            if node.slot:
                self.fabric.release(node.slot)
            first = int(ipaddress.ip_address(node.address))
            self._addresses[node.subnet.subnet_id] -= set(range(first, first + facts(node.instance_type).addresses))

    def _launch(self, cluster_arn: str, group: Json, number: int, wanted: Json) -> Node:
        name, instance_type = group["InstanceGroupName"], _instance_type(group)
        subnet, address = self._address(group.get("OverrideVpcConfig") or wanted.get("VpcConfig") or {}, instance_type)
        slot = self._slot(group, instance_type, subnet)
        logical_id = "node-" + _digest(cluster_arn, name, number)[:12]
        return Node(
            instance_id="i-" + _digest(logical_id, 0)[:17],
            logical_id=logical_id,
            group=name,
            number=number,
            instance_type=instance_type,
            address=address,
            subnet=subnet,
            slot=slot,
            network_nodes=self.fabric.path(slot) if slot else (),
            ultraserver_type=facts(instance_type).ultraserver_type,
            launched=self.tick(),
            spot="Spot" in (group.get("CapacityRequirements") or {}),
        )

    def _slot(self, group: Json, instance_type: str, subnet: Subnet) -> Slot | None:
        known = facts(instance_type)
        if not known.layers:
            return None
        if known.ultraserver_size:
            return self.fabric.take(self.plans.pool(group["TrainingPlanArn"]))
        name = f"{subnet.zone}/{instance_type}"
        return self.fabric.take(Pool(name, known.layers, self.fabric.racks.nodes_per_leaf))

    def _address(self, vpc_config: Json, instance_type: str) -> tuple[Subnet, str]:
        """The first subnet with a free run of addresses; a node of many network cards needs one a card."""
        subnets = self.world.subnets(vpc_config.get("Subnets") or [])
        size = facts(instance_type).addresses
        for subnet in subnets:
            taken = self._addresses.setdefault(subnet.subnet_id, set())
            if (first := _free_run(subnet.cidr, taken, size)) is not None:
                taken.update(range(first, first + size))
                return subnet, str(ipaddress.ip_address(first))
        places = ", ".join(f"{subnet.subnet_id} ({subnet.cidr})" for subnet in subnets)
        raise NoRoomError(f"Insufficient free addresses in subnets {places}: {instance_type} needs {size}.")

    def _free_numbers(self, have: list[Node], count: int) -> Iterator[int]:
        taken = {node.number for node in have}
        free = (number for number in itertools.count(1) if number not in taken)
        return itertools.islice(free, max(0, count - len(have)))

    def _order(self, wanted: Json, group_name: str) -> int:
        return [group["InstanceGroupName"] for group in wanted["InstanceGroups"]].index(group_name)


def _instance_type(group: Json) -> str:
    wanted: str = group.get("InstanceType") or group["InstanceRequirements"]["InstanceTypes"][0]
    return wanted


def _free_run(cidr: str, taken: set[int], size: int) -> int | None:
    network = ipaddress.ip_network(cidr)
    first, last = int(network.network_address) + AWS_RESERVED, int(network.broadcast_address) - 1
    for start in range(first, last - size + 2, size):
        if taken.isdisjoint(range(start, start + size)):
            return start
    return None


def _digest(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()
