"""slurm-topology diff: what changed from one topology file to another, by meaning."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from slurm_topology.core.check import parse_file
from slurm_topology.core.compare import diff
from slurm_topology.core.difference import Change, Difference, TopologyDifference
from slurm_topology.core.errors import InputError
from slurm_topology.core.explain import forest_of
from slurm_topology.core.hostlist import expand, fold
from slurm_topology.core.model import ClusterTopology, Flat, Severity

from ._files import read_any_text
from ._nodes import known_nodes

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Exit code: 0 the files mean the same to Slurm, 1 they don't, 2 one of them can't be read."
    help_of_file = "*.yaml, *.yml, *.json: topology.yaml; else topology.conf"
    parser.add_argument("before", type=Path, metavar="A", help=help_of_file)
    parser.add_argument("after", type=Path, metavar="B", help=help_of_file)
    parser.add_argument("--nodes", metavar="F|HOSTLIST", help="the nodes that Slurm has, as for check")
    parser.add_argument(
        "--partition",
        action="append",
        default=[],
        metavar="NAME[:TOPOLOGY]=HOSTLIST",
        help="also compare the largest job of this partition (repeatable)",
    )
    parser.add_argument("--json", action="store_true", help="print the difference as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Exit code: 0 same meaning, 1 another. Raises InputError (2)."""
    partitions = dict(_partition(given) for given in arguments.partition)
    topologies = {name: topology for name, (topology, _) in partitions.items() if topology}
    before, after = _read(arguments.before), _read(arguments.after)
    known = None if arguments.nodes is None else known_nodes(arguments.nodes)
    _make_sure_of(partitions, {arguments.before: before, arguments.after: after}, known)
    difference = diff(
        replace(before, partitions=topologies if _has_names(before) else {}),
        replace(after, partitions=topologies if _has_names(after) else {}),
        known_nodes=known,
        partition_nodes={name: nodes for name, (_, nodes) in partitions.items()},
    )
    print(json.dumps(_json(difference), indent=1, sort_keys=True) if arguments.json else "\n".join(_lines(difference)))
    return 0 if difference.same_meaning else 1


def _read(path: Path) -> ClusterTopology:
    """Raises InputError for a file that can't be read as slurmctld would: a difference to it would mean nothing."""
    parsed = parse_file(read_any_text(path), path.name)
    errors = [finding.message for finding in parsed.findings if finding.severity is Severity.ERROR]
    if errors:
        others = len(errors) - 1
        more = f", and {others} more error{'s' * (others > 1)}" if others else ""
        raise InputError(f'{path}: {errors[0]}{more}; "slurm-topology check" tells all')
    return parsed.topology


def _make_sure_of(
    partitions: Mapping[str, tuple[str, list[str]]],
    files: Mapping[Path, ClusterTopology],
    known: frozenset[str] | None,
) -> None:
    """Raises InputError for a partition with which nothing would be compared: its topology is in no file, or missing
    from one with names (slurmctld refuses such a file), or its nodes are in none."""
    named = {path: topology for path, topology in files.items() if _has_names(topology)}
    somewhere = known or frozenset().union(*map(_nodes_in, files.values()))
    has_flat = any(isinstance(entry.body, Flat) for topology in files.values() for entry in topology.topologies)
    for name, (wanted, nodes) in partitions.items():
        for path, topology in (named or files).items():
            if wanted and wanted not in {entry.name for entry in topology.topologies}:
                has = ", ".join(entry.name for entry in topology.topologies if entry.name) or "one without a name"
                raise InputError(f"--partition {name}:{wanted}: {path} has no such topology: expected {has}")
        if somewhere.isdisjoint(nodes) and (known or not has_flat):
            place = "--nodes" if known else "either file"
            raise InputError(f"--partition {name}: none of its nodes ({fold(nodes)}) is in {place}")


def _has_names(topology: ClusterTopology) -> bool:
    """A topology.conf's only topology has no name: it is every partition's."""
    return any(entry.name for entry in topology.topologies)


def _nodes_in(topology: ClusterTopology) -> frozenset[str]:
    return frozenset(node for entry in topology.topologies for node in forest_of(entry).leaf_of)


def _partition(given: str) -> tuple[str, tuple[str, list[str]]]:
    name_and_topology, equals, nodes = given.partition("=")
    name, _, topology = name_and_topology.partition(":")
    if not equals or not name or not nodes:
        raise InputError(f"--partition {given}: expected NAME=HOSTLIST or NAME:TOPOLOGY=HOSTLIST")
    return name, (topology, expand(nodes))


def _lines(difference: Difference) -> list[str]:
    lines = difference.lines()
    said = {job.partition for job in difference.largest_jobs if job.before != job.after}
    for job in difference.largest_jobs:
        if job.partition not in said and job.before is not None:
            where = f" in partition {job.partition}" if job.partition else ""
            lines.append(f"largest job{where}: {job.before} nodes, as before")
    return [*lines, "same meaning" if difference.same_meaning else "another meaning"]


def _json(difference: Difference) -> dict[str, Any]:
    before, after = difference.default
    return {
        "same_meaning": difference.same_meaning,
        "default": {"before": before, "after": after},
        "topologies": [_topology_json(topology) for topology in difference.topologies],
        "largest_jobs": [job._asdict() for job in difference.largest_jobs],
    }


def _topology_json(topology: TopologyDifference) -> dict[str, Any]:
    changes = topology.changes
    return {
        "name": topology.name,
        "kind": {"before": topology.kind_before, "after": topology.kind_after},
        "added": list(changes.added),
        "lost": list(changes.lost),
        "moved": _changes_json(changes.moved, "node"),
        "moved_switches": _changes_json(changes.moved_switches, "switch"),
        "renamed": [{"before": before, "after": after} for _, before, after in changes.renamed],
        "block_sizes": {"before": list(changes.sizes_before), "after": list(changes.sizes_after)},
        "blocks_reordered": changes.reordered,
    }


def _changes_json(changes: Iterable[Change], what: str) -> list[dict[str, str]]:
    return [{what: subject, "before": before, "after": after} for subject, before, after in changes]
