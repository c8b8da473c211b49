"""What is chosen on the HTML page, by link, job, search or state, is what is shown: in whatever topology it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver.common.keys import Keys

from view import samples
from view.browser import Page

pytestmark = pytest.mark.browser
DEFAULT, TREE, BLOCK = "#topology-0", "#topology-1", "#topology-2"  # the tabs of samples.mixed()
LINKS = "return [...document.querySelectorAll('#view-details .link')].map(link => link.textContent)"
LINKS_OF_PLACE = LINKS.replace(".link", "ol .link")
FOLLOW = """[...document.querySelectorAll('aside [role=tabpanel]:not([hidden]) .link')]
.find(link => link.textContent === arguments[0]).click()"""
LIT = """return [...document.querySelectorAll('.tile:not(.dim)')].map(tile => Number(tile.dataset.node))
.sort((one, other) => one - other)"""
ON_SCREEN = """return [...document.querySelectorAll('.tile.peer')].map(tile => tile.getBoundingClientRect())
.filter(box => box.height > 0 && box.top >= 0 && box.bottom <= innerHeight).length"""


def shown(page: Page) -> str:
    return str(page.run("return document.querySelector('#topologies [aria-selected=true]').firstChild.data.trim()"))


def choose_node_of_tree(page: Page) -> None:
    """Tiles come when their leaf is near the screen, which the browser tells a little later."""
    page.click(TREE)
    page.until("return document.querySelector('.leaf .tile') !== null")
    page.click(".tile")


def choose_job(page: Page, number: str) -> None:
    page.click("#tab-jobs")
    page.run(FOLLOW.replace(".textContent ===", ".textContent.split(' ')[0] ==="), number)


@pytest.mark.parametrize(("other", "expected"), [(DEFAULT, "default"), (BLOCK, "tree")])
def test_links_lead_to_what_they_name_whatever_topology_is_shown(
    opened: Callable[..., Page], other: str, expected: str
) -> None:
    """A node is chosen in the tree, another topology shown: its place is told, or the tree's."""
    page = opened(snapshot=samples.mixed())
    choose_node_of_tree(page)
    page.click(other)
    places = page.run(LINKS_OF_PLACE)
    assert places[-1] == {"default": "default", "tree": "nn-1eaf000000000000"}[expected]
    for place in places:
        choose_node_of_tree(page)
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


def test_a_search_or_a_state_ends_the_marking_of_a_job(opened: Callable[..., Page]) -> None:
    """What isn't dimmed is what the number beside the search says; a job chosen later is marked again."""
    snapshot = samples.tree(40)
    down = [number for number, node in enumerate(snapshot.nodes.values()) if node.state.value == "down"]
    drained = [number for number, node in enumerate(snapshot.nodes.values()) if node.state.value == "drained"]
    job = sorted(list(snapshot.nodes).index(node) for node in snapshot.jobs[1].nodes)
    assert len({tuple(down), tuple(drained), tuple(job)}) == 3
    page = opened(40)
    page.until("return document.querySelectorAll('.tile').length === 40")
    choose_job(page, "4002")
    assert (page.run(LIT), page.text("#hits")) == (job, "job 4002")
    page.press("/", "ecc errors")
    assert (page.run(LIT), page.text("#hits")) == (drained, "1 node")
    choose_job(page, "4002")
    assert (page.run(LIT), page.text("#hits")) == (job, "job 4002")
    page.press("/", Keys.ESCAPE)
    assert (len(page.run(LIT)), page.text("#hits")) == (40, "")
    choose_job(page, "4002")
    page.click("#legend button:last-child")
    assert (page.run(LIT), page.text("#hits")) == (down, "1 node")


def test_a_chosen_job_is_shown_where_it_is(opened: Callable[..., Page]) -> None:
    """Far down a page of 10,000 nodes, below folded switches, and in a topology that isn't the one shown."""
    page = opened(10_000)
    page.click("#fold")
    choose_job(page, "4190")
    assert page.run(ON_SCREEN) > 0
    page = opened(snapshot=samples.mixed())
    page.click(TREE)
    choose_job(page, "5001")
    assert (shown(page), page.text("#hits")) == ("block", "job 5001")
    assert page.run(ON_SCREEN) == page.count(".tile.peer") == len(page.run(LIT)) == 4
    assert [link for link in page.run(LINKS) if link.startswith("us-")] == ["us-0000"]
    assert page.console() == []


def test_a_job_that_waits_is_found(opened: Callable[..., Page]) -> None:
    """It has no nodes to mark, so the job itself is shown: by its id first, by other words after the nodes."""
    page = opened(40)
    page.press("/", "4999")
    assert page.text("#hits") == "1 job"
    page.press(Keys.ENTER)
    assert (page.text("#view-details h2"), page.text("#hits")) == ("4999 big-run", "1 of 1")
    page.press(Keys.ESCAPE, "resources")
    assert page.text("#hits") == "1 job"
    held = {node for job in samples.tree(40).jobs if job.user == "ada" for node in job.nodes}
    page.press(Keys.ESCAPE, "ada")
    assert page.text("#hits") == f"{len(held)} nodes, 1 job"
    page.click("#legend button:last-child")
    assert "job" not in page.text("#hits")
