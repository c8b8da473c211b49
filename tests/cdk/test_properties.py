"""docs/reference/properties.md: every property of CfnCluster has an argument that exists, or a reason."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from aws_cdk import aws_sagemaker as sagemaker

import hyperpod_slurm
from cdk.apps import CLUSTER, ROOT, new_cluster, new_stack, properties_of

PAGE = (ROOT / "docs" / "reference" / "properties.md").read_text()
ROWS = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", PAGE, re.MULTILINE)
ARGUMENTS = sorted({found for _, text in ROWS for found in re.findall(r"`(\w+)\((\w+)=\)`", text)})


def plain(path: str) -> str:
    """One spelling for CloudFormation's names and CDK's: ``VolumeSizeInGB``, ``volume_size_in_gb``."""
    return path.replace("_", "").lower()


def members(kind: Any) -> Iterator[tuple[str, Any]]:
    """(property, class of its value or None) of one of CfnCluster's property classes."""
    for name, parameter in inspect.signature(kind.__init__).parameters.items():
        if name != "self":
            found = re.search(r"CfnCluster\.(\w+Property)", str(parameter.annotation))
            yield name, getattr(sagemaker.CfnCluster, found[1]) if found else None


def paths(kind: Any, explained: set[str], prefix: str = "") -> Iterator[str]:
    """Paths of all properties; what is below an explained one is explained by it."""
    for name, inner in members(kind):
        path = plain(prefix + name)
        if inner is None or path in explained:
            yield path
        else:
            yield from paths(inner, explained, f"{path}.")


def test_every_property_is_explained_and_nothing_else() -> None:
    explained = {plain(path) for path, _ in ROWS}
    assert len(explained) == len(ROWS) > 30
    assert set(paths(sagemaker.CfnClusterProps, explained)) == explained


@pytest.mark.parametrize(("owner", "argument"), ARGUMENTS)
def test_the_arguments_exist(owner: str, argument: str) -> None:
    assert argument in inspect.signature(getattr(hyperpod_slurm, owner).__init__).parameters


def test_the_way_out_works() -> None:
    """What the page shows, on what a cluster makes."""
    stack = new_stack()
    cluster = new_cluster(stack)
    (path, value) = re.findall(r'add_property_override\("([^"]+)", "([^"]+)"\)', PAGE)[0]
    resource = cluster.node.default_child
    assert isinstance(resource, sagemaker.CfnCluster)
    resource.add_property_override(path, value)
    groups = properties_of(stack, CLUSTER)["InstanceGroups"]
    assert groups[1]["AutoPatchConfig"] == {"PatchSchedule": {"NextPatchDate": value}}
