"""How fast: the ceiling on reconfigures and the backoff after failures. Pure; the clock's jumps are survived.

A time in the future was written before the clock jumped back: it says nothing, and is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["backoff_seconds", "recent", "seconds_until_allowed"]


def recent(times: Iterable[float], now: float, window_seconds: float) -> list[float]:
    """Those times that lie in the last ``window_seconds``, oldest first."""
    return sorted(time for time in times if now - window_seconds < time <= now)


def seconds_until_allowed(reconfigures: Iterable[float], now: float, per_minute: int) -> float:
    """0 when one more reconfigure may be done now, else how long to wait for it (at most 60)."""
    lately = recent(reconfigures, now, 60.0)
    return 0.0 if len(lately) < per_minute else lately[-per_minute] + 60.0 - now


def backoff_seconds(failures: int, first: float, limit: float, dice: float) -> float:
    """Wait after the n-th failure in a row.

    first·2^(n-1), at most ``limit``, of which half is random (``dice`` in [0, 1)).
    """
    full = min(limit, first * 2.0 ** min(failures - 1, 32))
    return full * (0.5 + dice / 2)
