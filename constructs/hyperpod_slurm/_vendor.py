"""The Python packages that travel in the node bundle, cut down to what the agent uses.

From botocore: all code, but the service models of ``OPERATIONS`` only, each with those operations and the shapes they
reach. That is what makes the agent start quickly: EC2's whole model is 12 MB of JSON, the two operations take 60 kB.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["OPERATIONS", "files", "runs_on_nodes", "versions"]

# /usr/bin/python3 of HyperPod's Ubuntu 22.04 images; those of 24.04 have 3.12, which runs the same code.
_NODE_PYTHON = (3, 10)

# Service (as botocore's data folder names it) → operations that slurm_topology.aws calls.
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "cloudwatch": ("PutMetricData",),
    "ec2": ("DescribeInstanceTopology", "DescribeInstanceTypes", "DescribeManagedPrefixLists"),
    "s3": ("GetObject", "HeadObject", "ListObjectsV2", "PutObject"),
    "sagemaker": (
        "DescribeCluster",
        "DescribeClusterNode",
        "DescribeTrainingPlan",
        "ListClusterNodes",
        "ListUltraServersByReservedCapacity",
    ),
    "sts": ("AssumeRole", "AssumeRoleWithWebIdentity", "GetCallerIdentity"),  # botocore's credential providers use it
}

# Distribution → what it installs at the top of site-packages.
_DISTRIBUTIONS: Mapping[str, str] = {
    "boto3": "boto3",
    "botocore": "botocore",
    "jmespath": "jmespath",
    "python-dateutil": "dateutil",
    "PyYAML": "yaml",
    "s3transfer": "s3transfer",
    "six": "six",
    "urllib3": "urllib3",
}

_LOADER_FILES = ("_retry.json", "partitions.json", "sdk-default-configuration.json")
_NOTICE = """\
These packages were copied from the Python environment that ran `cdk synth`; their licenses lie in licenses/.
Changed: from botocore/data and boto3/data the files of services that the agent does not call were left out, and the
service models that are left hold only the operations that it calls. Compiled extensions were left out.
"""


@cache
def versions() -> tuple[tuple[str, str], ...]:
    """(distribution, version) of everything inside, sorted. Raises ValueError for what nodes can't run."""
    for name in _DISTRIBUTIONS:
        _refuse_newer(name)
    return tuple(sorted((name, metadata.version(name)) for name in _DISTRIBUTIONS))


def _refuse_newer(name: str) -> None:
    requires = str(metadata.metadata(name).json.get("requires_python", ""))
    if not runs_on_nodes(requires):
        node = ".".join(map(str, _NODE_PYTHON))
        raise ValueError(
            f"{name} {metadata.version(name)} of this Python environment travels to the nodes, but it needs Python "
            f"{requires}, and HyperPod's nodes have {node}: install a release that supports {node}"
        )


def runs_on_nodes(requires_python: str) -> bool:
    """Whether Python 3.10, in a late enough release, is in a ``Requires-Python`` such as ``<4,>=3.8,!=3.9.*``."""
    return all(map(_clause_holds, filter(None, requires_python.replace(" ", "").split(","))))


def _clause_holds(clause: str) -> bool:
    found = re.fullmatch(r"(~=|===?|!=|<=?|>=?)(\d+)(?:\.(\d+))?(.*)", clause)
    if found is None:
        return True  # no clause that is known: the node's own import decides
    operator, major = found[1], int(found[2])
    minor = None if found[3] is None else int(found[3])
    named = (major, minor or 0)
    inside = major == _NODE_PYTHON[0] and minor in (None, _NODE_PYTHON[1])
    return {
        ">=": named <= _NODE_PYTHON,
        ">": named < _NODE_PYTHON,
        "<=": named >= _NODE_PYTHON,
        "<": named > _NODE_PYTHON,
        "~=": major == _NODE_PYTHON[0] and named <= _NODE_PYTHON,
        "!=": not inside or found[4] not in ("", ".*"),  # a single release that is bad leaves the others
    }.get(operator, inside)


def files() -> dict[str, bytes]:
    """The content of ``vendor/``: names relative to it."""
    found: dict[str, bytes] = {"NOTICE": _NOTICE.encode()}
    for distribution, module in _DISTRIBUTIONS.items():
        found.update(_code(module))
        found.update(_licenses(distribution))
    found.update(_botocore_data())
    return found


