"""What is chosen on the HTML page, by link, job, search or state, is what is shown: in whatever topology it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from view import samples
from view.browser import Page

pytestmark = pytest.mark.browser
DEFAULT, TREE, BLOCK = "#topology-0", "#topology-1", "#topology-2"  # the tabs of samples.mixed()
LINKS = "return [...document.querySelectorAll('#view-details .link')].map(link => link.textContent)"
LINKS_OF_PLACE = LINKS.replace(".link", "ol .link")
FOLLOW = """[...document.querySelectorAll('aside [role=tabpanel]:not([hidden]) .link')]
.find(link => link.textContent === arguments[0]).click()"""


def shown(page: Page) -> str:
    return str(page.run("return document.querySelector('#topologies [aria-selected=true]').firstChild.data.trim()"))


@pytest.mark.parametrize(("other", "expected"), [(DEFAULT, "default"), (BLOCK, "tree")])
def test_links_lead_to_what_they_name_whatever_topology_is_shown(
    opened: Callable[..., Page], other: str, expected: str
) -> None:
    """A node is chosen in the tree, another topology shown: its place is told, or the tree's."""
    page = opened(snapshot=samples.mixed())
    page.click(TREE)
    page.click(".tile")
    page.click(other)
    places = page.run(LINKS_OF_PLACE)
    assert places[-1] == {"default": "default", "tree": "nn-1eaf000000000000"}[expected]
    for place in places:
        page.click(TREE)
        page.click(".tile")
        page.click(other)
        assert f"Place in {expected}," in page.text("#view-details")
        page.run(FOLLOW, place)
        assert (page.text("#view-details h2"), shown(page)) == (place, expected)
        assert place in page.focused()
    assert page.console() == []


def test_a_chosen_unit_stays_told_in_its_own_topology(opened: Callable[..., Page]) -> None:
    page = opened(snapshot=samples.mixed())
    page.click(BLOCK)
    page.click(".unit.block > .head")
    page.click(DEFAULT)
    assert page.text("#view-details h2") == "us-0000"
    assert "topologyblocknodes17" in page.text("#view-details dl")
    assert page.console() == []


def test_at_a_glance_is_about_the_topology_that_is_shown(opened: Callable[..., Page]) -> None:
    """Eight nodes are free, all of UltraServers: none in the tree, and a flat topology is no place to be near in."""
    page = opened(snapshot=samples.mixed())
    page.click("#tab-details")
    for tab, has_place in ((DEFAULT, False), (TREE, False), (BLOCK, True), (TREE, False), (BLOCK, True)):
        page.click(tab)
        assert "free nodes8" in page.text("#view-details")
        assert ("most in one place" in page.text("#view-details")) is has_place
    [place] = [each for each in page.run(LINKS) if each.startswith("us-")]
    page.run(FOLLOW, place)
    assert page.text("#view-details h2") == place


def test_findings_lead_to_units_of_any_topology(opened: Callable[..., Page]) -> None:
    page = opened(snapshot=samples.with_finding_about("us-0001"))
    for tab in (DEFAULT, TREE, BLOCK):
        page.click(tab)
        page.click("#tab-findings")
        page.run(FOLLOW, "us-0001")
        assert (page.text("#view-details h2"), shown(page)) == ("us-0001", "block")
    assert page.console() == []
