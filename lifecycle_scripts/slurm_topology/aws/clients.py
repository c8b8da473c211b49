"""The only importer of boto3 and botocore: makes clients and says what kind of failure an SDK exception is."""

from __future__ import annotations

from typing import Any, NamedTuple

import boto3
import botocore
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    FlexibleChecksumError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    ParamValidationError,
)
from botocore.exceptions import ConnectionError as SdkConnectionError
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError as TransportError

__all__ = ["DENIED", "SDK_VERSION", "Failure", "SdkError", "classify", "make_client", "refuse_empty"]

SDK_VERSION: str = f"botocore {botocore.__version__}"


class EmptyAnswerError(Exception):
    """An answer without a single member, to an operation whose answers have some."""


# What a client may raise: an answer of the service (ClientError), no answer (BotoCoreError), or one that is broken.
# botocore's parsers have an error of their own, and it lets some of urllib3's through while a body is read.
SdkError = (ClientError, BotoCoreError, ResponseParserError, TransportError, EmptyAnswerError)

# No answer, or one that was damaged on its way: a load balancer's own text, a body cut off or with a wrong checksum.
_LOST = (
    EmptyAnswerError,
    FlexibleChecksumError,
    HTTPClientError,
    IncompleteReadError,
    ResponseParserError,
    SdkConnectionError,
    TransportError,
)

# botocore's own lists (retries/standard.py, throttled and transient errors of 1.43), plus EC2's and IAM's spellings.
_THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_TRANSIENT = frozenset(
    {"InternalError", "InternalFailure", "InternalServerException", "RequestTimeout", "ServiceUnavailable"}
)
DENIED = frozenset(
    {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized", "403", "Forbidden"}
)


class Failure(NamedTuple):
    """What an SDK exception amounts to."""

    code: str  # the service's error code, or the exception's name when there was no answer
    message: str
    again: bool  # the same call may well succeed a little later
    denied: bool


def make_client(
    service: str, region: str | None = None, *, connect_seconds: float = 5, read_seconds: float = 20
) -> Any:
    """A client that neither retries nor waits for long by itself.

    ``call`` decides on retries, because only it knows how much time is left; so one call costs at most 25 seconds.
    """
    config = Config(
        connect_timeout=connect_seconds,
        read_timeout=read_seconds,
        max_pool_connections=16,
        retries={"mode": "standard", "total_max_attempts": 1},
    )
    return boto3.client(service, region_name=region, config=config)


def classify(error: Exception) -> Failure:
    """Say what kind of failure ``error`` (one of ``SdkError``) is."""
    if isinstance(error, ClientError):
        return _classify_answer(error)
    name = type(error).__name__
    if isinstance(error, _LOST):
        return Failure(name, " ".join(str(error).split()), again=True, denied=False)
    if isinstance(error, NoCredentialsError):
        return Failure(
            name, "no AWS credentials were found", again=True, denied=False
        )  # a role's may come a moment later
    message = " ".join(str(error).split()) if isinstance(error, ParamValidationError) else str(error)
    return Failure(name, message, again=False, denied=False)


def refuse_empty(operation: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Give ``answer`` back, or raise EmptyAnswerError when it can't be one.

    botocore takes JSON that is cut off, or a proxy's page, for an answer without members. Every operation of SageMaker
    that is called here has members that its model requires.
    """
    if operation.startswith("sagemaker:") and answer.keys() <= {"ResponseMetadata"}:
        raise EmptyAnswerError("the answer was empty or no JSON")
    return answer


def _classify_answer(error: ClientError) -> Failure:
    answer = error.response.get("Error", {})
    code = str(answer.get("Code") or "Unknown")
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 0)
    again = code in _THROTTLED or code in _TRANSIENT or status == 429 or status >= 500
    return Failure(code, str(answer.get("Message") or error), again, denied=code in DENIED)
