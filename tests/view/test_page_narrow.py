"""The HTML page on a phone: what is chosen is told where it can be seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver.common.keys import Keys

from view import samples
from view.browser import Page

pytestmark = pytest.mark.browser
SEEN = """const box = document.querySelector(arguments[0]).getBoundingClientRect();
const there = document.elementFromPoint(box.x + Math.min(box.width, 40) / 2, box.y + box.height / 2);
return there !== null && there.closest(arguments[0]) !== null"""
LAST_ON_SCREEN = """const tiles = [...document.querySelectorAll('.tile')];
tiles.filter(tile => tile.getBoundingClientRect().bottom <= innerHeight).at(-1).click()"""


def test_what_is_chosen_is_told_in_a_sheet(opened: Callable[..., Page]) -> None:
    """Over the lower half, without hiding what was chosen; it can be closed by pointer and by key."""
    page = opened(1_000, width=390)
    page.until("return document.querySelector('.leaf .tile') !== null")
    assert not page.run(SEEN, "#view-details")
    page.run(LAST_ON_SCREEN)
    assert page.run(SEEN, "#view-details h2")
    assert page.run(SEEN, ".tile.chosen")
    assert page.violations() == []
    page.click("#close")
    assert not page.run(SEEN, "#view-details")
    assert page.focused().startswith(page.text("#view-details h2"))
    page.press(Keys.ARROW_DOWN)
    assert page.run(SEEN, "#view-details h2")
    page.run("document.getElementById('tab-details').focus()")
    page.press(Keys.ESCAPE)
    assert not page.run(SEEN, "#view-details")


def test_a_job_chosen_below_the_fabric_shows_a_node_of_it_above_the_sheet(opened: Callable[..., Page]) -> None:
    page = opened(1_000, width=390)
    page.click("#tab-jobs")
    page.run("document.querySelector('#view-jobs li:nth-child(9) .link').click()")
    assert page.text("#view-details h2").startswith(samples.tree(1_000).jobs[8].id)
    assert page.run(SEEN, "#view-details h2")
    assert page.run(SEEN, ".tile.peer")
