"""The one door to time: the rest of the agent gets numbers."""

from __future__ import annotations

import random
import time

__all__ = ["Clock"]


class Clock:
    """Wall clock for what is written down, monotonic clock for what is waited for, and the dice for jitter."""

    def now(self) -> float:
        """Seconds since 1970. May jump in either direction; only written down and compared with tolerance."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that only grow. Used for every wait and every duration."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def random(self) -> float:
        """In [0, 1): spreads retries."""
        return random.random()  # noqa: S311 (jitter, not secrecy)
