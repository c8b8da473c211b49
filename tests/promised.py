"""What CI promises and another machine may lack: a real Slurm, a browser. A test without it never passes silently."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

__all__ = ["not_runnable"]


def not_runnable(what: str, reason: Exception) -> NoReturn:
    """A skip that tells why; in CI, which promises ``what``, a failure."""
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"CI promises {what}: {reason}", pytrace=False)
    pytest.skip(f"not runnable here: {reason}")
