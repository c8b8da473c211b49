"""A box: a Debian root in namespaces of its own (processes, mounts, network, host name, IPC).

Invariant: whatever happens to us (an exception, Ctrl-C, ``kill -9``), nothing of a box outlives us. Its PID 1 reads a
pipe that only we hold; when the pipe ends so does PID 1, and the kernel then kills every process of the namespace
and drops its mounts. Nothing listens outside, so ports never clash. All writes go to memory (an overlay over the root).
"""

from __future__ import annotations

import contextlib
import shlex
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO, Any

from .privilege import PrivilegeError, as_root
from .roots import NotRunnable, Root

__all__ = ["Box", "BoxError", "Completed", "Inner"]

NAMESPACES = ("--mount", "--pid", "--net", "--uts", "--ipc")
ENTER = Path(__file__).with_name("enter.sh")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/opt/slurm/sbin:/opt/slurm/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}
Completed = subprocess.CompletedProcess[str]


class BoxError(Exception):
    """A box could not be started, or a command in it failed where success was asked for."""


class Inner(subprocess.Popen[str]):
    """A command in a box. nsenter stands between us and it, forwards its exit status, but no signal: so we reach through."""

    def __init__(self, argv: list[str], *, sudo: tuple[str, ...], **arguments: Any) -> None:
        super().__init__(argv, **arguments)
        self._sudo = sudo

    def send_signal(self, sig: int) -> None:
        """Signal the command (nsenter, when it hasn't begun yet); nothing when it has ended."""
        if self.poll() is not None:
            return
        process = self.pid
        while inner := _children(process):
            process = inner[0]
            if _name(process) not in ("sudo", "nsenter"):
                break
        subprocess.run([*self._sudo, "kill", f"-{int(sig)}", str(process)], capture_output=True, check=False)


def _children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


class Box:
    """A root in its own namespaces; use as a context manager, or ``start`` and ``stop``.

    Raises NotRunnable (no rights, a kernel without overlayfs or namespaces) or BoxError from ``start``.
    """

    def __init__(self, root: Root, *, hostname: str = "controller", init: str = "wait") -> None:
        self.root = root
        self.hostname = hostname
        self.init = init
        self.pid = 0  # PID 1 of the box, as the outside numbers it; 0: not running
        self._holder: subprocess.Popen[str] | None = None
        self._sudo: tuple[str, ...] = ()
        self._scratch: Path | None = None

    def start(self) -> None:
        try:
            self._sudo = as_root("A Slurm of its own (mount, process and network namespaces)")
        except PrivilegeError as error:
            raise NotRunnable(str(error)) from None
        self._scratch = Path(tempfile.mkdtemp(prefix="slurm-lab."))
        self._holder = subprocess.Popen(
            [*self._sudo, *self._holder_argv(self._scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for pytest, which then stops us in order
        )
        assert self._holder.stdout is not None
        said = self._holder.stdout.readline().strip()
        if not said.isdigit():
            reason = self._holder.communicate()[1].strip()
            self.stop()
            raise NotRunnable(f"this system can't start a Slurm lab (namespaces and overlayfs are needed): {reason}")
        self.pid = int(said)

    def _holder_argv(self, scratch: Path) -> list[str]:
        unshare = ["unshare", "--pid", "--mount", "--net", "--uts", "--ipc", "--propagation", "private", "--fork"]
        enter = ["sh", str(ENTER), str(self.root.path), str(scratch), self.hostname, self.init]
        return ["setpriv", "--pdeathsig", "KILL", *unshare, "--kill-child=KILL", *enter]

    def stop(self) -> None:
        """End every process of the box. Safe to call twice, and after a failed start."""
        self.pid = 0
        if self._holder is not None:
            for pipe in (self._holder.stdin, self._holder.stdout, self._holder.stderr):
                with contextlib.suppress(BrokenPipeError):
                    assert pipe is not None
                    pipe.close()
            self._holder.wait(30)
            self._holder = None
        if self._scratch is not None:
            self._scratch.rmdir()
            self._scratch = None

    def __enter__(self) -> Box:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ---- commands

    def argv(self, command: tuple[str, ...], environment: Mapping[str, str] | None = None) -> list[str]:
        """The command line, for the outside, that runs ``command`` in the box with a clean environment."""
        if not self.pid:
            raise BoxError(f"the box isn't running: can't run {shlex.join(command)}")
        settings = [f"{name}={value}" for name, value in {**ENVIRONMENT, **(environment or {})}.items()]
        return [*self._sudo, "nsenter", "--target", str(self.pid), *NAMESPACES, "--", "env", "-i", *settings, *command]

    def run(
        self,
        *command: str,
        input: str | None = None,  # noqa: A002 (as in subprocess)
        timeout: float = 60,
        check: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command in the box and wait. Raises BoxError when it outlives ``timeout`` seconds, or fails and ``check``."""
        bounded = ("timeout", "--signal=KILL", f"{timeout}", *command)
        done = subprocess.run(
            self.argv(bounded, environment),
            input=input,
            capture_output=True,
            text=True,
            check=False,
            errors="replace",
            stdin=subprocess.DEVNULL if input is None else None,
        )
        if done.returncode in (124, 128 + signal.SIGKILL, -signal.SIGKILL):
            raise BoxError(
                f"`{shlex.join(command)}` was killed, or took more than {timeout} s:\n{done.stdout}{done.stderr}"
            )
        if check and done.returncode:
            raise BoxError(f"`{shlex.join(command)}` failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
        return subprocess.CompletedProcess(command, done.returncode, done.stdout, done.stderr)

    def popen(
        self,
        *command: str,
        environment: Mapping[str, str] | None = None,
        stdin: int | IO[str] = subprocess.DEVNULL,
        stdout: int | IO[str] = subprocess.PIPE,
        stderr: int | IO[str] = subprocess.PIPE,
    ) -> Inner:
        """Start a command in the box and don't wait. Signals (``kill`` too) go to the command itself."""
        argv = self.argv(command, environment)
        return Inner(argv, stdin=stdin, stdout=stdout, stderr=stderr, text=True, sudo=self._sudo)

    # ---- files

    def read_text(self, path: str) -> str:
        """A file's text. Raises FileNotFoundError."""
        if self._sudo:
            done = self.run("cat", path)
            if done.returncode:
                raise FileNotFoundError(path)
            return done.stdout
        return self.outside(path).read_text(errors="replace")

    def write_text(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a whole file in one step (a reader sees the old or the new text); makes its folder."""
        if self._sudo:
            script = 'mkdir -p "$(dirname "$1")" && cat >"$1.$3" && chmod "$2" "$1.$3" && mv "$1.$3" "$1"'
            self.run("sh", "-c", script, "sh", path, f"{mode:o}", uuid.uuid4().hex, input=text, check=True)
            return
        place = self.outside(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = place.with_name(f"{place.name}.{uuid.uuid4().hex}")
        fresh.write_text(text)
        fresh.chmod(mode)
        fresh.replace(place)

    def exists(self, path: str) -> bool:
        return self.run("test", "-e", path).returncode == 0 if self._sudo else self.outside(path).exists()

    def outside(self, path: str) -> Path:
        """The same file as the outside sees it; only root may look there, and not through absolute symlinks."""
        return Path(f"/proc/{self.pid}/root") / PurePosixPath(path).relative_to("/")
