"""Run a throw-away slurmctld where it can reach nobody, and tell whether it started. A program of its own: see
``rehearse``.

    python3 rehearsal_runner.py SECONDS SLURMCTLD -D -f CONF

Exit status: 0 it started · 21 it died by itself · 3 it could not be isolated (why is printed) · 4 neither within
SECONDS, or it couldn't be executed, or somebody killed it. Python's own statuses for a failure of ours (1, 2, 120) are
none of these. Standard output: all that it said. It never outlives us, nor we our parent, whatever kills whom.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import time

__all__ = ["CANNOT_ISOLATE", "DIED", "NO_VERDICT", "STARTED"]

STARTED, DIED, CANNOT_ISOLATE, NO_VERDICT = 0, 21, 3, 4
NOT_EXECUTED = 127
STARTED_WORDS = b"Running as primary controller"
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
SIOCSIFFLAGS, SIOCSIFADDR = 0x8914, 0x8916
IFF_UP_RUNNING = 0x1 | 0x40


def isolate() -> None:
    """A network namespace of our own in which only the loopback interface is up.

    Raises OSError without the privilege.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP_RUNNING))
        # slurmctld listens where getaddrinfo(AI_ADDRCONFIG) says, and that doesn't count 127.0.0.1: a second address
        address = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton("127.0.0.2"))
        fcntl.ioctl(control, SIOCSIFADDR, address)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill us when our parent dies; if it is dead already, go at once."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(DIED)


def start(argv: list[str]) -> tuple[int, int]:
    """Start the program in a process group of its own. Returns its process id and a pipe with all that it says."""
    reading, writing = os.pipe()
    us = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            die_with_parent(us)
            nothing = os.open(os.devnull, os.O_RDONLY)
            for number, descriptor in enumerate((nothing, writing, writing)):
                os.dup2(descriptor, number)
            # Slurm knows by its name which daemon it is (Debian's file is slurmctld-wlm: then 24.11 refuses to start)
            os.execvp(argv[0], ["slurmctld", *argv[1:]])  # noqa: S606 (an argument list; no shell)
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        finally:
            os._exit(NOT_EXECUTED)
    os.close(writing)
    return pid, reading


def watch(reading: int, seconds: float) -> tuple[int, bytes]:
    """Read until it says that it runs, ends, or the time is over."""
    said = b""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if not select.select([reading], [], [], left)[0]:
            break
        piece = os.read(reading, 65536)
        said += piece
        if STARTED_WORDS in said:
            return STARTED, said
        if not piece:
            return DIED, said
    return NO_VERDICT, said


def main(arguments: list[str]) -> int:
    die_with_parent(int(os.environ.get("REHEARSAL_PARENT", os.getppid())))
    try:
        isolate()
    except OSError as error:
        print(f"no network namespace of its own: {error.strerror}")
        return CANNOT_ISOLATE
    pid, reading = start(arguments[1:])
    verdict, said = watch(reading, float(arguments[0]))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if verdict == DIED:
        said += f"\nslurmctld ended with status {status}\n".encode()
        if status in (NOT_EXECUTED, -signal.SIGKILL):
            verdict = NO_VERDICT
    sys.stdout.write(said.decode("utf-8", "replace"))
    return verdict


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
