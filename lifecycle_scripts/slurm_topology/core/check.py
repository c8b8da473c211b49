"""The checker: everything that slurmctld of a version would refuse, crash on, or quietly mangle in a topology.

At least as strict as slurmctld. Where it is stricter on purpose, docs/findings.md says so and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

from . import check_rules as rules
from .check_blocks import check_blocks
from .check_names import check_topology_name
from .check_nodes import check_nodes, default_name
from .check_rules import Report, said
from .check_tree import check_tree
from .model import Blocks, ClusterTopology, Finding, NamedTopology, Severity, Tree
from .parse_conf import parse as parse_conf
from .parse_yaml import parse as parse_yaml
from .parsed import Parsed
from .render_yaml import PAGE
from .slurm_version import SlurmVersion

__all__ = ["check_text", "check_topology", "is_yaml", "parse_file"]

_NONE: Mapping[str, Collection[str]] = MappingProxyType({})
# what lines that can't be read bring about: not worth telling beside them
_CONSEQUENCES = frozenset(
    rule.id
    for rule in (
        rules.EMPTY_SWITCH,
        rules.EMPTY_SWITCH_FATAL,
        rules.EMPTY_BLOCK,
        rules.SHORT_BLOCK,
        rules.NO_BLOCK_NODES,
        rules.UNPLACED_NODES,
    )
)
_UNNAMED = "default"  # what Slurm ≥ 25.05 calls the topology of a topology.conf


def check_topology(
    topology: ClusterTopology,
    version: SlurmVersion,
    known_nodes: Collection[str] | None,
    partition_topologies: Collection[str] = (),
    *,
    partition_nodes: Mapping[str, Collection[str]] = _NONE,
) -> tuple[Finding, ...]:
    """All findings about a topology, as slurmctld of ``version`` would load it from its file.

    ``known_nodes``: the nodes that Slurm has; None skips what needs them. ``partition_topologies``: the names that
    slurm.conf's partitions use in Topology=, beside those of ``topology.partitions``. ``partition_nodes``: partition →
    its nodes, to check that each is placed where its jobs look for it, and that these have a place at every size;
    without it, all nodes must be in the default.
    """
    report = Report()
    known = None if known_nodes is None else frozenset(known_nodes)
    _check_list(report, topology, version)
    if version.has_topology_yaml:
        _check_references(report, topology, {*partition_topologies, *topology.partitions.values()})
    for entry in topology.topologies:
        if isinstance(entry.body, Tree):
            check_tree(report, entry.body, entry.name, version)
        elif isinstance(entry.body, Blocks):
            users = _users(topology, entry, partition_nodes)
            check_blocks(report, entry.body, entry.name, version, known, users=users)
    check_nodes(report, topology, version, known, partition_nodes)
    return report.findings


def check_text(
    text: str,
    file_name: str,
    version: SlurmVersion,
    known_nodes: Collection[str] | None = None,
    partition_topologies: Collection[str] = (),
    *,
    partition_nodes: Mapping[str, Collection[str]] = _NONE,
) -> tuple[Finding, ...]:
    """All findings about a file: what reading it shows, then what ``check_topology`` says, with line numbers.

    ``file_name`` tells the format (``is_yaml``). Raises InputError when the file can't be read without PyYAML and that
    isn't installed.
    """
    parsed = parse_file(text, file_name)
    report = Report()
    if is_yaml(file_name):
        if not version.has_topology_yaml:
            report.add(rules.NOT_READ, "topology.yaml", f"Slurm {version} doesn't read it: expected topology.conf")
            return (*report.findings, *parsed.findings)
        _check_size(report, text, version)
    findings = [*report.findings, *parsed.findings]
    if parsed.topology.topologies:
        more = check_topology(
            parsed.topology, version, known_nodes, partition_topologies, partition_nodes=partition_nodes
        )
        unreadable = any(finding.severity is Severity.ERROR for finding in parsed.findings)
        findings += [_with_line(each, parsed) for each in more if not (unreadable and each.id in _CONSEQUENCES)]
    return tuple(findings)


def is_yaml(file_name: str) -> bool:
    """Whether a file is to be read as topology.yaml (which may be JSON text); anything else is a topology.conf."""
    return file_name.lower().endswith((".yaml", ".yml", ".json"))


def parse_file(text: str, file_name: str) -> Parsed:
    """Read either format; raises InputError as ``parse_yaml.parse`` does."""
    return parse_yaml(text) if is_yaml(file_name) else parse_conf(text)


def _with_line(finding: Finding, parsed: Parsed) -> Finding:
    line = parsed.lines.get(finding.subject)
    if not line:
        return finding
    message = said(finding.subject, finding.message.removeprefix(f"{finding.subject}: "), line)
    return replace(finding, message=message)


def _check_size(report: Report, text: str, version: SlurmVersion) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size and size % PAGE == 0 and version < (26, 5):
        message = f"has {size} bytes: Slurm {version} can't read a file of a multiple of {PAGE} bytes"
        report.add(rules.PAGE_SIZED, "topology.yaml", message)


def _check_list(report: Report, topology: ClusterTopology, version: SlurmVersion) -> None:
    """How many topologies there are, their names, and which one is the default."""
    entries = topology.topologies
    if not entries:
        report.add(rules.NOTHING_DEFINED, version.topology_file, "defines no topology")
    for entry in entries:
        if entry.body == Tree() or (isinstance(entry.body, Blocks) and not entry.body.blocks):
            report.add(rules.NOTHING_DEFINED, f"topology {entry.name}", "has no switch and no block")
    if len(entries) > 1 and not version.has_topology_yaml:
        message = f"holds {len(entries)} topologies, Slurm {version} has one for the whole cluster"
        report.add(rules.NOT_EXPRESSIBLE, version.topology_file, message)
    for name, count in Counter(entry.name for entry in entries).items():
        if count > 1:
            report.add(rules.TOPOLOGY_TWICE, f"topology {name}", f"is defined {count} times, partitions get the first")
        if name or len(entries) > 1:
            check_topology_name(report, name)
    defaults = [entry.name for entry in entries if entry.cluster_default]
    if len(defaults) > 1:
        report.add(
            rules.TWO_DEFAULTS, f"topology {defaults[1]}", f"is a cluster default beside {defaults[0]}, which wins"
        )
    if len(entries) > 1 and not defaults:
        report.add(rules.NO_DEFAULT, version.topology_file, f"has no cluster default, Slurm takes {entries[0].name!r}")


def _users(
    topology: ClusterTopology, entry: NamedTopology, partition_nodes: Mapping[str, Collection[str]]
) -> dict[str, frozenset[str]]:
    """The nodes of each partition whose jobs are placed by this topology."""
    default = default_name(topology)
    used = ((name, nodes) for name, nodes in partition_nodes.items() if name)
    return {name: frozenset(nodes) for name, nodes in used if topology.partitions.get(name, default) == entry.name}


def _check_references(report: Report, topology: ClusterTopology, used: Collection[str]) -> None:
    defined = {entry.name or _UNNAMED for entry in topology.topologies}
    for name in sorted(set(used) - defined):
        message = f"is used by a partition, but not defined ({', '.join(sorted(defined))}): slurmctld refuses to start"
        report.add(rules.UNDEFINED_TOPOLOGY, f"topology {name}", message)
