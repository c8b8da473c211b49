"""One AWS call, tried as often as makes sense in the time that is left."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from slurm_topology.core.errors import AwsError

from .clients import SDK_VERSION, Failure, SdkError, classify, refuse_empty

__all__ = ["NOT_IN_SDK", "OUT_OF_TIME", "Patience", "call", "iam_action", "pages", "parallel", "persist"]

Item = TypeVar("Item")
Result = TypeVar("Result")

# Codes of AwsError that no service gives.
OUT_OF_TIME = "OutOfTime"
NOT_IN_SDK = "NotInSdk"

# Operations whose IAM action has another name.
_IAM_ACTIONS = {"s3:HeadObject": "s3:GetObject"}


def _for_ever() -> float:
    return math.inf


@dataclass(frozen=True)
class Patience:
    """How often and how long to try. The clock, the sleep and the dice can be replaced, so that tests need no time.

    A pause is drawn evenly between 0 and ``first_pause_seconds``·2^n, at most ``longest_pause_seconds`` ("full jitter":
    it spreads callers that were throttled together better than a fixed back-off does).
    """

    remaining_seconds: Callable[[], float] = _for_ever  # until the caller wants its answer; ≤ 0: give up now
    attempts: int = 8
    denied_attempts: int = (
        1  # > 1 where the policy may be seconds old: IAM takes a moment to reach every region's corner
    )
    first_pause_seconds: float = 0.25
    longest_pause_seconds: float = 8.0
    sleep: Callable[[float], None] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform

    def wants_another(self, failure: Failure, attempt: int) -> bool:
        """Whether attempt number ``attempt`` (1, 2, …), which failed, should be followed by another."""
        if failure.denied:
            return attempt < self.denied_attempts
        return failure.again and attempt < self.attempts

    def pause_seconds(self, attempt: int) -> float:
        return self.uniform(0.0, min(self.longest_pause_seconds, self.first_pause_seconds * 2.0 ** (attempt - 1)))


def iam_action(operation: str) -> str:
    """The IAM action that allows an operation such as ``sagemaker:ListClusterNodes``."""
    return _IAM_ACTIONS.get(operation, operation)


def call(client: Any, operation: str, patience: Patience, /, **parameters: Any) -> dict[str, Any]:
    """Call ``operation`` (``service:OperationName``) and give back the raw answer.

    Raises AwsError as ``persist`` does, and with ``NOT_IN_SDK`` when the SDK is too old for the operation.
    """
    function = _function(client, operation)
    subject = f"s3://{parameters['Bucket']}/{parameters.get('Key', '')}" if "Bucket" in parameters else ""
    return persist(operation, patience, lambda: refuse_empty(operation, function(**parameters)), subject)


def persist(operation: str, patience: Patience, attempt_once: Callable[[], Result], subject: str = "") -> Result:
    """Do ``attempt_once`` until it succeeds.

    Throttling, server errors, lost connections and answers that were damaged on their way are tried again.
    ``subject`` is what the operation is about, for messages, where the service's own texts don't say it.
    Raises AwsError with the service's error code, or with ``OUT_OF_TIME`` when the patience ends first.
    """
    attempt = 1
    while True:
        if patience.remaining_seconds() <= 0:
            raise AwsError(f"no time was left to call {operation}", operation, OUT_OF_TIME)
        try:
            return attempt_once()
        except SdkError as error:
            failure = classify(error)
            if not patience.wants_another(failure, attempt):
                raise _final(operation, subject, failure, attempt) from error
            _pause(operation, patience, failure, attempt)
            attempt += 1


def _function(client: Any, operation: str) -> Callable[..., dict[str, Any]]:
    method = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operation.partition(":")[2]).lower()
    function: Callable[..., dict[str, Any]] | None = getattr(client, method, None)
    if function is None:
        raise AwsError(f"the AWS SDK here ({SDK_VERSION}) is too old to know {operation}", operation, NOT_IN_SDK)
    return function


def _pause(operation: str, patience: Patience, failure: Failure, attempt: int) -> None:
    seconds = patience.pause_seconds(attempt)
    if seconds >= patience.remaining_seconds():
        text = f"{operation} did not succeed in the time there was; the last of {attempt} answers was {_said(failure)}"
        raise AwsError(text, operation, OUT_OF_TIME)
    patience.sleep(seconds)


def _final(operation: str, subject: str, failure: Failure, attempt: int) -> AwsError:
    what = f"{operation} on {subject}" if subject else operation
    if failure.denied:
        text = (
            f"{what} was denied: {_said(failure)} Allow {_denied_action(operation, failure)} to the role that called."
        )
    elif failure.again:
        text = f"{what} still failed at attempt {attempt}: {_said(failure)}"
    else:
        text = f"{what} failed: {_said(failure)}"
    return AwsError(text, operation, failure.code)


def _denied_action(operation: str, failure: Failure) -> str:
    """The action that AWS names, which may be another service's (KMS, behind S3); else the operation's own."""
    named = re.search(r"not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)", failure.message)
    return named[1] if named else iam_action(operation)


def _said(failure: Failure) -> str:
    text = f"{failure.code}: {failure.message}"
    return text if text.endswith(".") else text + "."


def pages(client: Any, operation: str, patience: Patience, /, **parameters: Any) -> Iterator[dict[str, Any]]:
    """All pages of an operation that pages by ``NextToken``. A short or empty page with a token is not the last one."""
    seen: set[str] = set()
    token: str | None = None
    while True:
        answer = call(client, operation, patience, **parameters, **({"NextToken": token} if token else {}))
        yield answer
        token = answer.get("NextToken") or None
        if token is None:
            return
        if token in seen:
            raise AwsError(
                f"{operation} gave the same NextToken twice: its pages never end", operation, "NextTokenLoop"
            )
        seen.add(token)


def parallel(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> list[Result]:
    """Results in the order of ``items``, with at most ``workers`` calls under way; the first error stops the rest."""
    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
