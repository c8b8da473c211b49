"""A folder for what is costly to make and the same for the next `cdk synth`: built zip files, named by content.

Nothing depends on it: when no folder can be written, files go to a temporary one that ends with this process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path

__all__ = ["fetch", "folder", "store"]

_UNUSED_DAYS = 30


@cache
def folder() -> Path:
    """``$XDG_CACHE_HOME/cdk-hyperpod-slurm`` (``~/.cache`` by default), readable by this user alone."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    wanted = Path(base) / "cdk-hyperpod-slurm"
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError:
        made = Path(tempfile.mkdtemp(prefix="cdk-hyperpod-slurm-"))
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        return made


def fetch(name: str) -> Path | None:
    """The file of that name, if it is there; it counts as used today."""
    path = folder() / name
    try:
        os.utime(path)
    except OSError:
        return None
    return path


def store(name: str, content: bytes) -> Path:
    """Write the file in one step (another synth may run beside this one) and drop what nobody used for a month."""
    path = folder() / name
    handle, temporary = tempfile.mkstemp(dir=folder(), prefix=name)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(temporary).replace(path)
    _drop_unused(path)
    return path


def _drop_unused(kept: Path) -> None:
    oldest = time.time() - _UNUSED_DAYS * 24 * 3600
    for path in folder().iterdir():
        with contextlib.suppress(OSError):  # another process dropped it first
            if path != kept and path.stat().st_mtime < oldest:
                path.unlink()
