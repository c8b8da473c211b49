"""CloudFormation's request and answer: shapes, limits, delivery."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aws_lambda.events import STACK_ID, URL, Mailbox, event
from slurm_topology.aws_lambda.cfn_request import Request, RequestType
from slurm_topology.aws_lambda.cfn_response import MOST_BYTES, Answer, body, put_once
from slurm_topology.core.errors import AwsError, InputError


def request(**changes: Any) -> Request:
    return Request.from_event(event("Create", "Custom::X", {}, **changes))


def for_ever() -> float:
    return 1e9


def test_a_request_is_read() -> None:
    read = request(ResourceProperties={"A": "1"})
    assert (read.type, read.resource_type, read.stack_id) == (RequestType.CREATE, "Custom::X", STACK_ID)
    assert (read.response_url, read.request_id, read.properties) == (URL, "unique-id", {"A": "1"})


def test_the_physical_id_is_constant() -> None:
    """A retried Create makes the same id; afterwards CloudFormation's own is kept, whatever the properties are."""
    assert request().physical_id == request(RequestId="another", ResourceProperties={"A": "2"}).physical_id
    assert request().physical_id == "Training-ClusterTopologyPlan1A2B3C"
    update = event("Update", "Custom::X", {}, PhysicalResourceId="made-by-an-older-version")
    assert Request.from_event(update).physical_id == "made-by-an-older-version"


def test_an_event_that_is_not_cloudformations() -> None:
    with pytest.raises(InputError, match=r"no request of CloudFormation: it has no RequestType, .*ResponseURL"):
        Request.from_event({"hello": "world"})


def test_the_presigned_url_is_not_printed() -> None:
    assert "SECRET" not in repr(request())


def test_the_answer_document() -> None:
    assert json.loads(body(request(), Answer(True, "fine", {"A": "1"}))) == {
        "Status": "SUCCESS",
        "Reason": "fine",
        "PhysicalResourceId": "Training-ClusterTopologyPlan1A2B3C",
        "StackId": STACK_ID,
        "RequestId": "unique-id",
        "LogicalResourceId": "ClusterTopologyPlan1A2B3C",
        "Data": {"A": "1"},
    }


def test_long_attributes_make_way_longest_first() -> None:
    answer = Answer(True, "", {"A": "a" * 1000, "B": "b" * 5000, "C": "c"}, {"A": "short a", "B": "short b"})
    assert json.loads(body(request(), answer))["Data"] == {"A": "a" * 1000, "B": "short b", "C": "c"}


def test_a_short_answer_keeps_its_attributes() -> None:
    assert json.loads(body(request(), Answer(True, "", {"A": "a"}, {"A": "shorter"})))["Data"] == {"A": "a"}


@given(reason=st.text(max_size=9000), value=st.text(max_size=9000), succeeded=st.booleans())
def test_never_more_than_cloudformation_takes(reason: str, value: str, succeeded: bool) -> None:
    """CloudFormation drops a longer answer and goes on waiting. Any text: quotes and umlauts count more bytes."""
    document = body(request(), Answer(succeeded, reason, {"A": value}, {"A": "see S3"}))
    assert len(document) <= MOST_BYTES
    assert json.loads(document)["Status"] == ("SUCCESS" if succeeded else "FAILED")


def test_a_long_reason_keeps_both_ends() -> None:
    """The beginning says what is wrong, the end names the log."""
    reason = json.loads(body(request(), Answer(False, "While x: " + "y" * 9000 + " Log: group g")))["Reason"]
    assert reason.startswith("While x: yyy")
    assert reason.endswith(" Log: group g")


def test_attributes_too_long_to_fit_are_refused() -> None:
    with pytest.raises(InputError, match="CloudFormation takes 4096: \\['A'\\]"):
        body(request(), Answer(True, "", {"A": "a" * 5000}))


@pytest.mark.parametrize("reply", [503, 429, TimeoutError("timed out"), ConnectionResetError("reset")], ids=str)
def test_the_answer_is_put_again(reply: int | Exception) -> None:
    mailbox = Mailbox([reply, reply])
    assert mailbox.postman.deliver(URL, b"{}", for_ever) == 3
    assert mailbox.received == [(URL, b"{}")] * 3
    assert mailbox.slept == [0.5, 1.0]


def test_a_refused_answer_is_not_put_again() -> None:
    """403: the URL has expired, or the answer was given already."""
    mailbox = Mailbox([403])
    with pytest.raises(AwsError, match="could not be told the result after 1 attempts: HTTP 403"):
        mailbox.postman.deliver(URL, b"{}", for_ever)
    assert len(mailbox.received) == 1


def test_delivery_gives_up_in_time() -> None:
    mailbox = Mailbox([503] * 99)
    with pytest.raises(AwsError, match="after 6 attempts: HTTP 503"):
        mailbox.postman.deliver(URL, b"{}", for_ever)
    mailbox = Mailbox([503] * 99)
    with pytest.raises(AwsError, match="after 2 attempts"):
        mailbox.postman.deliver(URL, b"{}", lambda: 0.7)


def test_the_url_is_in_no_message() -> None:
    mailbox = Mailbox([OSError("broken")] * 9)
    with pytest.raises(AwsError) as caught:
        mailbox.postman.deliver(URL, b"{}", for_ever)
    assert "SECRET" not in str(caught.value)


class _Server(BaseHTTPRequestHandler):
    seen: list[tuple[str, str | None, bytes]]
    status = 200

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.path, self.headers["Content-Type"], content))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("status", [200, 403, 503])
def test_put_once_over_http(status: int) -> None:
    """S3 signs the URL for an empty content type: urllib's default would be refused."""
    server = HTTPServer(("127.0.0.1", 0), type("Server", (_Server,), {"seen": [], "status": status}))
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    assert put_once(f"http://127.0.0.1:{server.server_port}/a?b=c", b"{}") == status
    thread.join(10)
    server.server_close()
    assert server.RequestHandlerClass.seen == [("/a?b=c", "", b"{}")]  # type: ignore[attr-defined]


def test_put_once_without_a_server() -> None:
    server = HTTPServer(("127.0.0.1", 0), _Server)
    server.server_close()
    with pytest.raises(OSError, match="refused"):
        put_once(f"http://127.0.0.1:{server.server_port}/", b"{}")


def test_only_http_urls() -> None:
    with pytest.raises(InputError, match="neither https nor http"):
        put_once("file:///etc/passwd", b"{}")
