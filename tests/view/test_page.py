"""The HTML page in a real browser: what somebody does with it, at 16, 1,000 and 10,000 nodes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver.common.keys import Keys

from slurm_topology.core.explain import Snapshot
from slurm_topology.core.model import ClusterTopology, NamedTopology, Switch, Tree
from slurm_topology.view import draw
from view import samples
from view.browser import Page

pytestmark = pytest.mark.browser
MOST_TILES_AT_FIRST = 3_000  # elements for nodes that are near the screen, however many nodes there are


@pytest.mark.parametrize("count", [16, 1_000, 10_000])
def test_it_is_ready_soon_asks_for_nothing_and_is_accessible(
    opened: Callable[..., Page], count: int, record_property: Callable[[str, object], None]
) -> None:
    page = opened(count)
    milliseconds = int(page.run("return document.documentElement.dataset.readyMilliseconds"))
    record_property("ready_milliseconds", milliseconds)
    print(f"{count:,} nodes: ready after {milliseconds} ms")
    assert page.requests() == [page.run("return location.href")]
    assert page.violations() == []
    assert page.console() == []
    assert 0 < page.count(".tile") <= min(count, MOST_TILES_AT_FIRST)


@pytest.mark.parametrize(("dark", "width"), [(True, 1440), (False, 420), (True, 420)])
def test_it_is_accessible_dark_and_narrow(opened: Callable[..., Page], dark: bool, width: int) -> None:
    page = opened(snapshot=samples.mixed(), dark=dark, width=width)
    assert page.run("return document.documentElement.scrollWidth") <= width
    for tab in ("details", "jobs", "findings"):
        page.click(f"#tab-{tab}")
        assert page.violations() == []


def test_search_finds_dims_and_goes_to_the_hits(opened: Callable[..., Page]) -> None:
    """Typing marks, Enter goes from hit to hit and wraps round, Esc ends it."""
    page = opened(1_000)
    page.press("/", "i-00000000000000013", Keys.ENTER)
    assert page.text("#hits") == "1 of 1"
    assert page.text("#view-details h2") == samples.name(19)
    assert page.run("return document.querySelector('.tile.chosen').dataset.node") == "19"
    page.press(Keys.ESCAPE, "ECC errors")
    assert page.text("#hits") == "16 nodes"
    assert page.count(".tile:not(.dim)") <= 16
    page.press(*[Keys.ENTER] * 17)
    assert page.text("#hits") == "1 of 16"
    page.press(Keys.ESCAPE)
    assert (page.text("#hits"), page.count(".tile.dim")) == ("", 0)
    page.press("no such thing", Keys.ENTER)
    assert page.text("#hits") == "nothing found"


def test_search_reaches_folded_and_far_nodes(opened: Callable[..., Page]) -> None:
    """A hit in a folded switch far below is unfolded, made, scrolled to and chosen."""
    page = opened(10_000)
    page.click("#fold")
    assert page.count(".tile") == 0
    page.press("/", samples.name(9_999), Keys.ENTER)
    page.until("return document.querySelector('.tile.chosen')?.dataset.node === '9999'")
    box = page.run("return document.querySelector('.tile.chosen').getBoundingClientRect().toJSON()")
    assert 0 <= box["top"] <= 900


def test_states_filter_and_count(opened: Callable[..., Page]) -> None:
    page = opened(1_000)
    states = draw(samples.tree(1_000)).states
    shown = page.run("return [...document.querySelectorAll('#legend button')].map(b => b.textContent)")
    assert shown == [f"{count:,} {state.value}" for state, count in states.items()]
    page.click("#legend button:last-child")
    assert page.text("#hits") == "11 nodes"
    assert page.count(".tile.s-down:not(.dim)") > 0
    assert page.count(".tile.s-down.dim") == page.count(".tile:not(.s-down):not(.dim)") == 0
    page.click("#legend button:last-child")
    assert page.count(".tile.dim") == 0


def test_folding_makes_and_hides(opened: Callable[..., Page]) -> None:
    page = opened(1_000)
    boxes = page.count(".unit")
    page.click("#fold")
    assert page.count(".unit") < 5
    page.click("#unfold")
    assert page.count(".unit") == boxes
    page.click(".unit > .head")
    assert page.run("return document.querySelector('.unit > .head').getAttribute('aria-expanded')") == "false"
    assert page.run("return document.querySelector('.unit > .inside').hidden") is True


LEAVES = Tree((Switch("leaf1", (), ("n1", "n2")), Switch("leaf2", (), ("n3", "n4"))))
DEPTHS = {
    "leaves in a zone": samples.tree(16),
    "leaves in switches": samples.tree(40),
    "flat": samples.mixed(),
    "leaves alone": Snapshot(ClusterTopology((NamedTopology("tree", LEAVES, True),)), cluster="leaves"),
}


@pytest.mark.parametrize("name", DEPTHS)
def test_folding_hides_all_nodes_whatever_the_depth(opened: Callable[..., Page], name: str) -> None:
    """Also where leaves are right below the outermost boxes, or are those themselves; unfolding shows all again."""
    page = opened(snapshot=DEPTHS[name])
    seen = "return [...document.querySelectorAll('.tiles')].filter(each => each.checkVisibility()).length"
    before = page.run(seen)
    assert before > 0
    page.click("#fold")
    assert page.run(seen) == 0
    page.click("#unfold")
    assert page.run(seen) == before


def test_the_keyboard_is_enough(opened: Callable[..., Page]) -> None:
    """Tab reaches the tree once; arrows go in, along, across rows and out; what has the focus is told at the side."""
    page = opened(16)
    assert page.count("#fabric [tabindex='0']") == 1
    page.run("document.querySelector('#fabric [tabindex=\"0\"]').focus()")
    assert page.focused().startswith("usw2-az1 16 nodes, Availability Zone: 14 allocated")
    page.press(Keys.ARROW_DOWN)
    assert page.focused().startswith("nn-1eaf000000000000 0 free of 16, leaf switch: ")
    page.press(Keys.ARROW_RIGHT)
    assert page.focused() == f"{samples.name(0)}, allocated, job 4001"
    page.press(Keys.ARROW_RIGHT)
    assert page.text("#view-details h2") == samples.name(1)
    page.press(Keys.END)
    assert page.focused().startswith(samples.name(15))
    page.press(Keys.HOME, Keys.ARROW_LEFT)
    assert page.run("return document.activeElement.getAttribute('aria-expanded')") == "false"
    assert page.count("#fabric [tabindex='0']") == 1


def test_a_job_is_shown_with_its_nodes_and_leaves(opened: Callable[..., Page]) -> None:
    page = opened(1_000)
    page.click("#tab-jobs")
    page.click("#view-jobs li:nth-child(2) .link")
    assert page.text("#view-details h2") == "4002 llama-pretrain"
    assert "2 leaves, worst pair 3 switches" in page.text("#view-details")
    peers = page.run("return [...document.querySelectorAll('.tile.peer')].map(t => Number(t.dataset.node))")
    held = next(job for job in samples.tree(1_000).jobs if job.id == "4002").nodes
    assert sorted(samples.name(node) for node in peers) == sorted(held)


def test_topologies_findings_and_a_node_outside(opened: Callable[..., Page]) -> None:
    """A page with an error opens its findings; a finding leads to its node, in the topology that should have it."""
    page = opened(snapshot=samples.mixed())
    assert page.run("return document.getElementById('tab-findings').getAttribute('aria-selected')") == "true"
    page.click("#topology-1")
    assert page.text(".unit.outside .name") == "not in this topology"
    page.click("#tab-findings")
    page.click("#view-findings .link")
    assert page.text("#view-details h2") == "ip-10-1-9-9"
    page.click("#topology-2")
    assert "block sizes 17, 34" in page.text("#about")
    assert page.count(".unit.block") == 3


def test_colours_by_type_job_and_zone(opened: Callable[..., Page]) -> None:
    page = opened(snapshot=samples.mixed())
    for value in ("type", "job", "zone"):
        page.run(
            "const s = document.getElementById('colour'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))",
            value,
        )
        hues = page.run(
            "return [...new Set([...document.querySelectorAll('.tile')].map(t => t.style.getPropertyValue('--tint')))]"
        )
        assert len(hues) > 1
        assert page.run("return document.getElementById('key').hidden") is (value == "job")


def test_no_two_values_have_the_same_colour_and_the_key_says_what_it_leaves_out(opened: Callable[..., Page]) -> None:
    page = opened(snapshot=samples.ultraservers(40))
    page.run(
        "const s = document.getElementById('colour'); s.value = 'ultraserver'; s.dispatchEvent(new Event('change'))"
    )
    hues = "return [...document.querySelectorAll('.tile')].map(t => getComputedStyle(t).backgroundColor)"
    page.until("return document.querySelectorAll('.tile').length === 80")
    by_node = page.run(hues)
    assert len(set(by_node)) == 40
    assert page.count("#key .swatch") == 24
    assert page.text("#key .link") == "… and 16 more"
    page.click("#key .link")
    key = page.run(hues.replace(".tile", "#key .swatch"))
    assert len(key) == 40
    assert set(key) == set(by_node)
    assert page.violations() == []


def test_the_address_remembers_the_node(opened: Callable[..., Page]) -> None:
    page = opened(16, anchor="#node=ip-10-1-0-7")
    assert page.text("#view-details h2") == "ip-10-1-0-7"
    page.run("document.querySelector('[data-node=\"3\"]').click()")
    assert page.run("return location.hash") == "#node=ip-10-1-0-3"


def test_hostile_names_stay_words(opened: Callable[..., Page]) -> None:
    """Markup in a job's name, in a reason and in a switch's name is shown as it is, and nothing of it runs."""
    page = opened(snapshot=samples.hostile())
    assert page.run("return window.bad") is None
    assert page.console() == []
    page.click("#tab-jobs")
    assert samples.HOSTILE in page.text("#view-jobs")
    assert samples.HOSTILE in page.text("#fabric")
