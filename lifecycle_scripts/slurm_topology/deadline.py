"""Work that is given up after a while: a Lambda that is killed answers nobody, and the agent has no time for a slow
AWS."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TypeVar

__all__ = ["DeadlineError", "run_within"]

Result = TypeVar("Result")


class DeadlineError(Exception):
    """The work was given up."""


def run_within(
    seconds: float, work: Callable[[Callable[[], float]], Result], clock: Callable[[], float] = time.monotonic
) -> Result:
    """Run ``work(remaining_seconds)`` and give back its result, or raise DeadlineError after ``seconds``.

    The work runs in a thread of its own, because a call that hangs cannot be interrupted. That thread goes on (Lambda
    freezes it with the rest and may thaw it for another request): from the deadline on, ``remaining_seconds`` gives
    -inf for ever, so that work that asks before each step ends there.
    """
    end = clock() + seconds
    given_up = threading.Event()
    outcome: Future[Result] = Future()

    def remaining_seconds() -> float:
        return -math.inf if given_up.is_set() else end - clock()

    def run() -> None:
        try:
            outcome.set_result(work(remaining_seconds))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name="work", daemon=True).start()
    try:
        return outcome.result(timeout=max(0.0, seconds))
    except FutureTimeoutError as error:
        if outcome.done():  # it ended in the last moment, or the work itself raised a TimeoutError
            return outcome.result()
        given_up.set()
        raise DeadlineError(f"not done after {seconds:.0f} s") from error
