"""current.json: which plan is in force; announced.json: which one a deployment brings. At a place that never changes.

Lifecycle prefixes are named by their content, so a running agent can't know the next one. The deployment writes the
pointer last, when the cluster is in service with the plan that it names; an update that is rolled back never gets
there. The plan document itself says where the pointer is.

A controller that is made by a deployment begins with a plan that is newer than the pointer, for as long as the
deployment takes. It can't tell that from a plan whose update was rolled back, by the pointer alone: so a plan is
announced before it is written, and a rollback announces the old one again.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from .errors import InputError
from .shapes import describe, mapping, number, text

__all__ = ["POINTER_NAME", "PlanPointer", "announced_key", "dump", "pointer_key", "read", "split_uri"]

POINTER_NAME = "current.json"
_ANNOUNCED_NAME = "announced.json"
_FORMAT = 1


class PlanPointer(NamedTuple):
    """Key of the plan, in the pointer's bucket, and the SHA-256 of its bytes as 64 hexadecimal digits."""

    plan_key: str
    plan_sha256: str
    cluster: str | None = None  # name or ARN of the cluster that is in service with it; None: nobody said


def pointer_key(lifecycle_prefix: str) -> str:
    """Beside the prefix, where all prefixes of one cluster lie."""
    parent = lifecycle_prefix.strip("/").rpartition("/")[0]
    return f"{parent}/{POINTER_NAME}" if parent else POINTER_NAME


def announced_key(pointer_key: str) -> str:
    """Beside the pointer: a document of the same kind."""
    return f"{pointer_key.removesuffix(POINTER_NAME)}{_ANNOUNCED_NAME}"


def dump(pointer: PlanPointer) -> str:
    """The document as JSON text with a line break at its end."""
    document: dict[str, object] = {"Format": _FORMAT, "PlanKey": pointer.plan_key, "PlanSha256": pointer.plan_sha256}
    if pointer.cluster is not None:
        document["Cluster"] = pointer.cluster
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
    return PlanPointer(key, str(digest), text(document.get("Cluster")))


def split_uri(uri: str) -> tuple[str, str]:
    """Bucket and key of ``s3://bucket/key``. Raises InputError for anything else."""
    found = re.fullmatch(r"s3://([^/]+)/(.+)", uri)
    if found is None:
        raise InputError(f"expected s3://bucket/key, got {uri!r}")
    return found[1], found[2]
