"""Put the agent on this machine, and take it away again. Idempotent; an upgrade keeps the state.

::

    /opt/slurm-topology/<version>-<hash>/   slurm_topology/ vendor/ systemd/ bin/     (made beside, renamed when whole)
    /opt/slurm-topology/current             → the one in use, switched in one step
    /var/lib/slurm-topology/topology_plan.json  the plan, from the lifecycle prefix; ``renewal`` keeps it new
    /usr/local/bin/slurm-topology           → current/bin/slurm-topology
    /etc/systemd/system/slurm-topology.*    the units, and a drop-in with the folders that they may write

Everything lies under ``prefix`` (``/`` but in tests, and in an image that is being built).
"""

from __future__ import annotations

import compileall
import hashlib
import os
import shutil
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from slurm_topology import __version__
from slurm_topology.agent.daemon import systemd_runs
from slurm_topology.agent.files import Files
from slurm_topology.agent.shell import Shell
from slurm_topology.core.errors import CommandError, InputError

__all__ = ["HIDDEN", "Installed", "Installer", "unusable_python"]

STARTED_UNITS = ("slurm-topology.path", "slurm-topology.timer")
UNITS = ("slurm-topology.service", "slurm-topology-missed.service", *STARTED_UNITS)
IMAGE_PYTHON = "/usr/bin/python3"  # below a prefix nobody knows what the machine will have
PLAN_FILES = ("topology_plan.json", "initial_topology.json")
VERSIONS_KEPT = 2  # the one in use and the one before it
SYSTEMCTL_SECONDS = 30.0

# The unit sees none of these: ProtectHome=yes, PrivateTmp=yes.
HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108
SHEBANG_LENGTH = 120  # Linux before 5.1 cuts the line at 127 characters
START_SECONDS = 30.0
LAUNCHER = """#!{python} -IB
import os
import sys

root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path[:0] = [root, os.path.join(root, "vendor")]
from slurm_topology.__main__ import main

main()
"""
# run by slurmctld as SlurmUser when a node changes its state: it can do no more than say "look now"
NOTIFIER = """#!/bin/sh
exec touch -c /run/slurm-topology/request
"""


@dataclass(frozen=True)
class Installed:
    """What was done. ``under_systemd``: its units were started; otherwise a first pass runs in the background."""

    folder: Path
    changed: bool
    under_systemd: bool


