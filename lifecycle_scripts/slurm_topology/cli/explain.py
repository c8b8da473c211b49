"""slurm-topology explain: how well a job is placed, why one waits, how scattered the free nodes are."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any

from slurm_topology.core.errors import InputError
from slurm_topology.core.explain import (
    Context,
    Fragmentation,
    Job,
    JobPhase,
    Pending,
    Placed,
    explain_nodes,
    explain_pending,
    explain_placed,
    find_job,
    fragmentation,
)
from slurm_topology.core.hostlist import expand
from slurm_topology.view import fragmentation_lines, job_lines, pending_lines, placed_lines

from ._snapshot import add_snapshot_options, read_snapshot

__all__ = ["add_arguments", "run"]

_Answer = Placed | Pending | Fragmentation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "job", nargs="?", metavar="JOBID", help="a job, such as 42; 42_7 or 42_[2-9] of an array, as squeue prints it"
    )
    what.add_argument(
        "--nodes", metavar="LIST", help="any nodes, as a host list: how near they are, compared with what is free now"
    )
    what.add_argument(
        "--all", action="store_true", help="every job, and how scattered the free nodes of each topology are"
    )
    parser.add_argument(
        "--partition",
        metavar="P",
        help="with --nodes: the partition whose topology counts (default: the cluster's default)",
    )
    parser.add_argument("--json", action="store_true", help="print the answers as JSON")
    add_snapshot_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0. Raises InputError (2) for an unknown job or node, CommandError (3)."""
    answers = list(_answers(arguments, Context(read_snapshot(arguments))))
    if arguments.json:
        named = [{"answer": type(answer).__name__.lower(), **_plain(answer)} for answer in answers]
        print(json.dumps(named, indent=1, sort_keys=True))
        return 0
    reports = [answer for answer in answers if isinstance(answer, Fragmentation)]
    jobs = [answer for answer in answers if not isinstance(answer, Fragmentation)]
    sections = [fragmentation_lines(report) for report in reports]
    sections += [job_lines(jobs)] if arguments.all else [_job_words(job) for job in jobs]
    print("\n\n".join("\n".join(section) for section in sections))
    return 0


def _job_words(answer: Placed | Pending) -> Iterator[str]:
    return placed_lines(answer) if isinstance(answer, Placed) else pending_lines(answer)


def _answers(arguments: argparse.Namespace, context: Context) -> Iterator[_Answer]:
    if arguments.nodes is not None:
        nodes = _known_nodes(context, arguments.nodes)
        yield explain_nodes(context, nodes, _known_partition(context, arguments.partition))
        return
    if arguments.partition is not None:
        raise InputError(f"--partition {arguments.partition}: goes with --nodes alone: a job has its own partition")
    if not arguments.all:
        yield _explain(context, find_job(context.snapshot.jobs, arguments.job))
        return
    for topology in context.snapshot.topology.topologies:
        yield fragmentation(context, topology)
    for job in context.snapshot.jobs:
        if job.phase is not JobPhase.ENDED:
            yield _explain(context, job)


def _explain(context: Context, job: Job) -> Placed | Pending:
    return explain_pending(context, job) if job.phase is JobPhase.PENDING else explain_placed(context, job)


def _known_nodes(context: Context, listed: str) -> list[str]:
    names = expand(listed)
    strange = [name for name in names if name not in context.snapshot.nodes]
    if strange or not names:
        raise InputError(f"--nodes {listed}: expected nodes of the cluster, got {', '.join(strange[:5]) or 'none'}")
    return names


def _known_partition(context: Context, name: str | None) -> str | None:
    """Raises InputError for a partition that nothing we were given names: its topology would be a guess."""
    snapshot = context.snapshot
    known = {partition.name for partition in snapshot.partitions} | set(snapshot.topology.partitions)
    known |= {partition for node in snapshot.nodes.values() for partition in node.partitions}
    if name is not None and name not in known:
        told = ", ".join(sorted(known)) or "none (--slurm-partitions or --slurm-nodes tell them)"
        raise InputError(f"--partition {name}: expected a partition of the cluster, which has: {told}")
    return name


def _plain(value: Any) -> Any:
    """Dataclasses, named tuples and enums as JSON has them."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value) if not hasattr(value, "_asdict") else value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
