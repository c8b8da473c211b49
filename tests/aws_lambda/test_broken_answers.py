"""Answers that are damaged on their way: a real client reads them from a real server, and tries again.

What may damage them: a load balancer that answers for the service with a page of its own, a connection that ends
half-way, a proxy between a private subnet and AWS.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from aws_lambda.service_fake import patience
from slurm_topology import aws
from slurm_topology.core.errors import AwsError

TYPES = b"""<DescribeInstanceTypesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><instanceTypeSet><item>
<instanceType>p9.large</instanceType></item></instanceTypeSet></DescribeInstanceTypesResponse>"""
NODES = b'{"ClusterNodeSummaries": []}'
PAGE = b"<html><body>upstream connect error<br></body></html>"
ATTEMPTS = 3


@dataclass
class Reply:
    """``length``: what Content-Length says, None for the truth; ``hang_up``: no answer at all."""

    status: int = 200
    body: bytes = b""
    length: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False


@dataclass
class Server:
    """Gives ``replies`` one after the other, and the last one again and again."""

    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    requests: int = 0

    def next(self) -> Reply:
        self.requests += 1
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: Server

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = self.server_state.next()
        self.close_connection = True
        if reply.hang_up:
            return
        self.send_response(reply.status)
        length = len(reply.body) if reply.length is None else reply.length
        for name, value in {"Content-Length": str(length), "Connection": "close", **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    do_GET = do_POST = do_PUT = answer  # noqa: N815 - names of http.server

    def log_message(self, *_: object) -> None:
        """Not on the test's output."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server()
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"server_state": state}))
    state.url = f"http://127.0.0.1:{http.server_port}"
    thread = Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    for name, value in {**keys, "AWS_ENDPOINT_URL": state.url, "NO_PROXY": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    yield state
    http.shutdown()
    thread.join()
    http.server_close()


def crc32(content: bytes) -> dict[str, str]:
    return {"x-amz-checksum-crc32": base64.b64encode(zlib.crc32(content).to_bytes(4, "big")).decode()}


def client(service: str) -> Any:
    return aws.make_client(service, "us-west-2")


ASKED: dict[str, tuple[Callable[[], Any], Reply, Any]] = {
    "ec2": (
        lambda: aws.describe_instance_types(client("ec2"), ["p9.large"], patience(attempts=ATTEMPTS)),
        Reply(body=TYPES),
        {"InstanceTypes": [{"InstanceType": "p9.large"}]},
    ),
    "sagemaker": (
        lambda: aws.list_cluster_nodes(client("sagemaker"), "c", patience(attempts=ATTEMPTS)),
        Reply(body=NODES),
        {"ClusterNodeSummaries": []},
    ),
    "get": (
        lambda: aws.get_object(client("s3"), "b", "k", patience(attempts=ATTEMPTS)),
        Reply(body=b"whole", headers=crc32(b"whole")),
        b"whole",
    ),
    "etag": (
        lambda: aws.get_if_changed(client("s3"), "b", "k", "", patience(attempts=ATTEMPTS)),
        Reply(body=b"whole", headers={"ETag": "e", **crc32(b"whole")}),
        (b"whole", "e"),
    ),
}
ANYWHERE = {
    "text instead of an error": Reply(503, b"upstream connect error or disconnect/reset before headers"),
    "page instead of an error": Reply(502, PAGE),
    "error without a word": Reply(500),
    "cut off": Reply(body=b"<D", length=100),
    "hung up": Reply(hang_up=True),
}
NO_LANGUAGE = {
    "page instead of an answer": Reply(body=PAGE),
    "half of an answer": Reply(body=b'{"ClusterNodeSummar'),
    "nothing": Reply(),
}
BY_SERVICE = {
    "ec2": {**ANYWHERE, "half of an answer": Reply(body=TYPES[:90])},
    "sagemaker": {**ANYWHERE, **NO_LANGUAGE},
    "get": {**ANYWHERE, "wrong checksum": Reply(body=b"half", headers=crc32(b"whole"))},
    "etag": {**ANYWHERE, "wrong checksum": Reply(body=b"half", headers=crc32(b"whole"))},
}
CASES = [(service, fault) for service, faults in BY_SERVICE.items() for fault in faults]


@pytest.mark.parametrize(("service", "fault"), CASES)
def test_a_broken_answer_is_asked_for_again(server: Server, service: str, fault: str) -> None:
    ask, good, expected = ASKED[service]
    broken = BY_SERVICE[service][fault]
    server.replies = [broken, broken, good]
    assert ask() == expected
    assert server.requests == 3


@pytest.mark.parametrize(("service", "fault"), CASES)
def test_an_answer_that_stays_broken_is_an_error_of_aws(server: Server, service: str, fault: str) -> None:
    """Not a fault of ours to be reported; on one line, with the operation."""
    server.replies = [BY_SERVICE[service][fault]]
    with pytest.raises(AwsError, match=rf"^(s3|ec2|sagemaker):\w+ .*still failed at attempt {ATTEMPTS}: .+$") as caught:
        ASKED[service][0]()
    assert server.requests == ATTEMPTS
    assert "\n" not in str(caught.value)
