"""current.json: which plan is in force, at a place that never changes.

Lifecycle prefixes are named by their content, so a running agent can't know the next one. The deployment writes the
pointer last, when the cluster is in service with the plan that it names; an update that is rolled back never gets
there. The plan document itself says where the pointer is.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from .errors import InputError
from .shapes import describe, mapping, number, text

__all__ = ["POINTER_NAME", "PlanPointer", "dump", "pointer_key", "read", "split_uri"]

POINTER_NAME = "current.json"
_FORMAT = 1


class PlanPointer(NamedTuple):
    """Key of the plan, in the pointer's bucket, and the SHA-256 of its bytes as 64 hexadecimal digits."""

    plan_key: str
    plan_sha256: str


def pointer_key(lifecycle_prefix: str) -> str:
    """Beside the prefix, where all prefixes of one cluster lie."""
    parent = lifecycle_prefix.strip("/").rpartition("/")[0]
    return f"{parent}/{POINTER_NAME}" if parent else POINTER_NAME


def dump(pointer: PlanPointer) -> str:
    """The document as JSON text with a line break at its end."""
    document = {"Format": _FORMAT, "PlanKey": pointer.plan_key, "PlanSha256": pointer.plan_sha256}
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def read(document_text: str) -> PlanPointer:
    """Read what dump wrote. Raises InputError when it is no such document, or one of a later format."""
    try:
        document = mapping(json.loads(document_text), POINTER_NAME)
    except json.JSONDecodeError as error:
        raise InputError(f"{POINTER_NAME}: not JSON: {error}") from error
    key, digest = text(document.get("PlanKey")), text(document.get("PlanSha256"))
    if number(document.get("Format")) != _FORMAT or key is None or not re.fullmatch("[0-9a-f]{64}", digest or ""):
        expected = f"expected Format {_FORMAT}, PlanKey and a PlanSha256 of 64 digits"
        raise InputError(f"{POINTER_NAME}: {expected}, got {describe(document)}")
    return PlanPointer(key, str(digest))


def split_uri(uri: str) -> tuple[str, str]:
    """Bucket and key of ``s3://bucket/key``. Raises InputError for anything else."""
    found = re.fullmatch(r"s3://([^/]+)/(.+)", uri)
    if found is None:
        raise InputError(f"expected s3://bucket/key, got {uri!r}")
    return found[1], found[2]
