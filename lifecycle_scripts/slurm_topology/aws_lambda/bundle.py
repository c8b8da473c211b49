"""Unpacks the node bundle (a CDK asset zip) to the lifecycle prefix, from where HyperPod copies it to every node.

The prefix is addressed by content: a bundle of other content goes to another prefix, and what an older cluster
configuration points to stays. So an object that is there with the right size and SHA-256 needs no second upload, and
repeating an unpacking, or one that was cut off half-way, comes to the same end.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any, NamedTuple

from slurm_topology.aws import Patience, get_object, put_if_changed
from slurm_topology.core.errors import InputError

__all__ = ["Unpacked", "unpack"]

_MOST_BYTES = 200_000_000  # unpacked; a node bundle has some 10 MB, a Lambda's memory is what a larger one would fill
_CONTENT_TYPES = {".sh": "text/x-shellscript", ".json": "application/json", ".zip": "application/zip"}


class Unpacked(NamedTuple):
    """Names of the objects below the prefix, in order."""

    written: tuple[str, ...]
    there_already: tuple[str, ...]


def unpack(s3: Any, source: tuple[str, str], bucket: str, prefix: str, patience: Patience) -> Unpacked:
    """Copy each file of the zip at ``source`` (bucket, key) to ``s3://bucket/prefix/``.

    Raises InputError when the zip is unusable, AwsError when S3 refuses. Nothing is ever deleted.
    """
    members = read_zip(get_object(s3, *source, patience), f"s3://{source[0]}/{source[1]}")
    written: list[str] = []
    there_already: list[str] = []
    for name, content in members.items():
        changed = put_if_changed(s3, bucket, f"{prefix}/{name}", content, _content_type(name), patience)
        (written if changed else there_already).append(name)
    return Unpacked(tuple(written), tuple(there_already))


def read_zip(content: bytes, where: str) -> dict[str, bytes]:
    """Name → content of each file, sorted by name. Raises InputError for anything but a plain zip of plain names."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = sorted((info for info in archive.infolist() if not info.is_dir()), key=lambda info: info.filename)
            _refuse_bad_members(files, where)
            return {info.filename: archive.read(info) for info in files}
    except InputError:
        raise
    # zipfile lets through what the layers below it raise: zlib.error, RuntimeError, OSError …
    except Exception as error:
        raise InputError(
            f"the node bundle {where} is no readable zip ({error}): deploy again to upload it anew"
        ) from error


def _refuse_bad_members(files: list[zipfile.ZipInfo], where: str) -> None:
    if not files:
        raise InputError(f"the node bundle {where} is an empty zip")
    for info in files:
        if info.filename.startswith("/") or ".." in info.filename.split("/"):
            raise InputError(f"the node bundle {where} has a file named {info.filename!r}: it would leave the prefix")
    size = sum(info.file_size for info in files)
    if size > _MOST_BYTES:
        raise InputError(f"the node bundle {where} has {size} bytes unpacked, expected at most {_MOST_BYTES}")


def _content_type(name: str) -> str:
    return next((kind for end, kind in _CONTENT_TYPES.items() if name.endswith(end)), "application/octet-stream")
