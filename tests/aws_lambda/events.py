"""What Lambda hands to the function, and what CloudFormation gets from it."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import Any

from slurm_topology.aws_lambda.cfn_response import Postman

__all__ = ["STACK_ID", "URL", "LambdaContext", "Mailbox", "event", "log_lines"]

STACK_ID = "arn:aws:cloudformation:us-west-2:123456789012:stack/Training/6f1c3d00-0000-11ee-8888-0a58a9feac02"
URL = "https://cloudformation-custom-resource-response.example/answer?X-Amz-Signature=SECRET"


def event(kind: str, resource_type: str, properties: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A custom resource request as CloudFormation sends it; ``changes`` add or replace members."""
    return {
        "RequestType": kind,
        "ResourceType": resource_type,
        "ResponseURL": URL,
        "StackId": STACK_ID,
        "RequestId": "unique-id",
        "LogicalResourceId": "ClusterTopologyPlan1A2B3C",
        "ServiceToken": "arn:aws:lambda:us-west-2:123456789012:function:f",
        "ResourceProperties": {"ServiceToken": "arn", "ServiceTimeout": "900", **properties},
        **({} if kind == "Create" else {"PhysicalResourceId": "Training-ClusterTopologyPlan1A2B3C"}),
        **changes,
    }


@dataclass
class LambdaContext:
    """``milliseconds``: what is left of the function's time, the same at each question."""

    milliseconds: int = 300_000
    log_group_name: str = "/aws/lambda/topology"
    log_stream_name: str = "2026/12/01/[$LATEST]abc"
    aws_request_id: str = "lambda-request-1"

    def get_remaining_time_in_millis(self) -> int:
        return self.milliseconds


@dataclass
class Mailbox:
    """CloudFormation's side of the answer. ``replies``: HTTP status or exception of each PUT, 200 after the last."""

    replies: list[int | Exception] = field(default_factory=list)
    received: list[tuple[str, bytes]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    def put(self, url: str, content: bytes) -> int:
        self.received.append((url, content))
        reply = self.replies.pop(0) if self.replies else 200
        if isinstance(reply, Exception):
            raise reply
        return reply

    @property
    def postman(self) -> Postman:
        return Postman(put=self.put, sleep=self.slept.append, uniform=lambda _, high: high)

    @property
    def answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.received[-1][1])
        return answer


def log_lines(stream: io.StringIO) -> list[dict[str, Any]]:
    """The log, one object a line; a line that is no JSON fails here."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]
