"""Private Debian roots with Slurm in them: made once by mmdebstrap, then only read.

A root lies under ``build/slurm-roots/<suite>`` of the checkout (``HYPERPOD_SLURM_ROOTS`` names another folder).
It is made in a folder beside its place and renamed when it is whole, so a root that is there is a whole one.
Debian packages only these Slurm versions; 25.05 and 25.11, which HyperPod also ships, are in no suite.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .privilege import PrivilegeError, as_root

__all__ = ["SUITES", "NotRunnable", "Root", "RootError", "find_root", "make_root", "roots_folder"]

# Slurm version → Debian suite. forky is not released yet: its Slurm moves (Root.exact_version says what it is).
SUITES = {"24.11": "trixie", "26.05": "forky"}

# python3: the agent runs in there. systemd: PID 1 of Lab(systemd=True). iproute2, procps: for people who look around.
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "python3", "systemd", "iproute2", "procps")

ARGUMENTS = (
    "--quiet",
    "--mode=root",
    "--variant=apt",
    f"--include={','.join(PACKAGES)}",
    '--aptopt=Apt::Install-Recommends "false"',
    # a testing suite's Release file may be past its Valid-Until on a mirror that isn't updated hourly
    '--aptopt=Acquire::Check-Valid-Until "false"',
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
)
RECIPE = hashlib.sha256(json.dumps(ARGUMENTS).encode()).hexdigest()[:12]
MARK = "etc/slurm-lab-root.json"


class RootError(Exception):
    """A root could not be made although this system should be able to."""


class NotRunnable(Exception):  # noqa: N818 (a state of this machine, not an error of ours)
    """This machine can't run a real Slurm as it is; the text says what is missing and what to do."""


@dataclass(frozen=True)
class Root:
    """A whole root. ``version`` is what was asked for ("24.11"), ``exact_version`` what is inside ("24.11.5")."""

    version: str
    suite: str
    path: Path
    exact_version: str


def roots_folder() -> Path:
    """Where the roots are: ``$HYPERPOD_SLURM_ROOTS``, else ``build/slurm-roots`` of the checkout."""
    chosen = os.environ.get("HYPERPOD_SLURM_ROOTS")
    return Path(chosen).resolve() if chosen else Path(__file__).resolve().parents[2] / "build" / "slurm-roots"


def suite_of(version: str) -> str:
    """The Debian suite that packages this Slurm version. Raises RootError for a version that none does."""
    try:
        return SUITES[version]
    except KeyError:
        raise RootError(f"no Debian suite has Slurm {version}: expected one of {', '.join(SUITES)}") from None


def find_root(version: str, folder: Path | None = None) -> Root:
    """The root of a Slurm version. Raises NotRunnable when it isn't there or an older recipe made it."""
    suite = suite_of(version)
    path = (folder or roots_folder()) / suite
    try:
        mark = json.loads((path / MARK).read_text())
    except (OSError, ValueError):
        raise NotRunnable(
            f"no Slurm {version} root at {path}: make it with `python -m slurm_lab roots {version}`"
        ) from None
    if mark["recipe"] != RECIPE:
        raise NotRunnable(
            f"the root at {path} is of an older recipe: renew it with `python -m slurm_lab roots {version}`"
        )
    return Root(version, suite, path, mark["slurm"])


def make_root(version: str, folder: Path | None = None) -> Root:
    """The root of a Slurm version, made when it isn't there. Needs root (see ``as_root``); prints what it does.

    Raises NotRunnable when this system can't make one, RootError when mmdebstrap fails.
    """
    folder = folder or roots_folder()
    with contextlib.suppress(NotRunnable):
        return find_root(version, folder)
    if os.geteuid() != 0:
        return _make_by_sudo(version, folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / ".lock"):
        try:
            return find_root(version, folder)  # somebody else made it while we waited
        except NotRunnable:
            _need_mmdebstrap()
            return _build(version, folder)


def _make_by_sudo(version: str, folder: Path) -> Root:
    """Run ourselves again as root: dpkg needs real ownership and chroot."""
    try:
        sudo = as_root("Making a private Debian root (chroot, file ownership)")
    except PrivilegeError as error:
        raise NotRunnable(str(error)) from None
    folder.mkdir(parents=True, exist_ok=True)  # by us, so that what lies beside it stays ours
    settings = [f"HYPERPOD_SLURM_ROOTS={folder}", f"PYTHONPATH={Path(__file__).resolve().parents[1]}"]
    if subprocess.run(
        [*sudo, "env", *settings, sys.executable, "-B", "-m", "slurm_lab", "roots", version], check=False
    ).returncode:
        raise RootError(f"the root for Slurm {version} could not be made (see above)")
    return find_root(version, folder)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _need_mmdebstrap() -> None:
    if shutil.which("mmdebstrap"):
        return
    if shutil.which("apt-get") is None:
        raise NotRunnable(
            "a real Slurm needs Debian packages, and this system has neither mmdebstrap nor apt-get to get it with: "
            "install mmdebstrap (and Debian's archive keyring) by hand, or run on Debian or Ubuntu"
        )
    _say("installing mmdebstrap with apt-get …")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "mmdebstrap", "debian-archive-keyring"]
    for argv in (["apt-get", "update", "-q"], install):
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RootError(f"`{' '.join(argv)}` failed with status {done.returncode}:\n{done.stderr.strip()}")


def _build(version: str, folder: Path) -> Root:
    """Make the root beside its place, then rename it. The caller holds the lock."""
    suite = suite_of(version)
    final, partial = folder / suite, folder / f"{suite}.partial"
    started = time.monotonic()
    _say(f"making {final}: Debian {suite} with Slurm {version} (about half a minute) …")
    _remove(partial)
    done = subprocess.run(["mmdebstrap", *ARGUMENTS, suite, str(partial)], capture_output=True, text=True, check=False)
    if done.returncode:
        _remove(partial)
        raise RootError(f"mmdebstrap {suite} failed with status {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    exact = _slurm_inside(partial)
    (partial / MARK).write_text(json.dumps({"recipe": RECIPE, "slurm": exact, "suite": suite}) + "\n")
    _remove(final)
    partial.rename(final)
    if not exact.startswith(version):
        _say(f"note: Debian {suite} has moved on and has Slurm {exact} now, not {version}")
    _say(f"{final}: Slurm {exact}, {time.monotonic() - started:.0f} s")
    return Root(version, suite, final, exact)


def _slurm_inside(root: Path) -> str:
    """The exact version, as slurmctld itself tells it: "24.11.5"."""
    done = subprocess.run(["chroot", str(root), "slurmctld", "-V"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RootError(f"slurmctld doesn't run in {root}: {done.stderr.strip()}")
    return done.stdout.split()[-1]


def _remove(path: Path) -> None:
    """Remove a root's tree, never following a mount into another file system."""
    if path.exists():
        subprocess.run(["rm", "-rf", "--one-file-system", str(path)], check=True)


def _say(text: str) -> None:
    print(f"slurm_lab: {text}", flush=True)
