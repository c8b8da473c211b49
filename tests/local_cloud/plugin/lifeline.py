"""The server ends with the process that started it: that one holds the other end of the server's standard input."""

from __future__ import annotations

import os
import signal
import sys
import threading

__all__ = ["hold_on", "let_go"]

_released = threading.Event()


def hold_on() -> None:
    """End this server when standard input ends, unless `let_go` was called before."""
    threading.Thread(target=_watch, name="lifeline", daemon=True).start()


def let_go() -> None:
    """Stay, whatever becomes of the process that started this one."""
    _released.set()


def _watch() -> None:
    while sys.stdin.buffer.read(1):
        pass
    if not _released.is_set():
        os.kill(os.getpid(), signal.SIGTERM)
