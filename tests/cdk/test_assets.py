"""The node bundle and the Lambda function's code: the same bytes everywhere, and they work where they go."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import pytest

from cdk.apps import ROOT
from hyperpod_slurm import _assets, _cache, _vendor
from slurm_topology import __version__
from slurm_topology.aws_lambda import bundle as unpacking


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test builds anew, into a folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for function in (
        _cache.folder,
        _assets._built_handler,
        _assets._own_files,
        _assets._vendor_files,
        _vendor.versions,
    ):
        function.cache_clear()
    return tmp_path


def names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_what_is_in_the_bundle() -> None:
    built = _assets.build_bundle()
    assert names(built.path) == ["agent.zip", "manifest.json", "on_create.sh", "on_init_complete.sh"]
    with zipfile.ZipFile(built.path) as archive, zipfile.ZipFile(archive.open("agent.zip")) as agent:
        tops = {name.partition("/")[0] for name in agent.namelist()}
        manifest = json.loads(archive.read("manifest.json"))
        for name, expected in manifest["sha256"].items():
            assert hashlib.sha256(archive.read(name)).hexdigest() == expected
    assert tops == {"slurm_topology", "systemd", "vendor"}
    assert manifest["version"] == __version__
    assert {"boto3", "botocore", "PyYAML"} <= set(manifest["packages"])
    assert manifest["extension_script"] is None


def test_the_lambda_function_can_unpack_it() -> None:
    """The reader of the other side accepts it."""
    files = unpacking.read_zip(_assets.build_bundle().path.read_bytes(), "the bundle")
    assert set(files) == {"agent.zip", "manifest.json", "on_create.sh", "on_init_complete.sh"}


def test_the_handler_is_the_package_alone() -> None:
    found = names(_assets.build_handler().path)
    assert "slurm_topology/aws_lambda/handler.py" in found
    assert all(name.startswith("slurm_topology/") and "__pycache__" not in name for name in found)


def test_your_scripts_travel_in_a_folder_of_their_own(tmp_path: Path) -> None:
    """So that a file named on_create.sh of yours is not ours. Caches and version control stay here."""
    folder = tmp_path / "scripts"
    for name in ("on_create.sh", "lib/users.sh", "__pycache__/x.pyc", ".git/config"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("true\n")
    built = _assets.build_bundle(folder, "on_create.sh")
    assert [name for name in names(built.path) if name.startswith("extension/")] == [
        "extension/lib/users.sh",
        "extension/on_create.sh",
    ]
    with zipfile.ZipFile(built.path) as archive:
        assert json.loads(archive.read("manifest.json"))["extension_script"] == "on_create.sh"


def test_provisioning_parameters_are_never_ours() -> None:
    """HyperPod fails an update when that file lies in the prefix."""
    built = _assets.build_bundle()
    assert not [name for name in names(built.path) if "provisioning" in name]


def test_same_content_same_hash(own_cache: Path) -> None:
    """Built twice, in two caches: the same hash and the same bytes. Modes and times of files don't count."""
    first = _assets.build_bundle()
    content = first.path.read_bytes()
    first.path.unlink()
    os.utime(ROOT / "lifecycle_scripts" / "on_create.sh")
    _assets._own_files.cache_clear()
    second = _assets.build_bundle()
    assert second.content_hash == first.content_hash
    assert second.path.read_bytes() == content


def test_other_content_other_hash(tmp_path: Path) -> None:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "a.sh").write_text("true\n")
    before = _assets.build_bundle(folder, "a.sh").content_hash
    (folder / "a.sh").write_text("false\n")
    assert _assets.build_bundle(folder, "a.sh").content_hash != before
    (folder / "a.sh").rename(folder / "b.sh")
    assert _assets.build_bundle(folder, "b.sh").content_hash != before


def test_names_and_contents_cannot_be_confused() -> None:
    assert _assets.content_hash({"a": b"bc"}) != _assets.content_hash({"ab": b"c"})
    assert _assets.content_hash({"a": b"x", "b": b"y"}) == _assets.content_hash({"b": b"y", "a": b"x"})


def test_scripts_keep_the_run_bit() -> None:
    with zipfile.ZipFile(_assets.build_bundle().path) as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
    assert modes["on_init_complete.sh"] == 0o755
    assert modes["agent.zip"] == 0o644


