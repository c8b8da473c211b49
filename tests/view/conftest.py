"""The HTML page of a sample, opened in the session's one browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slurm_topology.core.explain import Snapshot
from slurm_topology.view import draw, render_html
from view import samples
from view.browser import Page, page

__all__ = ["opened", "page", "written"]

READY = "return document.documentElement.dataset.readyMilliseconds !== undefined"


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Snapshot], Path]:
    """Writes a snapshot's page once a session."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name: str, snapshot: Snapshot) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(render_html(draw(snapshot)))
        return path

    return write


@pytest.fixture
def opened(page: Page, written: Callable[[str, Snapshot], Path]) -> Callable[..., Page]:
    """Opens the page of a tree of so many nodes, or of another snapshot."""

    def open_page(count: int = 0, *, snapshot: Snapshot | None = None, **how: object) -> Page:
        name = snapshot.cluster or "other" if snapshot else f"tree-{count}"
        page.open(written(name, snapshot or samples.tree(count)), **how)  # type: ignore[arg-type]
        page.until(READY)
        return page

    return open_page
