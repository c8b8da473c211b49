"""The answer to CloudFormation: a JSON document that is PUT to a presigned URL.

Without an answer CloudFormation waits for an hour (or the resource's ServiceTimeout): the PUT is tried several times.
Source: AWS CloudFormation User Guide, "Custom resource response objects".
"""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from slurm_topology.core.errors import AwsError, InputError

from .cfn_request import Request

__all__ = ["MOST_BYTES", "Answer", "Postman", "body", "put_once"]

MOST_BYTES = 4096  # of the whole document; CloudFormation drops a longer one and waits on (User Guide)
_MOST_REASON = 1500  # characters; the console shows about as much

_OPERATION = "cloudformation:Response"


@dataclass(frozen=True)
class Answer:
    """``data``: the resource's attributes; ``shorter``: what stands for one of them when all are too long together."""

    succeeded: bool
    reason: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    shorter: Mapping[str, str] = field(default_factory=dict)


def body(request: Request, answer: Answer) -> bytes:
    """The document, at most ``MOST_BYTES`` long: first long attributes are replaced, then the reason is cut."""
    data = dict(answer.data)
    reason = _cut(answer.reason, _MOST_REASON)
    replaceable = sorted(answer.shorter, key=lambda name: len(data.get(name, "")))
    while len(document := _document(request, answer, reason, data)) > MOST_BYTES:
        if replaceable:
            name = replaceable.pop()
            data[name] = answer.shorter[name]
        elif len(reason) > 100:
            reason = _cut(reason, len(reason) // 2)
        else:
            raise InputError(f"the answer has {len(document)} bytes, CloudFormation takes {MOST_BYTES}: {sorted(data)}")
    return document


def _document(request: Request, answer: Answer, reason: str, data: Mapping[str, str]) -> bytes:
    content = {
        "Status": "SUCCESS" if answer.succeeded else "FAILED",
        "Reason": reason,
        "PhysicalResourceId": request.physical_id,
        "StackId": request.stack_id,
        "RequestId": request.request_id,
        "LogicalResourceId": request.logical_id,
        "Data": data,
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _cut(text: str, most: int) -> str:
    """At most ``most`` characters: the beginning says what is wrong, the end where to look."""
    if len(text) <= most:
        return text
    tail = text[-most // 3 :]
    return text[: most - len(tail) - 3] + " … " + tail


def put_once(url: str, content: bytes) -> int:
    """The one door to CloudFormation: PUT ``content``, give back the HTTP status. Raises OSError when there is none."""
    if not url.startswith(("https://", "http://")):
        raise InputError("the ResponseURL is neither https nor http")
    # The signature of the URL covers an empty content type.
    request = urllib.request.Request(url, data=content, method="PUT", headers={"Content-Type": ""})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except http.client.HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Postman:
    """Brings the answer, several times if need be. All its doors can be replaced."""

    put: Callable[[str, bytes], int] = put_once
    sleep: Callable[[float], None] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform
    attempts: int = 6

    def deliver(self, url: str, content: bytes, remaining_seconds: Callable[[], float]) -> int:
        """PUT until it succeeds; gives the number of attempts. Raises AwsError when none does in the time there is."""
        said = "no time was left"
        for attempt in range(1, self.attempts + 1):
            status, said = self._try(url, content)
            if status is not None and status < 300:
                return attempt
            if status is not None and 400 <= status < 500 and status != 429:
                break  # the URL has expired, or this request was answered already: no attempt will do better
            pause = self.uniform(0.0, 0.5 * 2.0 ** (attempt - 1))
            if attempt == self.attempts or pause >= remaining_seconds():
                break
            self.sleep(pause)
        raise AwsError(f"CloudFormation could not be told the result after {attempt} attempts: {said}", _OPERATION)

    def _try(self, url: str, content: bytes) -> tuple[int | None, str]:
        try:
            status = self.put(url, content)
        except OSError as error:  # URLError, time-outs, resets; the text never holds the URL
            return None, f"{type(error).__name__}: {error}"
        return status, f"HTTP {status}"