@dataclass(frozen=True)
class Installer:
    """Installs from an unpacked node bundle."""

    shell: Shell
    files: Files
    prefix: Path = Path("/")
    python: str = sys.executable  # it runs this code, so it can run the agent

    def install(self, bundle: Path, writable: Iterable[str]) -> Installed:
        """Unpack, switch over, start. ``writable``: folders that the unit may write beside its own.

        Raises InputError for a bundle that isn't one, CommandError for an agent that doesn't start, OSError for a disk
        that fails.
        """
        archive = bundle / "agent.zip"
        if self.files.signature(archive) is None:
            raise InputError(f"{archive} isn't there: expected the unpacked node bundle with agent.zip in {bundle}")
        python = self._interpreter()
        name = f"{__version__}-{_hash(archive)}"
        folder = self._path("opt/slurm-topology", name)
        changed = not folder.is_dir()
        if changed:
            self._unpack(archive, name)
        if self.files.read_text(folder / "bin" / "slurm-topology") != LAUNCHER.format(python=python):
            self._set_up(folder, python)
        if self.prefix == Path("/"):
            self.shell.check([str(folder / "bin" / "slurm-topology"), "--version"], timeout=START_SECONDS)
        self._copy_plan(bundle)
        self._point(self._path("opt/slurm-topology/current"), name)
        self._point(self._path("usr/local/bin/slurm-topology"), "/opt/slurm-topology/current/bin/slurm-topology")
        self._write_units(folder, writable)
        self._forget_old_versions(name)
        return Installed(folder, changed, self.start())

    def stop(self) -> bool:
        """No pass is begun any more, and the one that runs is ended. False when there was nothing to stop."""
        if not self._systemd() or self.files.signature(self._path("etc/systemd/system", UNITS[0])) is None:
            return False
        self._systemctl("disable", "--now", *STARTED_UNITS)
        self._systemctl("stop", UNITS[0])
        return True

    def remove(self) -> None:
        """Remove everything but the state."""
        for unit in UNITS:
            self.files.remove(self._path("etc/systemd/system", unit))
        shutil.rmtree(self._path("etc/systemd/system/slurm-topology.service.d"), ignore_errors=True)
        self.files.remove(self._path("usr/local/bin/slurm-topology"))
        shutil.rmtree(self._path("opt/slurm-topology"), ignore_errors=True)
        if self._systemd():
            self._systemctl("daemon-reload")

    # ---- files

    def _path(self, *parts: str) -> Path:
        return self.prefix.joinpath(*parts)

    def _unpack(self, archive: Path, name: str) -> None:
        """Unpack beside and rename: a version's folder is whole or isn't there."""
        final = self._path("opt/slurm-topology", name)
        partial = final.with_name(f".{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        self.files.make_folder(partial)
        with zipfile.ZipFile(archive) as content:
            content.extractall(partial)  # our own bundle; zipfile keeps names inside the folder
        os.sync()
        self.files.rename(partial, final)

    def _interpreter(self) -> str:
        """Path of the Python that runs the agent: the one that installs it. Raises InputError when the unit can't."""
        if self.prefix != Path("/"):
            return IMAGE_PYTHON
        wrong = unusable_python(self.python, sys.base_prefix)
        if wrong:
            raise InputError(f"the agent can't be run by {self.python}: {wrong}. Install with another Python")
        return self.python

    def _set_up(self, folder: Path, python: str) -> None:
        """Programs and byte code for this interpreter. The launcher comes last: by it the next installation knows."""
        # the unit can't write byte code where its code is, and a look a minute shouldn't compile it each time
        library = f"/opt/slurm-topology/{folder.name}/slurm_topology"
        compileall.compile_dir(folder / "slurm_topology", ddir=library, quiet=2)
        if self.prefix == Path("/"):
            # takes seconds: nobody waits
            self.shell.launch([python, "-m", "compileall", "-qq", str(folder / "vendor")])
        self.files.make_folder(folder / "bin")
        for program, text in (("notify", NOTIFIER), ("slurm-topology", LAUNCHER.format(python=python))):
            self.files.write_atomically(folder / "bin" / program, text, mode=0o755)

    def _copy_plan(self, bundle: Path) -> None:
        for name in PLAN_FILES:
            text = self.files.read_text(bundle / name)
            if text is not None:
                self.files.make_folder(self._path("var/lib/slurm-topology"), 0o750)
                self.files.write_atomically(self._path("var/lib/slurm-topology", name), text)

    def _point(self, link: Path, target: str) -> None:
        """Make a symbolic link, or point it elsewhere, in one step."""
        self.files.make_folder(link.parent)
        fresh = link.with_name(f".{link.name}.new")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(target)
        self.files.rename(fresh, link)

    def _write_units(self, version: Path, writable: Iterable[str]) -> None:
        folder = self._path("etc/systemd/system")
        self.files.make_folder(folder / "slurm-topology.service.d")
        for unit in UNITS:
            text = self.files.read_text(version / "systemd" / unit)
            if text is None:
                raise InputError(f"the bundle lacks systemd/{unit}: expected {', '.join(UNITS)}")
            self.files.write_atomically(folder / unit, text)
        paths = "".join(f"ReadWritePaths=-{path}\n" for path in sorted(set(writable)))
        self.files.write_atomically(folder / "slurm-topology.service.d" / "paths.conf", f"[Service]\n{paths}")

    def _forget_old_versions(self, name: str) -> None:
        folder = self._path("opt/slurm-topology")
        versions = [each for each in folder.iterdir() if each.is_dir() and not each.is_symlink() and each.name != name]
        versions.sort(key=lambda each: each.stat().st_mtime, reverse=True)
        for old in versions[VERSIONS_KEPT - 1 :]:
            shutil.rmtree(old, ignore_errors=True)

    # ---- systemd

    def _systemd(self) -> bool:
        return self.prefix == Path("/") and systemd_runs(self.files)

    def start(self) -> bool:
        """Start the units;

        without systemd, or where that fails, one pass in the background, which waits for Slurm by itself.
        """
        if self._systemd():
            try:
                self._systemctl("daemon-reload")
                self._systemctl("enable", "--now", *STARTED_UNITS)
                self._systemctl("start", "--no-block", UNITS[0])
            except CommandError:
                pass  # the caller is told; the pass below does the first work at least
            else:
                return True
        if self.prefix == Path("/"):
            self.shell.launch(["/opt/slurm-topology/current/bin/slurm-topology", "reconcile", "--service"])
        return False

    def _systemctl(self, *arguments: str) -> None:
        self.shell.check(["systemctl", *arguments], timeout=SYSTEMCTL_SECONDS)


def unusable_python(executable: str, home: str) -> str:
    """Why the unit's process couldn't run this interpreter, whose library is in ``home``; "" when it can."""
    if not executable.startswith("/") or " " in executable or len(executable) > SHEBANG_LENGTH:
        return f"its path can't be the first line of a script (expected at most {SHEBANG_LENGTH} characters, no blank)"
    for path in (executable, os.path.realpath(executable), home, os.path.realpath(home)):
        hidden = next((folder for folder in HIDDEN if Path(path).is_relative_to(folder)), None)
        if hidden:
            return f"{path} is below {hidden}, which the agent's unit doesn't see"
    return ""


def _hash(archive: Path) -> str:
    return hashlib.sha256(archive.read_bytes()).hexdigest()[:12]
