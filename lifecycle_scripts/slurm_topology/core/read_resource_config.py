"""resource_config.json, as HyperPod writes it on the controller.

Documented shape: ``ClusterConfig{ClusterArn,ClusterName}``,
``InstanceGroups[]{Name,InstanceType,Instances[]{InstanceName, AgentIpAddress,CustomerIpAddress,InstanceId}}``;
``Instances`` is null for an empty group. Observed beyond it: ``ClusterType``,
``SlurmConfig{PrimaryControllerIp,SecondaryControllerIps}`` and, per instance, ``InstanceLabel`` with the network node
of each layer (1 = top) and the UltraServer. Labels come as a map or as a list of Key/Value pairs, with or without a
prefix such as ``topology.k8s.aws/``; missing, null, "" and the word "null" all mean unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from .errors import InputError
from .instance import Instance
from .model import Finding, Placement, Severity
from .shapes import describe, fact, items, mapping, text

__all__ = ["ConfigGroup", "ResourceConfig", "path_to_leaf", "read"]

_LAYER_LABEL = re.compile(r"network-node-layer-([1-9]\d?)")
_ULTRASERVER_LABEL = "ultraserver-id"


class ConfigGroup(NamedTuple):
    """One instance group of resource_config.json."""

    name: str
    instance_type: str


@dataclass(frozen=True)
class ResourceConfig:
    """The file's content, order kept. ``findings`` names what is odd but usable."""

    cluster_name: str | None
    groups: tuple[ConfigGroup, ...]
    instances: tuple[Instance, ...]
    controller_addresses: tuple[str, ...] = ()  # empty on the controller itself
    findings: tuple[Finding, ...] = ()


def read(document: object) -> ResourceConfig:
    """Read the parsed JSON of a resource_config.json.

    Raises InputError when it is no such file or has no instance group.
    """
    config = mapping(document, "resource_config.json")
    if "InstanceGroups" not in config:
        raise InputError(f"resource_config.json: expected a member InstanceGroups, got {describe(config)}")
    entries = items(config["InstanceGroups"], "InstanceGroups")
    if not entries:
        raise InputError("resource_config.json: InstanceGroups is empty, expected at least one group")
    groups: list[ConfigGroup] = []
    instances: list[Instance] = []
    findings: list[Finding] = []
    for index, entry in enumerate(entries):
        group, members = _read_group(mapping(entry, f"InstanceGroups[{index}]"), index)
        groups.append(group)
        instances += members
        findings += _odd_instances(members)
    _refuse_duplicates([group.name for group in groups])
    cluster = mapping(config.get("ClusterConfig") or {}, "ClusterConfig")
    return ResourceConfig(
        text(cluster.get("ClusterName")), tuple(groups), tuple(instances), _controllers(config), tuple(findings)
    )


def _read_group(entry: Mapping[str, Any], index: int) -> tuple[ConfigGroup, list[Instance]]:
    where = f"InstanceGroups[{index}]"
    name = text(entry.get("Name")) or text(entry.get("InstanceGroupName"))
    instance_type = text(entry.get("InstanceType"))
    if name is None or instance_type is None:
        raise InputError(f"{where}: expected Name and InstanceType, got {describe(entry)}")
    group = ConfigGroup(name, instance_type)
    listed = items(entry.get("Instances"), f"{where}.Instances")
    return group, [_read_instance(mapping(each, f"{where}.Instances"), group) for each in listed]


def _read_instance(entry: Mapping[str, Any], group: ConfigGroup) -> Instance:
    labels = _labels(entry.get("InstanceLabel"))
    try:
        placement = _placement(labels)
    except TypeError:  # a label whose value is an object or a list can't be a cache's key
        placement = _placement.__wrapped__(labels)
    return Instance(
        fact(entry.get("InstanceId")),
        fact(entry.get("CustomerIpAddress")),
        text(entry.get("InstanceName")),
        group.name,
        group.instance_type,
        placement,
    )


@lru_cache(maxsize=1024)  # neighbours have the same labels
def _placement(labels: tuple[tuple[str, object], ...]) -> Placement:
    layers: dict[int, str | None] = {}
    ultraserver_id = None
    for key, value in labels:
        name = key.rpartition("/")[2].lower()
        layer = _LAYER_LABEL.fullmatch(name)
        if layer:
            layers[int(layer[1])] = fact(value)
        elif name == _ULTRASERVER_LABEL:
            ultraserver_id = fact(value)
    return Placement(path_to_leaf([layers[layer] for layer in sorted(layers)]), ultraserver_id)


def path_to_leaf(layers: list[str | None]) -> tuple[str, ...]:
    """The known path that ends lowest: ``[a, None, c]`` is ``(c,)``, ``[a, b, None]`` is ``(a, b)``.

    A gap is not bridged: who is below whom across it, nobody said; other nodes' paths say what is above ``c``.
    """
    path: list[str] = []
    for layer in reversed(layers):
        if layer is not None:
            path.append(layer)
        elif path:
            break
    return tuple(reversed(path))


def _labels(value: object) -> tuple[tuple[str, object], ...]:
    """Key and value of each label, whichever of the known shapes they come in; nothing for any other shape."""
    if isinstance(value, Mapping):
        return tuple(value.items())
    pairs = value if isinstance(value, list | tuple) else ()
    return tuple(
        (str(pair.get("Key", pair.get("key", ""))), pair.get("Value", pair.get("value")))
        for pair in pairs
        if isinstance(pair, Mapping)
    )


def _controllers(config: Mapping[str, Any]) -> tuple[str, ...]:
    slurm = mapping(config.get("SlurmConfig") or {}, "SlurmConfig")
    secondary = items(slurm.get("SecondaryControllerIps"), "SlurmConfig.SecondaryControllerIps")
    addresses = (fact(address) for address in (slurm.get("PrimaryControllerIp"), *secondary))
    return tuple(address for address in addresses if address)


def _odd_instances(instances: list[Instance]) -> Iterator[Finding]:
    for instance in instances:
        if instance.address is None:
            yield Finding(
                "TOPO101",
                Severity.WARNING,
                instance.name or instance.instance_id or instance.group,
                f"an instance of group {instance.group} has no CustomerIpAddress: it cannot be joined with its "
                "Slurm node",
                "wait until HyperPod has written the address; the instance is left out until then",
            )


def _refuse_duplicates(names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"resource_config.json: group names must be unique, got {', '.join(twice)} more than once")
