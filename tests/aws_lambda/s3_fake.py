"""S3 as far as the function uses it, behind a real client: objects with metadata, whole or not at all."""

from __future__ import annotations

import hashlib
import io
from typing import Any

from botocore.response import StreamingBody

from aws_lambda.service_fake import Refusal, ServiceFake

__all__ = ["S3Fake"]


class S3Fake:
    """``objects``: (bucket, key) → (content, metadata). ``denied``: operations that are refused.

    ``may_list``: HeadObject tells that an object is missing (404); else it says 403, as S3 does without s3:ListBucket.
    """

    def __init__(self, may_list: bool = False) -> None:
        self.objects: dict[tuple[str, str], tuple[bytes, dict[str, str]]] = {}
        self.denied: set[str] = set()
        self.may_list = may_list
        self.fake = ServiceFake("s3", {"GetObject": self._get, "PutObject": self._put, "HeadObject": self._head})
        self.client = self.fake.client

    @property
    def written(self) -> list[str]:
        """Keys of the PutObject calls, in order, refused ones included."""
        return [parameters["Key"] for name, parameters in self.fake.calls if name == "PutObject"]

    def _check(self, operation: str) -> None:
        if operation in self.denied:
            raise Refusal("AccessDenied", "Access Denied", 403)

    def _get(self, Bucket: str, Key: str, IfNoneMatch: str = "") -> dict[str, Any]:  # noqa: N803
        self._check("GetObject")
        if (Bucket, Key) not in self.objects:
            raise Refusal("NoSuchKey", "The specified key does not exist.", 404)
        content, metadata = self.objects[Bucket, Key]
        etag = f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'
        if etag == IfNoneMatch:
            raise Refusal("304", "Not Modified", 304)
        return {"Body": StreamingBody(io.BytesIO(content), len(content)), "Metadata": metadata, "ETag": etag}

    def _head(self, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        self._check("GetObject")
        if (Bucket, Key) not in self.objects:
            raise Refusal("404", "Not Found", 404) if self.may_list else Refusal("403", "Forbidden", 403)
        content, metadata = self.objects[Bucket, Key]
        return {"ContentLength": len(content), "Metadata": metadata}

    def _put(self, Bucket: str, Key: str, Body: bytes, Metadata: dict[str, str], ContentType: str) -> dict[str, Any]:  # noqa: N803
        self._check("PutObject")
        self.objects[Bucket, Key] = (Body, Metadata)
        return {}
