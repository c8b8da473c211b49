"""The node bundle arrives whole, once, and can be unpacked again after any interruption."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aws_lambda.s3_fake import S3Fake
from aws_lambda.service_fake import patience
from slurm_topology.aws_lambda.bundle import Unpacked, read_zip, unpack
from slurm_topology.core.errors import AwsError, InputError

SOURCE = ("assets", "bundle.zip")
FILES = {"on_init_complete.sh": b"#!/bin/sh\n", "agent.zip": b"PK...", "manifest.json": b"{}"}


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.fixture(params=[False, True], ids=["may not list", "may list"])
def s3(request: pytest.FixtureRequest) -> S3Fake:
    s3 = S3Fake(may_list=request.param)
    s3.objects[SOURCE] = (zipped(FILES), {})
    return s3


def run(s3: S3Fake) -> Unpacked:
    return unpack(s3.client, SOURCE, "b", "lifecycle/0123", patience())


def test_every_file_arrives_with_its_content(s3: S3Fake) -> None:
    assert run(s3) == Unpacked(("agent.zip", "manifest.json", "on_init_complete.sh"), ())
    assert {key: content for (bucket, key), (content, _) in s3.objects.items() if bucket == "b"} == {
        f"lifecycle/0123/{name}": content for name, content in FILES.items()
    }
    types = {call["Key"].rpartition("/")[2]: call["ContentType"] for name, call in s3.fake.calls if name == "PutObject"}
    assert types["on_init_complete.sh"] == "text/x-shellscript"


def test_what_is_there_is_not_uploaded_again(s3: S3Fake) -> None:
    run(s3)
    s3.fake.calls.clear()
    assert run(s3).there_already == ("agent.zip", "manifest.json", "on_init_complete.sh")
    assert s3.written == []


@pytest.mark.parametrize(
    "damage", [(b"cut", {}), (b"PK..!", {"sha256": "0"}), (b"PK...", {})], ids=["size", "sha", "no sha"]
)
def test_what_differs_is_uploaded_again(s3: S3Fake, damage: tuple[bytes, dict[str, str]]) -> None:
    run(s3)
    s3.objects["b", "lifecycle/0123/agent.zip"] = damage
    assert run(s3).written == ("agent.zip",)
    assert s3.objects["b", "lifecycle/0123/agent.zip"][0] == b"PK..."


def test_an_interrupted_upload_is_continued(s3: S3Fake) -> None:
    run(s3)
    del s3.objects["b", "lifecycle/0123/manifest.json"]
    assert run(s3) == Unpacked(("manifest.json",), ("agent.zip", "on_init_complete.sh"))


def test_denied_upload(s3: S3Fake) -> None:
    s3.denied.add("PutObject")
    with pytest.raises(
        AwsError, match=r"s3:PutObject on s3://b/lifecycle/0123/agent.zip was denied.*Allow s3:PutObject"
    ):
        run(s3)


def test_missing_bundle(s3: S3Fake) -> None:
    del s3.objects[SOURCE]
    with pytest.raises(AwsError, match=r"s3:GetObject on s3://assets/bundle.zip failed: NoSuchKey"):
        run(s3)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not a zip", "no readable zip"),
        (zipped(FILES)[:-40], "no readable zip"),
        (zipped({}), "is an empty zip"),
        (zipped({"../x": b""}), "it would leave the prefix"),
        (zipped({"/x": b""}), "it would leave the prefix"),
    ],
)
def test_a_bundle_that_is_no_bundle(s3: S3Fake, content: bytes, said: str) -> None:
    s3.objects[SOURCE] = (content, {})
    with pytest.raises(InputError, match=said):
        run(s3)
    assert s3.written == []


DAMAGEABLE = zipped({name: name.encode() * 200 for name in FILES}, zipfile.ZIP_DEFLATED)


@given(st.lists(st.tuples(st.integers(0, len(DAMAGEABLE) - 1), st.integers(0, 255)), min_size=1, max_size=3))
@example([(6, 1)])  # encrypted
@example([(58, 255)])  # a stream that isn't deflate's
def test_a_damaged_bundle_is_read_or_named(changes: list[tuple[int, int]]) -> None:
    """Never a fault of ours: zipfile lets through whatever the layers below it raise."""
    content = bytearray(DAMAGEABLE)
    for place, byte in changes:
        content[place] = byte
    found = read(bytes(content))
    assert isinstance(found, dict) or found.startswith("the node bundle s3://assets/bundle.zip ")


def read(content: bytes) -> dict[str, bytes] | str:
    """The files, or what is wrong."""
    try:
        return read_zip(content, "s3://assets/bundle.zip")
    except InputError as error:
        return str(error)


def test_a_bundle_that_would_fill_the_memory(s3: S3Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slurm_topology.aws_lambda.bundle._MOST_BYTES", 10)
    with pytest.raises(InputError, match="has 17 bytes unpacked, expected at most 10"):
        run(s3)
