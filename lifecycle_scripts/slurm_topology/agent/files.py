"""The one door to the disk: every byte that the agent writes goes through here.

Invariant: a reader, and a machine that loses power at any instant, sees the old content or the new one, whole.
``write_atomically``: temporary file in the same folder → write → fsync → owner and mode of the file it replaces →
rename → fsync of the folder. Each of these steps is a method of its own, so that tests can stop the world before and
after each.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["SCRATCH", "Files", "Signature"]

# Temporary files are called target.slurm-topology-new.HOST.PID: controllers may share the folder, and what a killed
# process left is known by its dead PID.
TEMPORARY = ".slurm-topology-new"
SCRATCH = "scratch"  # temporary folders: scratch.PID.xxxxxxxx


class Signature(NamedTuple):
    """Tells whether a file was replaced or changed: inode, size, time of the last change in nanoseconds."""

    inode: int
    size: int
    modified_ns: int


class Files:
    """Reads and writes.

    All paths are absolute; symbolic links are followed to the file they name before it is replaced.
    """

    host = os.uname().nodename

    # ---- reading

    def read_text(self, path: Path) -> str | None:
        """The text, byte for byte (odd bytes as surrogates), or None when there is no such file.

        Raises OSError otherwise.
        """
        try:
            return path.read_bytes().decode("utf-8", "surrogateescape")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read_from(self, path: Path, offset: int, limit: int = 65_536) -> str:
        """At most ``limit`` bytes of a growing file from ``offset`` on;

        "" when it can't be read or was truncated meanwhile.
        """
        try:
            with path.open("rb") as stream:
                stream.seek(offset)
                return stream.read(limit).decode("utf-8", "replace")
        except OSError:
            return ""

    def signature(self, path: Path) -> Signature | None:
        """None when there is no such file."""
        try:
            status = path.stat()
        except OSError:
            return None
        return Signature(status.st_ino, status.st_size, status.st_mtime_ns)

    def permissions(self, path: Path) -> str:
        """Owner and mode; "" when there is no such file."""
        try:
            status = path.stat()
        except OSError:
            return ""
        return f"{status.st_uid}:{status.st_gid} {status.st_mode:o}"

    def may_read(self, path: Path, user: str) -> bool:
        """By the file's owner and mode (no access list, no folder above it); True when nothing can be said."""
        try:
            status, who = path.stat(), pwd.getpwnam(user)
        except (OSError, KeyError):
            return True
        if who.pw_uid in (0, status.st_uid):
            return who.pw_uid == 0 or bool(status.st_mode & stat.S_IRUSR)
        groups = os.getgrouplist(user, who.pw_gid)
        return bool(status.st_mode & (stat.S_IRGRP if status.st_gid in groups else stat.S_IROTH))

    def names(self, folder: Path) -> list[str]:
        """Names in a folder, sorted; empty when it isn't there."""
        try:
            return sorted(entry.name for entry in os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def resolve(self, path: Path) -> Path:
        return Path(os.path.realpath(path))

    # ---- writing

    def write_atomically(
        self, path: Path, text: str, *, mode: int | None = None, unless_changed_since: Signature | None = None
    ) -> None:
        """Replace a file in one step and make that last. ``mode`` None: as it was, 0644 for a new one.

        ``unless_changed_since``: what the file was when it was read; when another writer has been there since, nothing
        is written (EBUSY). Raises OSError; then the old file is untouched and no temporary one stays behind (if the
        disk lets us remove it).
        """
        target = self.resolve(path)
        prefix = f"{target.name}{TEMPORARY}.{self.host}"
        self._forget_dead(target.parent, prefix)
        temporary = target.with_name(f"{prefix}.{os.getpid()}")
        before = _status(target)
        descriptor = self._create(temporary)
        try:
            try:
                self._write(descriptor, text.encode("utf-8", "surrogateescape"))
                self._take_over(descriptor, before, mode)
                self._sync(descriptor)
            finally:
                os.close(descriptor)
            if unless_changed_since is not None and self.signature(target) != unless_changed_since:
                raise OSError(errno.EBUSY, "it was changed by another program meanwhile", str(target))
            self._rename(temporary, target)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        self._sync_folder(target.parent)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there, and make that last."""
        with contextlib.suppress(FileNotFoundError):
            self._unlink(path)
            self._sync_folder(path.parent)

    def rename(self, old: Path, new: Path) -> None:
        """Rename within a folder and make that last."""
        self._rename(old, new)
        self._sync_folder(new.parent)

    def make_folder(self, path: Path, mode: int = 0o755) -> None:
        path.mkdir(mode=mode, parents=True, exist_ok=True)

    def touch(self, path: Path) -> None:
        """Change a file's time without caring for its content (a request mark).

        It isn't made to last: it is only news.
        """
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.utime(descriptor)
        finally:
            os.close(descriptor)

    def give_to(self, path: Path, user: str) -> None:
        """Make a user the owner of a file. A user that doesn't exist is no reason to stop."""
        with contextlib.suppress(LookupError):
            shutil.chown(path, user)

    @contextlib.contextmanager
    def scratch(self, parent: Path) -> Iterator[Path]:
        """A new, private folder under ``parent`` for as long as the block runs."""
        self.make_folder(parent)
        self._forget_dead(parent, SCRATCH)
        folder = Path(tempfile.mkdtemp(prefix=f"{SCRATCH}.{os.getpid()}.", dir=parent))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def copy(self, source: Path, target: Path) -> None:
        """Copy a file's bytes to a place that needn't last. Raises OSError."""
        shutil.copyfile(source, target)

    def write_scratch(self, path: Path, text: str) -> None:
        """Write a file that nobody else reads and that needn't last."""
        path.write_bytes(text.encode("utf-8", "surrogateescape"))

    @contextlib.contextmanager
    def lock(self, path: Path) -> Iterator[bool]:
        """Hold an exclusive lock, or say False at once when another process holds it.

        The kernel frees it when we die.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)

    def _forget_dead(self, folder: Path, prefix: str) -> None:
        """Remove what processes that are dead have left: prefix.PID, prefix.PID.anything."""
        for name in self.names(folder):
            pid = name.removeprefix(f"{prefix}.").partition(".")[0]
            if name.startswith(f"{prefix}.") and pid.isdigit() and not _lives(int(pid)):
                path = folder / name
                shutil.rmtree(path, ignore_errors=True)
                with contextlib.suppress(OSError):
                    path.unlink()

    # ---- single steps

    def _create(self, path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def _write(self, descriptor: int, content: bytes) -> None:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]

    def _take_over(self, descriptor: int, before: os.stat_result | None, mode: int | None) -> None:
        if before is not None:
            os.fchown(descriptor, before.st_uid, before.st_gid)
        kept = 0o644 if before is None else stat.S_IMODE(before.st_mode)
        os.fchmod(descriptor, kept if mode is None else mode)

    def _sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def _rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)  # noqa: PTH105 (one call, so that a test can name it)

    def _unlink(self, path: Path) -> None:
        os.unlink(path)  # noqa: PTH108

    def _sync_folder(self, folder: Path) -> None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._sync(descriptor)
        finally:
            os.close(descriptor)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _lives(pid: int) -> bool:
    """Another process of this number; what has our own is of an earlier boot, because we make one thing at a time."""
    return pid != os.getpid() and Path(f"/proc/{pid}").exists()
