"""A box: a Debian root in namespaces of its own (processes, mounts, network, host name, IPC).

Invariant: whatever happens to us (an exception, Ctrl-C, ``kill -9``), nothing of a box outlives us. Its PID 1 (with
systemd: the holder of PID 1) reads a pipe that only we hold. When the pipe ends, so does PID 1, and the kernel kills
every process of the namespace and drops its mounts. Nothing listens outside, so ports never clash. All writes go to
memory: an overlay over the root, which stays as it is.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO, Any

from .privilege import PrivilegeError, as_root
from .roots import NotRunnable, Root
from .wait import wait_for

__all__ = ["Box", "BoxError", "Completed", "Inner"]

HERE = Path(__file__).parent
NAMESPACES = ("--mount", "--pid", "--net", "--uts", "--ipc")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/opt/slurm/sbin:/opt/slurm/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}
Completed = subprocess.CompletedProcess[str]


class BoxError(Exception):
    """A box could not be started, or a command in it failed where success was asked for."""


class Inner(subprocess.Popen[str]):
    """A command in a box. nsenter stands before it and forwards its exit status, but no signal: so we reach through."""

    def __init__(self, argv: list[str], *, sudo: tuple[str, ...], **arguments: Any) -> None:
        super().__init__(argv, **arguments)
        self._sudo = sudo

    def send_signal(self, sig: int) -> None:
        """Signal the command (nsenter, when it hasn't begun yet); nothing when it has ended."""
        if self.poll() is not None:
            return
        process = self.pid
        while inner := children(process):
            process = inner[0]
            if name_of(process) not in ("sudo", "nsenter"):
                break
        subprocess.run([*self._sudo, "kill", f"-{int(sig)}", str(process)], capture_output=True, check=False)


def children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


class Box:
    """A root in its own namespaces; use as a context manager, or ``start`` and ``stop``.

    ``systemd``: systemd is PID 1 (it has its own cgroup tree; without, PID 1 only reaps orphans).
    ``forward_ports``: servers on 127.0.0.1 of this machine that the inside may reach, at the same ports.
    """

    def __init__(
        self, root: Root, *, hostname: str = "controller", systemd: bool = False, forward_ports: Sequence[int] = ()
    ) -> None:
        self.root = root
        self.hostname = hostname
        self.systemd = systemd
        self.forward_ports = tuple(forward_ports)
        self.pid = 0  # PID 1 of the box, as the outside numbers it; 0: not running
        self._sudo: tuple[str, ...] = ()
        self._helpers: list[subprocess.Popen[str]] = []  # each ends when its standard input does

    def start(self) -> None:
        """Raises NotRunnable: no rights, no namespaces, no overlayfs, for systemd no cgroup2; the text says which."""
        try:
            self._sudo = as_root("A Slurm of its own (mount, process and network namespaces)")
            self.pid = int(self._start_helper(self._holder()))
            if self.systemd:
                wait_for(self._booted, "systemd has booted", explain=lambda: self.run("systemctl", "--failed").stdout)
            if self.forward_ports:
                ports = [str(port) for port in self.forward_ports]
                self._start_helper([sys.executable, "-I", str(HERE / "forward.py"), str(self.pid), *ports])
        except PrivilegeError as error:
            raise NotRunnable(str(error)) from None
        except BaseException:
            self.stop()
            raise

    def _holder(self) -> list[str]:
        """The command line whose life is the box's."""
        unshare = ["unshare", *NAMESPACES, "--propagation", "private", "--fork", "--kill-child=KILL"]
        enter = ["sh", str(HERE / "enter.sh"), str(self.root.path), self.hostname]
        if not self.systemd:
            return ["setpriv", "--pdeathsig", "KILL", *unshare, *enter, "wait"]
        hold = ["unshare", "--mount", "--propagation", "private", "sh", str(HERE / "hold.sh"), str(self.root.path)]
        return [*hold, *unshare, *enter, "systemd"]

    def _start_helper(self, argv: list[str]) -> str:
        """Start a process that lives until its standard input ends; the line that it says when it is ready."""
        helper = subprocess.Popen(
            [*self._sudo, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for pytest, which then stops us in order
        )
        self._helpers.append(helper)
        assert helper.stdout is not None
        if said := helper.stdout.readline().strip():
            return said
        reason = helper.communicate()[1].strip()
        raise NotRunnable(f"this system can't start a Slurm lab: {reason}")

    def _booted(self) -> bool:
        return self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded")

    def stop(self) -> None:
        """End every process of the box. Safe to call twice, and after a failed start."""
        self.pid = 0
        while self._helpers:
            self._helpers.pop().communicate(timeout=30)

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
        return [
            *self._sudo,
            "nsenter",
            "--target",
            str(self.pid),
            *NAMESPACES,
            "--cgroup",
            "--",
            "env",
            "-i",
            *settings,
            *command,
        ]

    def run(
        self,
        *command: str,
        input: str | None = None,  # noqa: A002 (as in subprocess)
        timeout: float = 60,
        check: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command in the box. Raises BoxError when it outlives ``timeout`` seconds, or fails though ``check``."""
        bounded = ("timeout", "--signal=KILL", f"{timeout}", *command)
        try:
            done = subprocess.run(
                self.argv(bounded, environment),
                stdin=subprocess.DEVNULL if input is None else None,
                input=input,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=timeout + 5,
            )
        except subprocess.TimeoutExpired:
            raise BoxError(f"`{shlex.join(command)}` left a process behind that keeps its output open") from None
        said = f"{done.stdout}{done.stderr}"
        if done.returncode in (124, 128 + signal.SIGKILL, -signal.SIGKILL):
            raise BoxError(f"`{shlex.join(command)}` was killed, or took more than {timeout} s:\n{said}")
        if check and done.returncode:
            raise BoxError(f"`{shlex.join(command)}` failed with status {done.returncode}:\n{said}")
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

    def copy_in(self, folder: Path, target: str) -> None:
        """Copy what is in a folder of this machine into a folder of the box, as root's; makes the target."""
        pack = ["tar", "--create", "--owner=root", "--group=root", f"--directory={folder}", "."]
        archive = subprocess.run(pack, capture_output=True, check=True).stdout
        self.run("mkdir", "--parents", target, check=True)
        unpack = self.argv(("tar", "--extract", f"--directory={target}"))
        subprocess.run(unpack, input=archive, capture_output=True, check=True)

    def outside(self, path: str) -> Path:
        """The same file as the outside sees it; only root may look there, and not through absolute symlinks."""
        return Path(f"/proc/{self.pid}/root") / PurePosixPath(path).relative_to("/")
