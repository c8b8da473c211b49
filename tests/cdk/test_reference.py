"""docs/reference/constructs.md is what the docstrings say."""

from __future__ import annotations

import ast
import importlib.util
import re
from types import ModuleType

import pytest

import hyperpod_slurm
from cdk.apps import ROOT


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_constructs", ROOT / "docs" / "make_constructs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(generator: ModuleType) -> None:
    """`make docs` writes it."""
    assert generator.PAGE.read_text() == generator.page()


def test_every_public_name_is_on_the_page(generator: ModuleType) -> None:
    listed = [name for _, _, names in generator.SECTIONS for name in names]
    assert sorted(listed) == hyperpod_slurm.__all__


def attributes(kind: ast.ClassDef) -> set[str]:
    """Public ones that a class or its ``__init__`` has."""
    assigned = {
        target.attr
        for node in ast.walk(kind)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
    }
    declared = {
        node.target.id for node in kind.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    return {name for name in assigned | declared if not name.startswith("_")}


def test_every_attribute_of_every_construct_is_on_the_page(generator: ModuleType) -> None:
    """With its type and a sentence, in its class's part, or in the part of the class it extends."""
    classes = dict(generator._classes())
    page = generator.page()
    found = 0
    for name in ("SlurmCluster", "ClusterBase", "ClusterNetwork", "TopologyAlarms", "TopologyDashboard"):
        parts = [name, *(ast.unparse(base) for base in classes[name].bases)]
        text = "".join(page.partition(f"\n### {part}\n")[2].partition("\n##")[0] for part in parts)
        for attribute in attributes(classes[name]):
            assert re.search(rf"^\| `{attribute}` \| `.+` \|.*\| .+ \|$", text, re.MULTILINE), (name, attribute)
            found += 1
    assert found > 15
