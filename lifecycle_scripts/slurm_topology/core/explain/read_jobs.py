"""Reading ``scontrol show jobs`` and the reasons in ``scontrol show nodes`` (text forms, several lines a record).

JobName, Command, Comment and Reason are free text: every other field is looked for where Slurm prints it, at the start
of a line or after a field that it always follows. Recorded from 24.11.5 and 26.05.5.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import HostListError, InputError
from ..hostlist import expand
from ..shapes import describe, text
from .facts import Job, JobPhase

__all__ = ["NodeReason", "read_jobs", "read_reasons"]

_RUNNING = frozenset(
    {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STAGE_OUT", "SIGNALING", "STOPPED", "RESIZING"}
)
_ID = re.compile(r"(\d+)(?: ArrayJobId=(\d+) ArrayTaskId=(\S+))?.*?JobName=(.*)")
_FIELDS = {
    "user": re.compile(r"^ +UserId=(.*?)\(", re.MULTILINE),
    "state": re.compile(r"^ +JobState=(\S+)", re.MULTILINE),
    "reason": re.compile(r"^ +JobState=\S+ Reason=(.*?) Dependency=", re.MULTILINE),
    "submitted": re.compile(r"^ +SubmitTime=(\S+)", re.MULTILINE),
    "started": re.compile(r"^ +StartTime=(\S+)", re.MULTILINE),
    "ended": re.compile(r"^ +StartTime=\S+ EndTime=(\S+)", re.MULTILINE),
    "partitions": re.compile(r"^ +Partition=(\S+)", re.MULTILINE),
    "required": re.compile(r"^ +ReqNodeList=(\S+)", re.MULTILINE),
    "excluded": re.compile(r"^ +ReqNodeList=\S+ ExcNodeList=(\S+)", re.MULTILINE),
    "nodes": re.compile(r"^ +NodeList=(\S*)", re.MULTILINE),
    "count": re.compile(r"^ +NumNodes=(\d+)", re.MULTILINE),
    "features": re.compile(r"^ +Features=(\S+)", re.MULTILINE),
    "exclusive": re.compile(r"^ +OverSubscribe=(?:\S+ Exclusive=)?(TOPO)\b", re.MULTILINE),
    "switches": re.compile(r"^ +Switches=(\d+)(?:@(\S+))?", re.MULTILINE),
    "segment": re.compile(r"^ +SegmentSize=(\d+)", re.MULTILINE),
}
_REASON = re.compile(r"\sReason=(.*) \[[^\[\]@]*@(\d{4}-\d\d-\d\dT[0-9:]+)\]", re.DOTALL)
_NOTHING = "(null)"
_UNKNOWN_TIMES = frozenset({"Unknown", "None", "N/A"})


def read_jobs(document: str) -> tuple[Job, ...]:
    """All jobs in Slurm's order. Raises InputError when the text is not what ``scontrol show jobs`` prints."""
    records = re.split(r"^JobId=", document, flags=re.MULTILINE)[1:]
    if not records and document.strip() and "No jobs in the system" not in document:
        raise InputError(
            f"scontrol show jobs: expected records that begin with JobId=, got {describe(document.strip())}; "
            "save the output of `scontrol show jobs` as it is (without --json, without --oneliner)"
        )
    return tuple(_job(record) for record in records)


def _job(record: str) -> Job:
    first, _, body = record.partition("\n")
    number, array, task, name = _identity(first)
    state = _field("state", body) or ""
    phase = JobPhase.PENDING if state == "PENDING" else JobPhase.RUNNING if state in _RUNNING else JobPhase.ENDED
    switches = _FIELDS["switches"].search(body)
    return Job(
        id=f"{array}_{task}" if array else number,
        number=number,
        name=name,
        user=_field("user", body) or "",
        partitions=tuple((_field("partitions", body) or "").split(",")),
        phase=phase,
        state=state,
        reason=(_field("reason", body) or "").replace("_", " "),
        nodes=_nodes("nodes", body),
        node_count=int(_field("count", body) or 0),
        submitted=_time("submitted", body),
        started=_time("started", body),
        ended=_time("ended", body) if phase is JobPhase.ENDED else None,
        required_nodes=_nodes("required", body),
        excluded_nodes=_nodes("excluded", body),
        features=_field("features", body),
        switches=int(switches[1]) if switches else None,
        switches_wait=switches[2] if switches else None,
        segment=int(_field("segment", body) or 0) or None,
        exclusive_topology=_field("exclusive", body) is not None,
    )


def _identity(first: str) -> tuple[str, str | None, str | None, str]:
    found = _ID.match(first)
    if found is None:
        raise InputError(f"scontrol show jobs: expected 'JobId=… JobName=…', got 'JobId={first[:60]}'")
    return found[1], found[2], found[3], found[4].strip()


def _field(name: str, body: str) -> str | None:
    """The field's text; None without one, and where Slurm prints its word for nothing."""
    found = _FIELDS[name].search(body)
    return text(found[1]) if found and found[1] != _NOTHING else None


def _time(name: str, body: str) -> str | None:
    value = _field(name, body)
    return None if value in _UNKNOWN_TIMES else value


def _nodes(name: str, body: str) -> tuple[str, ...]:
    """The host list of a field; empty when Slurm has put a remark there instead of one."""
    try:
        return tuple(expand(_field(name, body) or ""))
    except HostListError:
        return ()


class NodeReason(NamedTuple):
    """Why a node is drained or down."""

    text: str
    since: str


def read_reasons(document: str) -> dict[str, NodeReason]:
    """Node name → reason, of the nodes that have one, from the text of ``scontrol show nodes`` (``--oneliner`` too)."""
    reasons: dict[str, NodeReason] = {}
    for record in re.split(r"^NodeName=", document, flags=re.MULTILINE)[1:]:
        found = _REASON.search(record)
        if found and text(found[1]):
            reasons[record.split(None, 1)[0]] = NodeReason(found[1].strip(), found[2])
    return reasons
