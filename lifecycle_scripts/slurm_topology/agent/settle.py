"""Coalescing: HyperPod writes its file in several goes; a pass begins when it has been quiet for a moment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slurm_topology.agent.clock import Clock
from slurm_topology.agent.files import Files, Signature
from slurm_topology.agent.settings import Settings

__all__ = ["Signatures", "settle", "signatures"]

Signatures = tuple["Signature | None", ...]


def signatures(files: Files, paths: Sequence[Path]) -> Signatures:
    return tuple(files.signature(path) for path in paths)


def settle(files: Files, clock: Clock, paths: Sequence[Path], settings: Settings) -> float:
    """Wait until the files haven't changed for the window, or the limit is over. Returns the seconds waited.

    A file's age is read from the wall clock only to skip the wait for an old file; when that clock has jumped, one
    window is waited.
    """
    started = clock.monotonic()
    seen = signatures(files, paths)
    rest = settings.coalesce_seconds - _age(seen, clock.now(), settings.coalesce_seconds)
    while rest > 0 and clock.monotonic() - started < settings.coalesce_limit_seconds:
        clock.sleep(rest)
        now = signatures(files, paths)
        rest = settings.coalesce_seconds if now != seen else 0.0
        seen = now
    return clock.monotonic() - started


def _age(seen: Signatures, now: float, window: float) -> float:
    """Seconds since the youngest file changed; 0 when that lies in the future; the window when there is no file."""
    times = [signature.modified_ns / 1e9 for signature in seen if signature is not None]
    return window if not times else max(0.0, now - max(times))
