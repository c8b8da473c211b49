"""The Lambda behind the custom resources: ``slurm_topology.aws_lambda.handler.handle``.

Key invariant: **every request gets an answer before the function is stopped.** An unanswered request blocks the stack
for an hour. So the work runs under a deadline, whatever goes wrong in it becomes the answer FAILED with a reason, and
this module imports nothing that could fail to import before there is something to answer with.

Delete always succeeds, and does nothing: what the resources have written stays, because a cluster that is being kept,
or that is rolled back to, still reads it. The bucket's own removal policy takes it away in the end.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TextIO

from slurm_topology import __version__
from slurm_topology.core.errors import SlurmTopologyError
from slurm_topology.deadline import DeadlineError, run_within

from .cfn_request import Request, RequestType
from .cfn_response import Answer, Postman, body
from .log import Log

__all__ = ["INITIAL_TOPOLOGY", "S3_PREFIX_LIST", "TOPOLOGY_PLAN", "Context", "Doors", "handle", "serve"]

TOPOLOGY_PLAN = "Custom::HyperPodSlurmTopologyPlan"
INITIAL_TOPOLOGY = "Custom::HyperPodSlurmInitialTopology"
S3_PREFIX_LIST = "Custom::HyperPodSlurmS3PrefixList"

# Kept back for the answer: six attempts with their pauses take 8 s on average, 16 s at most when each fails at once.
_ANSWER_SECONDS = 20.0

# IAM takes seconds to let a new policy work. With a new resource, or a new cluster, the policies are as new, and giving
# up would roll a cluster back that took twenty minutes: some 15 s of patience. Else only a changed one is: some 4 s.
_DENIED_ATTEMPTS_NEW = 7
_DENIED_ATTEMPTS = 4


class Context(Protocol):
    """The part of Lambda's context object that is used here."""

    log_group_name: str
    log_stream_name: str
    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int: ...


@dataclass(frozen=True)
class Doors:
    """The ways out of this function; tests put their own in place."""

    make_client: Callable[[str], Any] | None = None  # None: slurm_topology.aws.make_client
    postman: Postman = field(default_factory=Postman)
    log_stream: TextIO | None = None
    patience: Mapping[str, Any] = field(default_factory=dict)  # overrides of Patience's fields


@dataclass
class _Progress:
    """What the waiting thread may know of the work: nothing is behind ``step`` while it starts."""

    step: Callable[[], str] = lambda: "starting"


def handle(event: Mapping[str, object], context: Context) -> dict[str, object]:
    """Lambda's entry point. Gives back what was answered, which only the log of a test invocation shows."""
    return serve(event, context, Doors())


def serve(event: Mapping[str, object], context: Context, doors: Doors) -> dict[str, object]:
    """Do what CloudFormation asks and answer it. Raises only when there is nobody to answer, or no way to reach it.

    Lambda then runs the same event again: all work here may be repeated.
    """
    request = Request.from_event(event)
    log = Log({"aws_request_id": context.aws_request_id, **_about(request)}, doors.log_stream)
    log.info("request received", version=__version__, properties=request.properties)
    answer = _answer(request, context, doors, log)
    document = _document(request, answer)
    attempts = doors.postman.deliver(request.response_url, document, partial(_remaining_seconds, context))
    log.info("answer delivered", succeeded=answer.succeeded, bytes=len(document), attempts=attempts)
    return {"Status": "SUCCESS" if answer.succeeded else "FAILED", "Reason": answer.reason, "Data": dict(answer.data)}


def _about(request: Request) -> dict[str, str]:
    return {
        "request": request.type.value,
        "resource_type": request.resource_type,
        "logical_id": request.logical_id,
        "stack_id": request.stack_id,
    }


def _remaining_seconds(context: Context) -> float:
    return context.get_remaining_time_in_millis() / 1000


def _document(request: Request, answer: Answer) -> bytes:
    try:
        return body(request, answer)
    except SlurmTopologyError as error:
        return body(request, Answer(succeeded=False, reason=str(error)))


def _answer(request: Request, context: Context, doors: Doors, log: Log) -> Answer:
    """Never raises an Exception: what goes wrong is the answer."""
    if request.type is RequestType.DELETE:
        return Answer(succeeded=True, reason="nothing is deleted: the bucket's removal policy decides on its content")
    total = _remaining_seconds(context)
    progress = _Progress()
    try:
        work = partial(_work, request, doors, log, progress)
        return run_within(total - min(_ANSWER_SECONDS, total / 3), work)
    except DeadlineError as error:
        reason = (
            f"{error}, and this function is stopped after {total:.0f} s. AWS was slow or throttled the calls: deploy "
            "again, or raise the function's timeout"
        )
    except SlurmTopologyError as error:
        reason = str(error)
    except Exception as error:
        log.error("unexpected error", error=repr(error), traceback=traceback.format_exc())
        reason = f"a fault in slurm_topology {__version__}, please report it: {type(error).__name__}: {error}"
    log.error("request failed", step=progress.step(), reason=reason)
    return Answer(succeeded=False, reason=_explain(reason, progress.step(), context))


def _explain(reason: str, step: str, context: Context) -> str:
    end = "" if reason.endswith((".", "!", "?")) else "."
    return (
        f"While {step}: {reason}{end} What was in force before still is. "
        f"Log: group {context.log_group_name}, stream {context.log_stream_name}, request {context.aws_request_id}"
    )


def _work(
    request: Request, doors: Doors, log: Log, progress: _Progress, remaining_seconds: Callable[[], float]
) -> Answer:
    # Imported here, under the deadline: whatever fails to import (the SDK, say) is answered like any other failure.
    from slurm_topology import aws

    from . import initial_topology, s3_prefix_list, topology_plan
    from .work import Work

    denied_attempts = _DENIED_ATTEMPTS_NEW if request.cluster_is_new else _DENIED_ATTEMPTS
    settings: dict[str, Any] = {"denied_attempts": denied_attempts, "first_pause_seconds": 1.0, **doors.patience}
    patience = aws.Patience(remaining_seconds=remaining_seconds, **settings)
    work = Work(log, patience, doors.make_client or aws.make_client)
    progress.step = lambda: work.current_step
    workers = {
        TOPOLOGY_PLAN: topology_plan.create_or_update,
        INITIAL_TOPOLOGY: initial_topology.create_or_update,
        S3_PREFIX_LIST: s3_prefix_list.create_or_update,
    }
    if request.resource_type not in workers:
        raise SlurmTopologyError(f"got resource type {request.resource_type}, expected one of {', '.join(workers)}")
    return workers[request.resource_type](request, work)
