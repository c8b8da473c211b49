"""The plan's HTML page in a real browser: readable on a phone, accessible, and silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurm_topology.view import plans_html
from view.browser import Page
from view.test_renderings import plan

pytestmark = pytest.mark.browser
READABLE = 10  # CSS pixels; the words are 12 of the drawing's own
SMALLEST = """return Math.min(...[...document.querySelectorAll('svg text')].map(
text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))"""


@pytest.mark.parametrize(("dark", "width"), [(False, 1440), (True, 390)])
def test_a_plan_is_readable_and_accessible(page: Page, tmp_path: Path, dark: bool, width: int) -> None:
    """Two plans in one page, as `plan --template` writes them; only the drawings scroll sideways, not the page."""
    path = tmp_path / "plan.html"
    path.write_text(plans_html([plan(), plan()]))
    page.open(path, dark=dark, width=width)
    assert page.run(SMALLEST) >= READABLE
    assert page.run("return document.documentElement.scrollWidth") <= width
    is_scrolled = page.run("const d = document.querySelector('.drawing'); return d.scrollWidth > d.clientWidth")
    assert is_scrolled is (width < 1000)
    assert page.text("h1") == "Plan of demo, Plan of demo"
    assert page.violations() == []
    assert page.console() == []
    assert page.requests() == [path.as_uri()]
