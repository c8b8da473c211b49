"""The options that name source files, and the inventory that these files give: shared by plan and render."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from slurm_topology.core import (
    inventory,
    plan_document,
    read_cluster_nodes,
    read_instance_topology,
    read_resource_config,
    read_scontrol,
    read_ultraservers,
)
from slurm_topology.core.errors import InputError
from slurm_topology.core.groups import UNKNOWN_TYPE
from slurm_topology.core.instance_types import read_ec2_types
from slurm_topology.core.model import Finding, Inventory, Partition, Severity, TopologyKind
from slurm_topology.core.shapes import items, mapping

from ._files import read_json, read_json_or_text

__all__ = ["Sources", "add_source_options", "add_wish_options", "read_sources", "wished_sizes"]

_NO_INSTANCE = "TOPO108"  # the finding about Slurm's nodes for which no instance is known
_INSTANCE_SOURCES = ("resource_config", "cluster_nodes", "instance_topology")

Value = TypeVar("Value")


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """--partitions, --cluster-nodes, --ultraservers, --instance-types: what both commands can make use of."""
    add = parser.add_argument
    add("--partitions", type=Path, metavar="F", help='JSON {"partition": ["group", …]}')
    add(
        "--cluster-nodes",
        type=Path,
        metavar="F",
        help="ListClusterNodes / DescribeClusterNode answers: UltraServers, zones",
    )
    add("--ultraservers", type=Path, metavar="F", help="ListUltraServersByReservedCapacity answer: sizes and spares")
    add(
        "--instance-types",
        type=Path,
        metavar="F",
        help="ec2 DescribeInstanceTypes answer, for types newer than the catalogue",
    )


def add_wish_options(parser: argparse.ArgumentParser) -> None:
    kinds = ["auto", *(kind.value for kind in TopologyKind)]
    parser.add_argument("--kind", choices=kinds, default="auto", help="override the choice (default: %(default)s)")
    parser.add_argument(
        "--block-sizes", metavar="N,…", default="", help="override the block sizes, for example 18 or 18,36"
    )


class Sources(NamedTuple):
    """All that the named files and options say."""

    inventory: Inventory
    findings: tuple[Finding, ...]
    wanted: TopologyKind | None  # None: the plan chooses
    block_sizes: tuple[int, ...]  # (): from the UltraServers


def read_sources(arguments: argparse.Namespace) -> Sources:
    """Read every file that was named. Wishes on the command line win over those in the plan.

    An instance type that nobody knows is an error here: the user can tell us more. Raises InputError for a file or an
    option that can't be used.
    """
    sizes = wished_sizes(arguments.block_sizes)
    plan = _read(arguments, "plan", lambda path: plan_document.read_inputs(read_json(path)))
    merged, findings = inventory.build(
        resource_config=_read(arguments, "resource_config", lambda path: read_resource_config.read(read_json(path))),
        slurm_nodes=_read(arguments, "slurm_nodes", lambda path: read_scontrol.read_nodes(read_json_or_text(path))),
        cluster_nodes=_read(arguments, "cluster_nodes", lambda path: read_cluster_nodes.read(read_json(path))),
        instance_topology=_read(
            arguments, "instance_topology", lambda path: read_instance_topology.read(read_json(path))
        ),
        ultraservers=_read(arguments, "ultraservers", lambda path: read_ultraservers.read(read_json(path))),
        groups=plan.groups if plan else (),
        partitions=_read(arguments, "partitions", _read_partitions) or (plan.partitions if plan else ()),
        ec2_types=_read(arguments, "instance_types", lambda path: read_ec2_types(read_json(path))),
    )
    kind = (plan.wanted if plan else None) if arguments.kind == "auto" else TopologyKind(arguments.kind)
    if not any(getattr(arguments, source, None) for source in _INSTANCE_SOURCES):
        findings = tuple(finding for finding in findings if finding.id != _NO_INSTANCE)  # nobody was asked for any
    strict = tuple(sorted(_stricter(finding) for finding in findings))
    return Sources(merged, strict, kind, sizes or (plan.block_sizes if plan else ()))


def wished_sizes(words: str) -> tuple[int, ...]:
    """The sizes of --block-sizes; () without any. Raises InputError."""
    try:
        return tuple(int(size) for size in words.split(",") if size.strip())
    except ValueError as error:
        raise InputError(f"--block-sizes {words!r}: expected whole numbers such as 18 or 18,36") from error


def _read(arguments: argparse.Namespace, option: str, read: Callable[[Path], Value]) -> Value | None:
    path: Path | None = getattr(arguments, option, None)
    if path is None:
        return None
    try:
        return read(path)
    except InputError as error:
        named = str(error) if str(path) in str(error) else f"{path}: {error}"
        raise InputError(named) from error


def _read_partitions(path: Path) -> tuple[Partition, ...]:
    document = mapping(read_json(path), "partitions")
    return tuple(
        Partition(str(name), tuple(str(group) for group in items(groups, f"partition {name}")))
        for name, groups in sorted(document.items())
    )


def _stricter(finding: Finding) -> Finding:
    """A person at the command line can correct a type's name or hand in EC2's facts; the agent can't, and goes on
    without."""
    return replace(finding, severity=Severity.ERROR) if finding.id == UNKNOWN_TYPE else finding
