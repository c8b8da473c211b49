"""Rules about disks and file systems. Ids HPS050 to HPS059."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from slurm_topology.core.model import Finding

from ._rules import error
from ._spec import ClusterSpec
from ._tokens import known_number, known_text
from .storage import LustreMount, Mount, NewLustre, NewOpenZfs, OpenZfsMount

__all__ = ["RULES"]

_MOST_VOLUME_GIB = 16384  # ClusterEbsVolumeSizeInGB
_DNS_NAME = re.compile(r"(?=.{16,275}$)(fs|fc)i?-[0-9a-f]{8,}\..{4,253}")  # ClusterDnsName
_MOUNT_NAME = re.compile(r"[A-Za-z0-9_-]{1,8}")  # ClusterMountName
_OPENZFS_THROUGHPUTS = (160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240)  # MB/s of SINGLE_AZ_HA_2
_SHARED = "shared_storage"
_VOLUME_PATH = "/opt/sagemaker"  # of an additional EBS volume (SageMaker developer guide, HyperPod, storage)
# What a node needs at its place: the Filesystem Hierarchy Standard 3.0, and HyperPod's Slurm in /opt/slurm.
_SYSTEM_TREES = tuple(f"{path}/" for path in ("/boot", "/dev", "/etc", "/opt/slurm", "/proc", "/run", "/sys"))
_SYSTEM_PATHS = {
    *(path.rstrip("/") for path in _SYSTEM_TREES),
    *("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/root", "/sbin", "/snap", "/usr", "/var"),
    *("/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/sbin", "/usr/share", "/usr/local"),
    *("/var/lib", "/var/log", "/var/run", "/var/spool", "/tmp", "/var/tmp"),  # noqa: S108 - nothing is written there
}
_MOUNT_PATH = re.compile(r"/[a-zA-Z0-9._/-]{1,1023}")  # ClusterFsxMountPath


def volume_size(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        size = group.ebs_volume.size_gib if group.ebs_volume else None
        if known_number(size) and not 1 <= size <= _MOST_VOLUME_GIB:
            yield error(
                "HPS050",
                group.name,
                f"an EBS volume has 1 to {_MOST_VOLUME_GIB} GiB; got {size}",
                "Use FSx for Lustre for more.",
            )


def one_file_system_of_a_kind(spec: ClusterSpec) -> Iterator[Finding]:
    for user in _users(spec):
        for kind, word in ((LustreMount, "Lustre"), (OpenZfsMount, "OpenZFS")):
            count = sum(isinstance(mount, kind) for mount in user.mounts)
            if count > 1 and any(isinstance(mount, kind) for mount in user.own):
                yield error(
                    "HPS051",
                    user.name,
                    f"a group mounts at most one FSx for {word} file system, shared storage included; got {count}",
                    "Mount further ones in a lifecycle script.",
                )


def mount_paths_differ(spec: ClusterSpec) -> Iterator[Finding]:
    for user in _users(spec):
        volume = [_VOLUME_PATH] if user.has_volume else []
        counts = Counter([*(_path(mount) for mount in user.mounts), *volume])
        for path in dict.fromkeys([*(_path(mount) for mount in user.own), *volume]):
            if counts[path] > 1:
                yield error(
                    "HPS052",
                    user.name,
                    f"{counts[path]} file systems would be mounted at {path}; expected a path of its own for each",
                    f"Set mount_path. (An ebs_volume is at {_VOLUME_PATH}.)",
                )


def mount_path_is_free(spec: ClusterSpec) -> Iterator[Finding]:
    for user in _users(spec):
        for path in map(_path, user.own):
            if path in _SYSTEM_PATHS or path.startswith(_SYSTEM_TREES):
                yield error(
                    "HPS058",
                    user.name,
                    f"a mount hides what a node's system, or Slurm, has at its path; got {path!r}",
                    "Choose a path that is free, such as /fsx, /home or /data.",
                )


class _User(NamedTuple):
    """Whose mounts: the cluster's, or those that a group has in the end, its ``own`` among them."""

    name: str
    mounts: Sequence[Mount]
    own: Sequence[Mount]
    has_volume: bool = False


def _users(spec: ClusterSpec) -> Iterator[_User]:
    yield _User(_SHARED, spec.shared_mounts, spec.shared_mounts)
    for group in spec.groups:
        yield _User(group.name, spec.mounts_of(group), group.mounts, group.ebs_volume is not None)


def _path(mount: Mount) -> str:
    """One spelling: ``/fsx/`` and ``//fsx`` are ``/fsx``. What is no path yet stays what it is."""
    path = mount.mount_path
    return f"/{posixpath.normpath(path).lstrip('/')}" if known_text(path) and path.startswith("/") else path


def mount_values(spec: ClusterSpec) -> Iterator[Finding]:
    for mount in spec.shared_mounts:
        yield from _wrong_values(_SHARED, mount)
    for group in spec.groups:
        for mount in group.mounts:
            yield from _wrong_values(group.name, mount)


def _wrong_values(group: str, mount: Mount) -> Iterator[Finding]:
    if known_text(mount.dns_name) and _DNS_NAME.fullmatch(mount.dns_name) is None:
        yield error(
            "HPS053",
            group,
            f"a file system is named by its DNS name, such as fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com; "
            f"got {mount.dns_name!r}",
            "See `aws fsx describe-file-systems`.",
        )
    if isinstance(mount, LustreMount) and known_text(mount.mount_name) and not _MOUNT_NAME.fullmatch(mount.mount_name):
        yield error(
            "HPS054",
            group,
            f"Lustre's mount name has 1 to 8 letters, digits, _ and -; got {mount.mount_name!r}",
            "FSx gives it: LustreConfiguration.MountName of `aws fsx describe-file-systems`.",
        )
    if known_text(mount.mount_path) and _MOUNT_PATH.fullmatch(mount.mount_path) is None:
        yield error(
            "HPS055",
            group,
            f"a mount path is absolute, of letters, digits and . _ / -, and not / itself; got {mount.mount_path!r}",
            "Choose another mount_path.",
        )


def new_lustre(spec: ClusterSpec) -> Iterator[Finding]:
    for storage in spec.shared_storage:
        size = storage.capacity_gib if isinstance(storage, NewLustre) else None
        if known_number(size) and size != 1200 and (size < 2400 or size % 2400):
            yield error(
                "HPS056",
                _SHARED,
                f"a Lustre file system has 1,200 GiB or a multiple of 2,400; got {size}",
                "Round capacity_gib up.",
            )


def new_openzfs(spec: ClusterSpec) -> Iterator[Finding]:
    for storage in spec.shared_storage:
        if not isinstance(storage, NewOpenZfs):
            continue
        wrong = []
        if known_number(storage.capacity_gib) and not 64 <= storage.capacity_gib <= 524288:
            wrong.append(f"capacity_gib must be 64 to 524,288, got {storage.capacity_gib}")
        if known_number(storage.throughput_mbps) and storage.throughput_mbps not in _OPENZFS_THROUGHPUTS:
            values = ", ".join(map(str, _OPENZFS_THROUGHPUTS))
            wrong.append(f"throughput_mbps must be one of {values}, got {storage.throughput_mbps}")
        if wrong:
            yield error("HPS057", _SHARED, "; ".join(wrong), "See FSx for OpenZFS, SINGLE_AZ_HA_2.")


RULES: tuple[Callable[[ClusterSpec], Iterator[Finding]], ...] = (
    volume_size,
    one_file_system_of_a_kind,
    mount_paths_differ,
    mount_path_is_free,
    mount_values,
    new_lustre,
    new_openzfs,
)
