"""S3: whole objects, each with the SHA-256 of its content beside it as metadata."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, NamedTuple

from slurm_topology.core.errors import AwsError

from .call import Patience, call, persist

__all__ = ["MISSING", "StoredObject", "get_if_changed", "get_object", "put_if_changed", "put_object", "stored_object"]

# What S3 says about an object that isn't there: 404 to those who may list the bucket, 403 to all others.
MISSING = frozenset({"404", "NoSuchKey", "NotFound", "403", "AccessDenied"})

_SHA256 = "sha256"


class StoredObject(NamedTuple):
    """What is stored under a key, as far as HeadObject says."""

    size: int
    sha256: str  # "" when the object was not written by ``put_object``


def get_object(client: Any, bucket: str, key: str, patience: Patience) -> bytes:
    """The content of an object. Raises AwsError, with a code of ``MISSING`` when it isn't there."""

    def read() -> bytes:
        content: bytes = client.get_object(Bucket=bucket, Key=key)["Body"].read()
        return content

    # The body is read as part of the attempt: its connection can break too.
    return persist("s3:GetObject", patience, read, f"s3://{bucket}/{key}")


def get_if_changed(client: Any, bucket: str, key: str, etag: str, patience: Patience) -> tuple[bytes, str] | None:
    """The content of an object and its ETag; None when its ETag is still ``etag`` ("": none is known).

    Raises AwsError, with a code of ``MISSING`` when it isn't there.
    """

    def read() -> tuple[bytes, str]:
        condition = {"IfNoneMatch": etag} if etag else {}
        answer = client.get_object(Bucket=bucket, Key=key, **condition)
        return answer["Body"].read(), str(answer.get("ETag") or "")

    try:
        return persist("s3:GetObject", patience, read, f"s3://{bucket}/{key}")
    except AwsError as error:
        if error.code == "304":
            return None
        raise


def put_object(client: Any, bucket: str, key: str, content: bytes, content_type: str, patience: Patience) -> None:
    """Write an object. S3 replaces it as a whole: a reader sees the old content or the new, never a part."""
    call(
        client,
        "s3:PutObject",
        patience,
        Bucket=bucket,
        Key=key,
        Body=content,
        ContentType=content_type,
        Metadata={_SHA256: hashlib.sha256(content).hexdigest()},
    )


def put_if_changed(client: Any, bucket: str, key: str, content: bytes, content_type: str, patience: Patience) -> bool:
    """``put_object``, unless the same content is there already (by size and SHA-256). True when it was written."""
    wanted = StoredObject(len(content), hashlib.sha256(content).hexdigest())
    if stored_object(client, bucket, key, patience) == wanted:
        return False
    put_object(client, bucket, key, content, content_type, patience)
    return True


def stored_object(client: Any, bucket: str, key: str, patience: Patience) -> StoredObject | None:
    """What is stored under ``key``; None when nothing is, or when the caller may not know."""
    try:
        answer = call(client, "s3:HeadObject", replace(patience, denied_attempts=1), Bucket=bucket, Key=key)
    except AwsError as error:
        if error.code in MISSING:
            return None
        raise
    return StoredObject(int(answer.get("ContentLength") or 0), str((answer.get("Metadata") or {}).get(_SHA256, "")))
