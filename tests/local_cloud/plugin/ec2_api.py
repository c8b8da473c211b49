"""EC2's DescribeInstanceTopology with its real limits, and DescribeInstanceTypes with the facts that matter here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from typing import Any
from xml.sax.saxutils import escape

from ministack.services import ec2

from local_cloud.cluster import Node
from local_cloud.instance_facts import InstanceFacts, facts
from local_cloud.plugin.state import EC2_SEES_NODES, here

__all__ = ["install"]

Parameters = dict[str, Any]
Answer = tuple[int, dict[str, str], bytes]
MOST_IDS = 100  # EC2 API reference, DescribeInstanceTopology
PAGE = 20  # ditto: default of MaxResults


def describe_instance_topology(parameters: Parameters) -> Answer:
    ids = ec2._parse_member_list(parameters, "InstanceId")
    size = ec2._p(parameters, "MaxResults")
    if len(ids) > MOST_IDS:
        return _error("InvalidParameterValue", f"You can specify at most {MOST_IDS} instance IDs, got {len(ids)}.")
    if ids and size:
        return _error("InvalidParameterCombination", "MaxResults and InstanceIds cannot be specified together.")
    if size and not 1 <= int(size) <= MOST_IDS:
        return _error("InvalidParameterValue", f"MaxResults must be between 1 and {MOST_IDS}, got {size}.")
    nodes = {node.instance_id: node for node in here().nodes()} if EC2_SEES_NODES else {}
    if unknown := [i for i in ids if i not in nodes]:
        return _error("InvalidInstanceID.NotFound", f"The instance IDs '{', '.join(unknown)}' do not exist")
    shown = [nodes[i] for i in ids] if ids else list(nodes.values())
    matching = [node for node in shown if _matches(node, ec2._parse_filters(parameters))]
    if ids:
        return _topology_answer(matching, None)
    start = int(ec2._p(parameters, "NextToken") or 0)
    end = start + int(size or PAGE)
    return _topology_answer(matching[start:end], str(end) if end < len(matching) else None)


def _matches(node: Node, filters: Mapping[str, Iterable[str]]) -> bool:
    values = {
        "availability-zone": node.subnet.zone,
        "zone-id": node.subnet.zone_id,
        "instance-type": node.instance_type.removeprefix("ml."),
    }
    return all(any(fnmatch(values.get(name, ""), pattern) for pattern in wanted) for name, wanted in filters.items())


def _topology_answer(nodes: list[Node], next_token: str | None) -> Answer:
    items = "".join(_topology_item(node) for node in nodes)
    token = _tag("nextToken", next_token) if next_token else ""
    answer: Answer = ec2._xml(200, "DescribeInstanceTopologyResponse", _tag("instanceSet", items, raw=True) + token)
    return answer


def _topology_item(node: Node) -> str:
    network_nodes = "".join(_tag("item", network_node) for network_node in node.network_nodes)
    ultraserver = node.slot.ultraserver_id if node.slot else None
    return _tag(
        "item",
        _tag("instanceId", node.instance_id)
        + _tag("instanceType", node.instance_type.removeprefix("ml."))
        + _tag("availabilityZone", node.subnet.zone)
        + _tag("zoneId", node.subnet.zone_id)
        + (_tag("capacityBlockId", ultraserver.replace("us-", "cb-")) if ultraserver else "")
        + _tag("networkNodeSet", network_nodes, raw=True),
        raw=True,
    )


def describe_instance_types(parameters: Parameters) -> Answer:
    names = ec2._parse_member_list(parameters, "InstanceType")
    if len(names) > MOST_IDS:
        return _error("InvalidParameterValue", f"You can specify at most {MOST_IDS} instance types, got {len(names)}.")
    if bad := [name for name in names if name.startswith("ml.") or "." not in name]:
        return _error("InvalidInstanceType", f"The following supplied instance types do not exist: [{', '.join(bad)}]")
    items = "".join(_type_item(name, facts(name)) for name in names)
    answer: Answer = ec2._xml(200, "DescribeInstanceTypesResponse", _tag("instanceTypeSet", items, raw=True))
    return answer


def _type_item(name: str, known: InstanceFacts) -> str:
    network = _tag("maximumNetworkCards", known.network_cards) + _tag(
        "efaSupported", str(bool(known.efa_interfaces)).lower()
    )
    if known.efa_interfaces:
        network += _tag("efaInfo", _tag("maximumEfaInterfaces", known.efa_interfaces), raw=True)
    parts = _tag("instanceType", name) + _tag("currentGeneration", "true")
    parts += _tag("vCpuInfo", _tag("defaultVCpus", known.vcpus), raw=True) + _tag("networkInfo", network, raw=True)
    if known.gpus:
        parts += _tag("gpuInfo", _tag("gpus", _tag("item", _tag("count", known.gpus), raw=True), raw=True), raw=True)
    if known.neuron_devices:
        device = _tag("item", _tag("count", known.neuron_devices), raw=True)
        parts += _tag("neuronInfo", _tag("neuronDevices", device, raw=True), raw=True)
    return _tag("item", parts, raw=True)


def _tag(name: str, content: object, *, raw: bool = False) -> str:
    return f"<{name}>{content if raw else escape(str(content))}</{name}>"


def _error(code: str, message: str) -> Answer:
    answer: Answer = ec2._error(code, escape(message), 400)
    return answer


def install() -> None:
    """Put these in the place of ministack's own."""
    ec2._ACTION_MAP["DescribeInstanceTopology"] = describe_instance_topology
    ec2._ACTION_MAP["DescribeInstanceTypes"] = describe_instance_types