def test_a_read_only_home_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    """CI has homes where nothing can be written: a temporary folder takes the cache's place."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    _cache.folder.cache_clear()
    assert _assets.build_handler().path.is_file()


def test_unused_files_leave_the_cache(own_cache: Path) -> None:
    old = _cache.store("old.zip", b"x")
    os.utime(old, (0, 0))
    kept = _cache.store("kept.zip", b"y")
    assert (old.exists(), kept.exists()) == (False, True)
    assert _cache.fetch("old.zip") is None


@pytest.fixture(scope="module")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vendor folder, unpacked."""
    folder = tmp_path_factory.mktemp("vendor")
    for name, content in _vendor.files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


_CLIENTS = """
import boto3, sys, yaml
for service, operations in {operations!r}.items():
    for region in ("us-west-2", "us-gov-west-1", "cn-north-1"):
        client = boto3.client(service, region_name=region, aws_access_key_id="x", aws_secret_access_key="y")
        assert region in client.meta.endpoint_url, client.meta.endpoint_url
    known = set(client.meta.service_model.operation_names)
    assert known == set(operations), (service, known)
    for operation in operations:
        client.meta.service_model.operation_model(operation).input_shape
assert boto3.__file__.startswith({folder!r}) and yaml.__file__.startswith({folder!r})
print("ok", not yaml.__with_libyaml__)
"""


def test_a_node_needs_nothing_but_python(vendor: Path) -> None:
    """boto3 and PyYAML out of the bundle, in a Python without site-packages: clients in three partitions."""
    code = _CLIENTS.format(operations=dict(_vendor.OPERATIONS), folder=str(vendor))
    result = subprocess.run(
        [sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(vendor)}, capture_output=True, text=True, check=False
    )
    assert (result.stdout.strip(), result.stderr) == ("ok True", "")


def test_the_models_hold_all_that_we_call() -> None:
    """Each operation that slurm_topology.aws names is in the trimmed models of its service."""
    import re

    sources = "".join(path.read_text() for path in (ROOT / "lifecycle_scripts/slurm_topology/aws").glob("*.py"))
    called = {tuple(found.split(":")) for found in re.findall(r'"((?:ec2|sagemaker|s3|cloudwatch):[A-Z]\w+)"', sources)}
    assert ("sagemaker", "ListClusterNodes") in called
    missing = {(service, name) for service, name in called if name not in _vendor.OPERATIONS[service]}
    assert missing == set()


def test_trimming_keeps_what_is_reached_and_drops_the_rest() -> None:
    model = {
        "metadata": {"apiVersion": "1"},
        "operations": {"A": {"name": "A", "input": {"shape": "In"}}, "B": {"name": "B", "input": {"shape": "Other"}}},
        "shapes": {
            "In": {"type": "structure", "members": {"documentation": {"shape": "Text", "documentation": "long"}}},
            "Text": {"type": "string", "documentation": "long"},
            "Other": {"type": "structure", "members": {}},
        },
    }
    trimmed = _vendor.trimmed(model, ["A", "NotKnownYet"])
    assert trimmed["operations"] == {"A": {"name": "A", "input": {"shape": "In"}}}
    assert trimmed["shapes"] == {
        "In": {"type": "structure", "members": {"documentation": {"shape": "Text"}}},
        "Text": {"type": "string"},
    }


def test_licenses_travel_along(vendor: Path) -> None:
    licensed = {path.parent.name for path in (vendor / "licenses").rglob("*") if path.is_file()}
    assert {"boto3", "botocore", "PyYAML", "urllib3", "jmespath"} <= licensed
    assert "left out" in (vendor / "NOTICE").read_text()


@pytest.mark.parametrize(
    ("requires", "runs"),
    [
        ("", True),
        (">=3.9", True),
        (">= 3.10", True),
        ("!=3.0.*,!=3.1.*,!=3.2.*,>=2.7", True),
        ("<4,>=3.8", True),
        ("~=3.9", True),
        ("==3.*", True),
        (">=3.8,!=3.10.1", True),
        (">=3.11", False),
        (">3.10", False),
        ("<3.10", False),
        (">=3.8,!=3.10.*", False),
        ("==3.12.*", False),
        ("~=3.11", False),
    ],
)
def test_who_runs_on_a_node(requires: str, runs: bool) -> None:
    assert _vendor.runs_on_nodes(requires) is runs


def test_a_package_that_nodes_cannot_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of `cdk synth` may have a newer Python, and packages that need it: the agent would be without
    SDK, or dead."""
    real = metadata.metadata

    def newer(name: str) -> Any:
        found = real(name)
        if name == "botocore":
            cast(Any, found).replace_header("Requires-Python", ">=3.11")
        return found

    monkeypatch.setattr(metadata, "metadata", newer)
    _vendor.versions.cache_clear()
    with pytest.raises(ValueError, match=r"botocore .* needs Python >=3\.11, and HyperPod's nodes have 3\.10"):
        _vendor.versions()
