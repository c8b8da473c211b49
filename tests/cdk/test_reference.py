"""docs/reference/constructs.md is what the docstrings say."""

from __future__ import annotations

import importlib.util
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