def _code(module: str) -> dict[str, bytes]:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the node bundle needs the package {module}, which is not installed here")
    if not spec.submodule_search_locations:
        return {Path(spec.origin).name: Path(spec.origin).read_bytes()}
    folder = Path(spec.origin).parent
    wanted = (".py", ".pem")
    return {
        f"{module}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in wanted
    }


def _licenses(distribution: str) -> dict[str, bytes]:
    listed = metadata.files(distribution) or []
    wanted = [path for path in listed if path.name.upper().startswith(("LICENSE", "NOTICE", "COPYING"))]
    return {f"licenses/{distribution}/{path.name}": path.read_binary() for path in wanted}


def _botocore_data() -> dict[str, bytes]:
    data = _botocore_folder() / "data"
    found = {f"botocore/data/{name}": (data / name).read_bytes() for name in _LOADER_FILES if (data / name).exists()}
    found["botocore/data/endpoints.json"] = _json_bytes(
        _trimmed_endpoints(json.loads((data / "endpoints.json").read_text()))
    )
    for service, operations in OPERATIONS.items():
        folder = max(path for path in (data / service).iterdir() if path.is_dir())  # newest API version
        prefix = f"botocore/data/{service}/{folder.name}"
        found[f"{prefix}/service-2.json"] = _json_bytes(trimmed(_load(folder, "service-2"), operations))
        found[f"{prefix}/endpoint-rule-set-1.json"] = _json_bytes(_load(folder, "endpoint-rule-set-1"))
        extras = folder / "service-2.sdk-extras.json"
        if extras.exists():
            found[f"{prefix}/{extras.name}"] = extras.read_bytes()
    return found


def _botocore_folder() -> Path:
    spec = importlib.util.find_spec("botocore")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the node bundle needs the package botocore, which is not installed here")
    return Path(spec.origin).parent


def _load(folder: Path, name: str) -> dict[str, Any]:
    """A data file of botocore, which is compressed or not, as the release likes."""
    plain = folder / f"{name}.json"
    text = plain.read_bytes() if plain.exists() else gzip.decompress((folder / f"{name}.json.gz").read_bytes())
    content: dict[str, Any] = json.loads(text)
    return content


def _json_bytes(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()


def trimmed(model: Mapping[str, Any], operations: Iterable[str]) -> dict[str, Any]:
    """``model`` with ``operations`` alone and the shapes they reach, without documentation.

    An operation that this botocore does not know yet is left out: the agent says so when it calls it.
    """
    kept = {name: model["operations"][name] for name in operations if name in model["operations"]}
    waiting = list(_shape_names(kept))
    shapes: dict[str, Any] = {}
    while waiting:
        name = waiting.pop()
        if name not in shapes:
            shapes[name] = model["shapes"][name]
            waiting += _shape_names(shapes[name])
    rest = {key: value for key, value in model.items() if key not in {"operations", "shapes", "documentation"}}
    return {**rest, "operations": _undocumented(kept), "shapes": _undocumented(shapes)}


def _trimmed_endpoints(endpoints: Mapping[str, Any]) -> dict[str, Any]:
    """botocore's older table of endpoints, which it still reads for every client: our services alone, all regions."""
    wanted = {"monitoring" if service == "cloudwatch" else service for service in OPERATIONS}
    wanted.add("api.sagemaker")
    partitions = [
        {**partition, "services": {name: facts for name, facts in partition["services"].items() if name in wanted}}
        for partition in endpoints["partitions"]
    ]
    return {**endpoints, "partitions": partitions}


def _shape_names(value: object) -> Iterable[str]:
    """Every name behind a key ``shape``, at any depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "shape" and isinstance(inner, str):
                yield inner
            else:
                yield from _shape_names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _shape_names(inner)


def _undocumented(value: Any) -> Any:
    """Without ``documentation`` texts. A member that is named so has a map behind it, and stays."""
    if isinstance(value, Mapping):
        return {
            key: _undocumented(inner)
            for key, inner in value.items()
            if not (key == "documentation" and isinstance(inner, str))
        }
    if isinstance(value, list):
        return [_undocumented(inner) for inner in value]
    return value
