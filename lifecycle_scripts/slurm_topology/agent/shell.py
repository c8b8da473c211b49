"""The one door to other programs: argument lists, time-outs, a clean environment, never a shell.

A program that fails is a value (``Completed``) for ``run`` and a CommandError for ``check``; a program that hangs or
isn't there is a CommandError for both, because nothing is known then about what it did.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slurm_topology.core.errors import CommandError

__all__ = ["Completed", "Shell"]

# HyperPod's images keep Slurm under /opt/slurm; Debian's packages put it into /usr.
SEARCH_PATH = "/opt/slurm/bin:/opt/slurm/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SAID_LIMIT = 400  # characters of a program's last words that go into an error message


@dataclass(frozen=True)
class Completed:
    """How a program ended, and all that it said."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        return self.returncode == 0

    @property
    def last_words(self) -> str:
        """The end of what it said, for messages: standard error first, because that is where reasons are."""
        said = self.stderr.strip() or self.stdout.strip()
        return said[-SAID_LIMIT:] if said else f"(nothing said, exit status {self.returncode})"


@dataclass(frozen=True)
class Shell:
    """Runs programs. ``extra`` is added to the clean environment of each (such as SLURM_CONF)."""

    extra: Mapping[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Nothing of the caller's: SLURM_*, SQUEUE_* and the like change what is printed."""
        return {"PATH": SEARCH_PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC", "SLURM_BITSTR_LEN": "0", **self.extra}

    def run(self, argv: Sequence[str], *, timeout: float, user: str | None = None) -> Completed:
        """Run to the end, as another ``user`` if one is named.

        Raises CommandError when the program can't be started or outlives ``timeout`` seconds.
        """
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=self.environment(),
                start_new_session=True,
                user=user,
                extra_groups=None if user is None else [],
            )
        except (OSError, ValueError) as error:  # ValueError: no such user
            raise CommandError(f"{argv[0]} can't be started: {error}", argv) from error
        with process:
            try:
                stdout, stderr = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                raise CommandError(f"{' '.join(argv[:4])} gave no answer within {timeout:g} s", argv) from error
        return Completed(tuple(argv), process.returncode, stdout, stderr)

    def check(self, argv: Sequence[str], *, timeout: float, user: str | None = None) -> str:
        """Run and return standard output. Raises CommandError for any failure."""
        done = self.run(argv, timeout=timeout, user=user)
        if not done.ok:
            message = f"{' '.join(argv[:4])} failed with status {done.returncode}: {done.last_words}"
            raise CommandError(message, argv, done.returncode, done.stderr)
        return done.stdout

    def launch(self, argv: Sequence[str], *, environment: Mapping[str, str] | None = None) -> int:
        """Start a program that outlives us (nobody waits for it, it gets no terminal and no pipe).

        Returns its process id.
        """
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**self.environment(), **(environment or {})},
                start_new_session=True,
            )
        except OSError as error:
            raise CommandError(f"{argv[0]} can't be started: {error.strerror}", argv) from error
        return process.pid
