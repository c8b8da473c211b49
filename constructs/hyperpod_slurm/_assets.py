"""The two S3 assets: the bundle that nodes get, and the code of the custom resources' Lambda function.

Bundle (unpacked by the Lambda function into the lifecycle prefix, copied by HyperPod to every node)::

    on_init_complete.sh  on_create.sh     entry points, one of which the instance groups name
    manifest.json                         version, packages inside, sha256 of every other file
    agent.zip                             slurm_topology/  systemd/  vendor/
    extension/…                           the user's own scripts, if there are any

The same inputs give the same bytes inside, on every machine: sorted names, one date, no compression in ``agent.zip``.
Asset hashes are computed from those bytes, not from the compressed outer file, whose bytes vary with the zlib at hand.
A node needs neither pip nor internet: boto3 and PyYAML come from the environment that runs ``cdk synth``.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import slurm_topology

from . import _cache, _vendor

__all__ = ["EXTENSION_FOLDER", "BuiltAsset", "build_bundle", "build_handler"]

EXTENSION_FOLDER = "extension"
_ENTRY_POINTS = ("on_create.sh", "on_init_complete.sh")
_UNWANTED_FOLDERS = frozenset({"__pycache__", ".git", ".DS_Store"})
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that the format knows

Files = dict[str, bytes]


class BuiltAsset(NamedTuple):
    """A zip file on this machine, and the hash of what is in it."""

    path: Path
    content_hash: str


def build_handler() -> BuiltAsset:
    """The Lambda function's code: ``slurm_topology`` alone; the runtime has boto3."""
    return _built_handler()


def build_bundle(extension: Path | None = None, extension_script: str | None = None) -> BuiltAsset:
    """The node bundle, with the files of ``extension`` in a folder of its own.

    ``extension_script``, a file in ``extension``, is written to the manifest; the entry points run it.
    """
    files = dict(_own_files())
    if extension is not None:
        files.update(_below(EXTENSION_FOLDER, read_folder(extension)))
    files["manifest.json"] = _manifest(files, extension_script)
    return _write("bundle", files)


def read_folder(folder: Path) -> Files:
    """All files below ``folder``, names relative to it with ``/``, without caches and version control."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.suffix != ".pyc"
        and not _UNWANTED_FOLDERS.intersection(path.relative_to(folder).parts)
    }


def content_hash(files: Mapping[str, bytes]) -> str:
    """SHA-256 over names and contents, whatever the order of ``files``."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode())
        digest.update(files[name])
    return digest.hexdigest()


def zip_bytes(files: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file whose bytes depend on ``files`` alone (and, when compressed, on the version of zlib)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _ZIP_DATE)
            entry.create_system = 3  # Unix, on every system: the mode below counts
            entry.external_attr = (0o100755 if name.endswith(".sh") else 0o100644) << 16
            entry.compress_type = compression
            archive.writestr(entry, files[name])
    return buffer.getvalue()


@cache
def _built_handler() -> BuiltAsset:
    return _write("handler", _below("slurm_topology", _topology_package()))


@cache
def _own_files() -> Mapping[str, bytes]:
    """Entry points and agent.zip: the same for every cluster of an app, so read and zipped once."""
    scripts = _scripts_folder()
    agent = {
        **_below("slurm_topology", _topology_package()),
        **_below("systemd", read_folder(scripts / "systemd")),
        **_below("vendor", _vendor_files()),
    }
    entry_points = {name: (scripts / name).read_bytes() for name in _ENTRY_POINTS}
    return {**entry_points, "agent.zip": zip_bytes(agent)}


@cache
def _topology_package() -> Files:
    return read_folder(Path(slurm_topology.__file__).parent)


def _scripts_folder() -> Path:
    """In a wheel the scripts lie inside this package; in a source checkout beside ``slurm_topology``."""
    inside = Path(__file__).parent / "_lifecycle_scripts"
    return inside if inside.is_dir() else Path(slurm_topology.__file__).parents[1]


def _below(folder: str, files: Mapping[str, bytes]) -> Files:
    return {f"{folder}/{name}": content for name, content in files.items()}


def _manifest(files: Mapping[str, bytes], extension_script: str | None) -> bytes:
    content = {
        "version": slurm_topology.__version__,
        "packages": dict(_vendor.versions()),
        "extension_script": extension_script,
        "sha256": {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)},
    }
    # a line for each name, and names as they are: on_init_complete.sh reads it on nodes without a Python, too
    return (json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _write(name: str, files: Mapping[str, bytes]) -> BuiltAsset:
    digest = content_hash(files)
    file_name = f"{name}-{digest[:32]}.zip"
    path = _cache.fetch(file_name) or _cache.store(file_name, zip_bytes(files, zipfile.ZIP_DEFLATED))
    return BuiltAsset(path, digest)


@cache
def _vendor_files() -> Files:
    """Made once for each set of package versions, then read from the cache: making them takes half a second."""
    key = json.dumps([_vendor.versions(), hashlib.sha256(Path(_vendor.__file__).read_bytes()).hexdigest()])
    file_name = f"vendor-{hashlib.sha256(key.encode()).hexdigest()[:32]}.zip"
    cached = _cache.fetch(file_name)
    if cached is not None:
        with zipfile.ZipFile(cached) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    made = _vendor.files()
    _cache.store(file_name, zip_bytes(made))
    return made
