"""Root's rights: used directly when we are root, through sudo otherwise, asked for once and with the reason."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys

__all__ = ["PrivilegeError", "as_root"]


class PrivilegeError(Exception):
    """We are not root and sudo won't make us."""


@functools.cache
def as_root(reason: str) -> tuple[str, ...]:
    """What to put before a command that needs root: nothing when we are root, ``sudo -n --`` after sudo has agreed.

    sudo asks for a password at most once (it keeps the answer for some minutes, and each use renews it).
    Raises PrivilegeError when there is no sudo, it refuses, or it would have to ask and nobody can answer.
    """
    if os.geteuid() == 0:
        return ()
    if shutil.which("sudo") is None:
        raise PrivilegeError(f"{reason} needs root, and there is no sudo here: run this as root")
    if subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode:
        if not sys.stdin.isatty():
            raise PrivilegeError(
                f"{reason} needs root, and sudo wants a password: run `sudo -v` first, or run this as root"
            )
        print(f"{reason} needs root: sudo may ask for your password, once.", file=sys.stderr, flush=True)
        if subprocess.run(["sudo", "-v"], check=False).returncode:
            raise PrivilegeError(f"{reason} needs root, and sudo refused")
    return ("sudo", "-n", "--")
