"""EC2: what an instance type's network can do, where instances sit, AWS's prefix lists. Raw answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from slurm_topology.core.errors import AwsError

from .call import Patience, pages, parallel

__all__ = [
    "InstanceTopologyAnswer",
    "describe_aws_prefix_lists",
    "describe_instance_topology",
    "describe_instance_types",
]

_MOST_NAMES = 100  # InstanceIds of DescribeInstanceTopology, InstanceTypes of DescribeInstanceTypes (API reference)
_WORKERS = 4
_REFUSED_IDS = frozenset({"InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed", "InvalidInstanceID"})
_REFUSED_TYPES = frozenset({"InvalidInstanceType"})


class InstanceTopologyAnswer(NamedTuple):
    """``answer`` has the shape of one DescribeInstanceTopology answer, in the order of the ids that were asked for."""

    answer: dict[str, Any]
    gone: tuple[str, ...]  # ids that EC2 does not know (any more)


def describe_instance_topology(
    client: Any, instance_ids: Iterable[str], patience: Patience, known: Iterable[str] = ()
) -> InstanceTopologyAnswer:
    """Where the instances sit, for those of ``instance_ids`` that are not in ``known``: a place never changes.

    At most 100 ids a call and four calls at a time. One id that is gone makes EC2 refuse the whole call: ids that the
    refusal names are left out, and when it names none, the call is halved. Never asks without ids, because that would
    page through the whole account. Ids that EC2 knows but has no placement for are in neither part of the result.
    """
    skip = set(known)
    ids = [instance_id for instance_id in dict.fromkeys(instance_ids) if instance_id not in skip]

    def ask(names: Sequence[str]) -> list[Any]:
        operation = "ec2:DescribeInstanceTopology"
        found: list[Any] = []
        for page in pages(client, operation, patience, InstanceIds=list(names)):
            found += page.get("Instances") or []
        return found

    found, gone = _ask_in_chunks(ask, ids, _REFUSED_IDS)
    position = {instance_id: index for index, instance_id in enumerate(ids)}
    found.sort(key=lambda one: position.get(str(one.get("InstanceId")), len(position)))
    return InstanceTopologyAnswer({"Instances": found}, tuple(gone))


def describe_instance_types(client: Any, names: Iterable[str], patience: Patience) -> dict[str, Any]:
    """Facts about types in EC2's form (``p5.48xlarge``): ``{"InstanceTypes": […]}``, without those EC2 doesn't know."""

    def ask(chunk: Sequence[str]) -> list[Any]:
        operation = "ec2:DescribeInstanceTypes"
        found: list[Any] = []
        for page in pages(client, operation, patience, InstanceTypes=list(chunk)):
            found += page.get("InstanceTypes") or []
        return found

    found, _ = _ask_in_chunks(ask, sorted(set(names)), _REFUSED_TYPES)
    return {"InstanceTypes": found}


def describe_aws_prefix_lists(client: Any, name: str, patience: Patience) -> dict[str, Any]:
    """AWS's own prefix lists of that name, not those of customers: ``{"PrefixLists": […]}``, one or none."""
    filters = [{"Name": "owner-id", "Values": ["AWS"]}, {"Name": "prefix-list-name", "Values": [name]}]
    found: list[Any] = []
    for page in pages(client, "ec2:DescribeManagedPrefixLists", patience, Filters=filters):
        found += page.get("PrefixLists") or []
    return {"PrefixLists": found}


def _ask_in_chunks(
    ask: Callable[[Sequence[str]], list[Any]], names: Sequence[str], refusals: frozenset[str]
) -> tuple[list[Any], list[str]]:
    chunks = [names[start : start + _MOST_NAMES] for start in range(0, len(names), _MOST_NAMES)]
    results = parallel(lambda chunk: _ask_without_refused(ask, chunk, refusals), chunks, _WORKERS)
    return [item for found, _ in results for item in found], [name for _, gone in results for name in gone]


def _ask_without_refused(
    ask: Callable[[Sequence[str]], list[Any]], names: Sequence[str], refusals: frozenset[str]
) -> tuple[list[Any], list[str]]:
    """Ask for ``names``, leaving out those that make the service refuse the whole call. Gives (answers, left out)."""
    if not names:
        return [], []
    try:
        return ask(names), []
    except AwsError as error:
        if error.code not in refusals:
            raise
        parts, gone = _split(names, str(error))
    found: list[Any] = []
    for part in parts:
        more, also_gone = _ask_without_refused(ask, part, refusals)
        found += more
        gone += also_gone
    return found, gone


def _split(names: Sequence[str], refusal: str) -> tuple[list[Sequence[str]], list[str]]:
    """What to ask next, and what to leave out. Each way the parts are smaller than ``names``, so the recursion ends."""
    mentioned = set(re.findall(r"[\w.-]+(?<!\.)", refusal))
    gone = [name for name in names if name in mentioned]
    if gone:
        return [[name for name in names if name not in mentioned]], gone
    if len(names) == 1:
        return [], list(names)
    middle = len(names) // 2
    return [names[:middle], names[middle:]], []
