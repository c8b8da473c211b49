"""Work ends before its Lambda does; the log is one JSON object a line."""

from __future__ import annotations

import io
import math
import threading
from collections.abc import Callable

import pytest

from aws_lambda.events import log_lines
from slurm_topology.aws_lambda.log import Log
from slurm_topology.deadline import DeadlineError, run_within


def test_a_result_in_time() -> None:
    assert run_within(60, lambda remaining: remaining() > 50) is True


@pytest.mark.parametrize("error", [ValueError("x"), TimeoutError("socket timed out"), SystemExit(3)], ids=repr)
def test_an_error_of_the_work_is_its_own(error: BaseException) -> None:
    """Also a TimeoutError (of a socket, say), which is not ours."""

    def work(_: Callable[[], float]) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run_within(60, work)
    assert caught.value is error


def test_work_that_hangs_is_given_up_and_stays_stopped() -> None:
    """Lambda thaws the old thread with the next request: it must find that its time is over."""
    release, found = threading.Event(), []
    done = threading.Event()

    def work(remaining: Callable[[], float]) -> None:
        release.wait(30)
        found.append(remaining())
        done.set()

    with pytest.raises(DeadlineError, match="not done after 0 s"):
        run_within(0.01, work, clock=lambda: 0.0)
    release.set()
    assert done.wait(30)
    assert found == [-math.inf]


def test_a_line_has_its_context_and_any_value() -> None:
    stream = io.StringIO()
    log = Log({"aws_request_id": "r"}, stream)
    log.info("step begins", step="a\nb")
    log.warning("odd", value={1})
    log.error("failed", reason="é")
    assert log_lines(stream) == [
        {"level": "INFO", "message": "step begins", "aws_request_id": "r", "step": "a\nb"},
        {"level": "WARNING", "message": "odd", "aws_request_id": "r", "value": "{1}"},
        {"level": "ERROR", "message": "failed", "aws_request_id": "r", "reason": "é"},
    ]
