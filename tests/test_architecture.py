"""The folders are the architecture: this holds ARCHITECTURE.md against the code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "lifecycle_scripts" / "slurm_topology"
CONSTRUCTS = ROOT / "constructs" / "hyperpod_slurm"


def imported_modules(path: Path) -> set[str]:
    """Full names of what a file imports, relative imports resolved."""
    package = (
        path.relative_to(LIBRARY.parent if path.is_relative_to(LIBRARY) else CONSTRUCTS.parent)
        .with_suffix("")
        .parts[:-1]
    )
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = (
                ".".join((*package[: len(package) - node.level + 1], *filter(None, [node.module])))
                if node.level
                else node.module or ""
            )
            found.add(base)
    return found


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def starts(name: str, *prefixes: str) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


@pytest.mark.parametrize("path", files(LIBRARY / "core"), ids=lambda path: path.stem)
def test_core_is_pure(path: Path) -> None:
    """The core imports itself and the standard library, and no door to the outside."""
    doors = (
        "subprocess",
        "socket",
        "os",
        "pathlib",
        "time",
        "shutil",
        "tempfile",
        "urllib",
        "boto3",
        "botocore",
        "random",
        "datetime",
    )
    bad = [
        name
        for name in imported_modules(path)
        if starts(name, *doors) or (starts(name, "slurm_topology") and not starts(name, "slurm_topology.core"))
    ]
    assert bad == []


@pytest.mark.parametrize("path", files(LIBRARY / "view"), ids=lambda path: path.stem)
def test_views_are_pure(path: Path) -> None:
    """A picture is a function of data: the core, itself, the standard library, no door."""
    doors = ("subprocess", "socket", "os", "pathlib", "time", "shutil", "tempfile", "urllib", "random", "datetime")
    names = imported_modules(path)
    assert [name for name in names if starts(name, *doors)] == []
    assert [
        name
        for name in names
        if starts(name, "slurm_topology") and not starts(name, "slurm_topology.core", "slurm_topology.view")
    ] == []


@pytest.mark.parametrize("path", files(LIBRARY), ids=lambda path: str(path.relative_to(LIBRARY)))
def test_doors_and_directions(path: Path) -> None:
    names = imported_modules(path)
    area = path.relative_to(LIBRARY).parts[0]
    if area == "agent":
        assert not [name for name in names if starts(name, "slurm_topology.aws_lambda", "hyperpod_slurm", "aws_cdk")]
    if area == "aws_lambda":
        assert not [
            name
            for name in names
            if starts(name, "slurm_topology.agent", "slurm_topology.cli", "hyperpod_slurm", "aws_cdk")
        ]
    if path.relative_to(LIBRARY) != Path("aws/clients.py"):
        assert not [name for name in names if starts(name, "boto3", "botocore")], (
            "only aws/clients.py imports the AWS SDK"
        )
    if path.relative_to(LIBRARY) != Path("agent/shell.py"):
        assert "subprocess" not in names, "only agent/shell.py starts programs"


@pytest.mark.parametrize("path", files(CONSTRUCTS), ids=lambda path: path.name)
def test_constructs_use_the_pure_parts_only(path: Path) -> None:
    """What runs at synth has no way to Slurm or AWS: the core, and the views that draw its plan."""
    ours = [name for name in imported_modules(path) if starts(name, "slurm_topology")]
    pure = ("slurm_topology.core", "slurm_topology.view")
    assert [name for name in ours if name != "slurm_topology" and not starts(name, *pure)] == []


def test_the_constructs_folder_is_no_package() -> None:
    """constructs/__init__.py would hide PyPI's `constructs` from everybody (aws-cdk#19301)."""
    assert not (ROOT / "constructs" / "__init__.py").exists()
    assert not (ROOT / "tests" / "constructs").exists()
    for path in [*files(CONSTRUCTS), *files(LIBRARY)]:
        assert not [name for name in imported_modules(path) if starts(name, "constructs.hyperpod_slurm")]
    assert "constructs.hyperpod_slurm" not in (ROOT / "app.py").read_text()
