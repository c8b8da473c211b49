"""Waiting for something to become so, with a deadline and a reason."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["WaitError", "wait_for"]

Value = TypeVar("Value")


class WaitError(Exception):
    """What was waited for didn't come in time."""


def wait_for(
    look: Callable[[], Value | None],
    what: str,
    *,
    seconds: float = 30,
    every: float = 0.03,
    explain: Callable[[], str] = str,
) -> Value:
    """Call ``look`` until it gives something true, and return that.

    Raises WaitError after ``seconds``, with ``what`` was waited for and what ``explain`` tells.
    """
    deadline = time.monotonic() + seconds
    while True:
        if value := look():
            return value
        if time.monotonic() > deadline:
            raise WaitError(f"{what}: not within {seconds:g} s\n{explain()}")
        time.sleep(every)
