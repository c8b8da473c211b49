"""SageMaker's JSON API, and what IAM needs to know of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ministack import app
from ministack.core import iam_actions, router
from ministack.core.responses import get_account_id, get_region

from local_cloud.errors import HyperPodError
from local_cloud.plugin.state import here

__all__ = ["install"]

Answer = tuple[int, dict[str, str], bytes]


async def handle_request(
    _method: str, _path: str, headers: dict[str, str], body: bytes, _query_params: dict[str, Any]
) -> Answer:
    operation = headers.get("x-amz-target", "").rpartition(".")[2]
    try:
        answer = here().call(operation, json.loads(body or b"{}"))
    except HyperPodError as error:
        return _answer(400, {"__type": error.code, "Message": error.message})
    return _answer(200, answer)


def _answer(status: int, document: dict[str, Any]) -> Answer:
    return status, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(document).encode()


def resource_arn(body: bytes) -> str:
    """The resource that IAM checks, as the service authorization reference says; `*` for calls that name none."""
    request = json.loads(body or b"{}")
    prefix = f"arn:aws:sagemaker:{get_region()}:{get_account_id()}"
    if name := request.get("ClusterName"):
        try:
            return here().cluster(name).arn
        except HyperPodError:
            return str(name) if name.startswith("arn:") else f"{prefix}:cluster/{name}"
    if plan := request.get("TrainingPlanName"):
        return str(plan) if plan.startswith("arn:") else f"{prefix}:training-plan/{plan}"
    return str(request.get("ReservedCapacityArn", "*"))


def install() -> None:
    """Make ministack answer for SageMaker."""
    router.SERVICE_PATTERNS["sagemaker"] = {"target_prefixes": ["SageMaker."], "host_patterns": [r"sagemaker\."]}
    app.SERVICE_HANDLERS["sagemaker"] = handle_request
    iam_actions.SERVICE_TO_IAM_NAMESPACE["sagemaker"] = "sagemaker"
    iam_actions._SERVICE_PROTOCOL["sagemaker"] = "json"
    original: Callable[..., str] = iam_actions.extract_resource_arn

    def with_sagemaker(service: str, method: str, path: str, headers: dict[str, str], body: bytes, *rest: Any) -> str:
        if service == "sagemaker":
            return resource_arn(body)
        return original(service, method, path, headers, body, *rest)

    iam_actions.extract_resource_arn = with_sagemaker
