"""What the network of an instance type can do: the catalogue (instance_types.json) and, for newer types, EC2's own
facts.

The catalogue holds every type of SageMaker's ``ClusterInstanceType`` enum; each fact names its source, each source
its date. A fact that no source states is null, never guessed: the EFA interfaces of ml.p6e-gb200.36xlarge, and the
bandwidth of most types without EFA, which is a baseline and a burst ("up to 25 Gigabit") or not looked up.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from .errors import InputError
from .model import Capability
from .shapes import items, mapping, members, number, pages, text

__all__ = ["InstanceType", "is_type_name", "known_types", "lookup", "read_ec2_types"]

_TYPE_NAME = re.compile(r"ml\.[a-z0-9-]+\.[a-z0-9-]+")

# In the catalogue, each accelerated type with at least two EFA interfaces but g7.48xlarge has an instance topology, and
# none with fewer than two but the small g6e and g7e sizes. So EC2's facts give "tree" from two on; a type taken for
# less than it is loses compactness only, one taken for more waits in a catch-all leaf: both work.
_EFA_INTERFACES_OF_A_FABRIC = 2


class InstanceType(NamedTuple):
    """Facts about one instance type; None where no source states the fact."""

    name: str  # in SageMaker's form, "ml.p5.48xlarge"
    capability: Capability
    accelerators: int | None = None  # GPUs, or Trainium chips
    network_cards: int | None = None
    efa_interfaces: int | None = None
    gbps: int | None = None  # all network cards together
    network_layers: int | None = None  # of the path that EC2 gives, top → leaf
    ultraservers: tuple[tuple[str, int], ...] = ()  # (UltraServer type, its instances), largest first

    @property
    def largest_ultraserver(self) -> int | None:
        """Instances of the largest UltraServer that this type comes in; None for a type without UltraServers."""
        return max((size for _, size in self.ultraservers), default=None)


def is_type_name(name: str) -> bool:
    """True for a well-formed SageMaker type name, known or not."""
    return _TYPE_NAME.fullmatch(name) is not None


def known_types() -> Mapping[str, InstanceType]:
    """The catalogue: type name → facts."""
    return _catalogue()


def lookup(name: str, ec2_types: Mapping[str, InstanceType] | None = None) -> InstanceType | None:
    """Facts about a type: from the catalogue, else from ``ec2_types`` (see read_ec2_types), else None."""
    known = _catalogue().get(name)
    return known if known is not None or ec2_types is None else ec2_types.get(name)


def read_ec2_types(document: object) -> dict[str, InstanceType]:
    """Facts from raw ``ec2:DescribeInstanceTypes`` answers (one, or a list of pages), keyed by SageMaker's name.

    EC2 doesn't say which types have an instance topology nor which form UltraServers: accelerators together with two
    or more EFA interfaces are taken for a tree. Raises InputError when the document is no such answer.
    """
    found: dict[str, InstanceType] = {}
    where = "DescribeInstanceTypes answer"
    for answer in pages(document, where):
        for entry in members(answer, "InstanceTypes", where):
            facts = _from_ec2(mapping(entry, f"{where}.InstanceTypes"))
            if facts is not None:
                found[facts.name] = facts
    return found


def _from_ec2(entry: Mapping[str, Any]) -> InstanceType | None:
    name = text(entry.get("InstanceType"))
    if name is None:
        return None
    network = mapping(entry.get("NetworkInfo") or {}, f"{name}.NetworkInfo")
    efa_info = mapping(network.get("EfaInfo") or {}, f"{name}.EfaInfo")
    efa_interfaces = number(efa_info.get("MaximumEfaInterfaces"))
    if efa_interfaces is None and network.get("EfaSupported") is False:
        efa_interfaces = 0
    accelerators = _devices(entry, "GpuInfo", "Gpus") + _devices(entry, "NeuronInfo", "NeuronDevices")
    fabric = accelerators > 0 and (efa_interfaces or 0) >= _EFA_INTERFACES_OF_A_FABRIC
    return InstanceType(
        name=f"ml.{name}",
        capability=Capability.TREE if fabric else Capability.NONE,
        accelerators=accelerators,
        network_cards=number(network.get("MaximumNetworkCards")),
        efa_interfaces=efa_interfaces,
    )


def _devices(entry: Mapping[str, Any], info: str, devices: str) -> int:
    """Number of accelerators that EC2 lists under ``info``; 0 when the type has none."""
    listed = items(mapping(entry.get(info) or {}, info).get(devices), f"{info}.{devices}")
    return sum(number(mapping(device, devices).get("Count")) or 0 for device in listed)


@cache
def _catalogue() -> dict[str, InstanceType]:
    data = pkgutil.get_data(__package__, "instance_types.json")
    if data is None:  # a broken bundle: say so instead of treating every type as unknown
        raise InputError("instance_types.json is missing from slurm_topology.core: the installation is incomplete")
    return {name: _from_record(name, record) for record in json.loads(data)["records"] for name in record["types"]}


def _from_record(name: str, record: Mapping[str, Any]) -> InstanceType:
    facts = {fact: record[fact]["value"] for fact in InstanceType._fields[2:7] if fact in record}
    sizes = record.get("ultraservers", {"value": {}})["value"]
    ultraservers = tuple(sorted(sizes.items(), key=lambda size: (-size[1], size[0])))
    return InstanceType(name, Capability(record["capability"]["value"]), ultraservers=ultraservers, **facts)
