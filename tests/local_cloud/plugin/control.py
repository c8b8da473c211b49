"""What no AWS API offers: `/_hyperpod/…` on the same server, for tests and `make local`.

GET  /_hyperpod/resource-config?cluster=NAME     the controller's resource_config.json
POST /_hyperpod/faults            {"operation", "message", "kind", "times"}
POST /_hyperpod/replace           {"cluster", "node", "leaf"}
POST /_hyperpod/training-plans    {"name", "zone", "instance_type", "ultraservers", "spares"}
POST /_hyperpod/keep              stay when the process that started the server ends
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

from local_cloud.errors import Fault, HyperPodError
from local_cloud.plugin.state import here
from local_cloud.resource_config import resource_config
from local_cloud.training_plans import TrainingPlan

__all__ = ["PREFIX", "with_control"]

PREFIX = "/_hyperpod/"
Json = dict[str, Any]
Asgi = Callable[[Json, Callable[[], Awaitable[Json]], Callable[[Json], Awaitable[None]]], Awaitable[None]]


def answer(method: str, name: str, query: dict[str, list[str]], body: Json) -> Json:
    """One control request. Raises HyperPodError, TypeError or ValueError with what is wrong with it."""
    match method, name:
        case "GET", "resource-config":
            return resource_config(here().cluster(query["cluster"][0]))
        case "POST", "faults":
            here().faults.append(Fault(**body))
            return {"faults": len(here().faults)}
        case "POST", "replace":
            node = here().replace(body["cluster"], body["node"], body.get("leaf"))
            return {"instance_id": node.instance_id, "network_nodes": list(node.network_nodes)}
        case "POST", "training-plans":
            return {"arn": here().add_training_plan(TrainingPlan(**body))}
    raise ValueError(f"no control {method} {PREFIX}{name}")


def with_control(app: Asgi) -> Asgi:
    """The server with these paths in front of it."""

    async def controlled(
        scope: Json, receive: Callable[[], Awaitable[Json]], send: Callable[[Json], Awaitable[None]]
    ) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await app(scope, receive, send)
            return
        body = await _body(receive)
        query = parse_qs(scope.get("query_string", b"").decode())
        try:
            status, document = 200, answer(scope["method"], scope["path"].removeprefix(PREFIX), query, body)
        except (HyperPodError, KeyError, TypeError, ValueError) as error:
            status, document = 400, {"error": f"{type(error).__name__}: {error}"}
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(document).encode()})

    return controlled


async def _body(receive: Callable[[], Awaitable[Json]]) -> Json:
    content = b""
    while True:
        message = await receive()
        content += message.get("body", b"")
        if not message.get("more_body"):
            return json.loads(content) if content else {}
