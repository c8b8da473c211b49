"""A fake AWS service behind a real boto3 client.

Parameters go through botocore's own validation and serialization, and answers are held against the service model: a
member that the API doesn't have fails the test, on the way in and on the way out. Nothing reaches the network.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import boto3
from botocore.config import Config
from botocore.validate import validate_parameters

from slurm_topology.aws import Patience

__all__ = ["Refusal", "ServiceFake", "patience"]

Handler = Callable[..., dict[str, Any]]


class Refusal(Exception):  # noqa: N818 - what a service says, not what a test failed of
    """What a handler raises to make the service answer with an error."""

    def __init__(self, code: str, message: str = "no", status: int = 400) -> None:
        super().__init__(code)
        self.code, self.message, self.status = code, message, status


@cache
def _session() -> boto3.Session:
    return boto3.Session("testing", "testing", region_name="us-west-2")


class ServiceFake:
    """``handlers``: operation → function that takes the call's parameters and gives the answer, or raises Refusal.

    ``calls`` has every call in order: (operation, parameters).
    """

    def __init__(self, service: str, handlers: Mapping[str, Handler]) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.client = _session().client(service, config=Config(retries={"total_max_attempts": 1}))
        self.handlers = dict(handlers)
        self._parameters = threading.local()
        events = self.client.meta.events
        events.register_first("provide-client-params.*.*", self._note)
        events.register_first("before-call.*.*", self._answer)

    def count(self, operation: str) -> int:
        return sum(name == operation for name, _ in self.calls)

    def _note(self, params: dict[str, Any], **_: Any) -> None:
        self._parameters.value = dict(params)

    def _answer(self, model: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
        parameters = self._parameters.value
        self.calls.append((model.name, parameters))
        try:
            answer = self.handlers[model.name](**parameters)
        except Refusal as refusal:
            error = {"Error": {"Code": refusal.code, "Message": refusal.message}}
            return SimpleNamespace(status_code=refusal.status), {
                **error,
                "ResponseMetadata": {"HTTPStatusCode": refusal.status},
            }
        if model.output_shape is not None:
            validate_parameters(answer, model.output_shape)
        return SimpleNamespace(status_code=200), answer


def patience(**changes: Any) -> Patience:
    """A Patience that never sleeps."""
    return Patience(**{"sleep": lambda _: None, "uniform": lambda _, high: high, **changes})
