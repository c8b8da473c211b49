"""Every node can be seen, whatever its state: its edge has 3:1 to what is around it (WCAG 2.2, 1.4.11)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from slurm_topology.core.explain import NodeState
from slurm_topology.view.html import asset
from slurm_topology.view.palette import STYLES
from view import samples
from view.browser import Page

LEAST = 3.0
PAIR = re.compile(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);")
GROUNDS = ("ground", "paper", "inner", "accent-ground")
# of each thing with a colour of its own: the colour of its edge, and the nearest ground that isn't transparent
EDGES = r"""return [...document.querySelectorAll(arguments[0])].map(each => {
  const style = getComputedStyle(each, arguments[1]);
  let around = arguments[1] ? each : each.parentElement;
  while (getComputedStyle(around).backgroundColor === 'rgba(0, 0, 0, 0)') around = around.parentElement;
  return [style.boxShadow.match(/^rgb\([^)]*\)/)?.[0] ?? style.boxShadow, getComputedStyle(around).backgroundColor];
})"""


def luminance(red: float, green: float, blue: float) -> float:
    """Relative luminance of a colour with parts from 0 to 255, as WCAG 2.2 defines it."""
    parts = [part / 255 for part in (red, green, blue)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Of two opaque colours, as "#rrggbb" or "rgb(r, g, b)"."""
    dark, light = sorted(luminance(*parts(each)) for each in (one, other))
    return (light + 0.05) / (dark + 0.05)


def parts(colour: str) -> tuple[int, int, int]:
    if colour.startswith("#"):
        return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
    assert colour.startswith("rgb("), f"not opaque: {colour}"
    red, green, blue = map(int, re.findall(r"\d+", colour))
    return red, green, blue


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)  # W3C's example of the palest grey for text


@pytest.mark.parametrize("state", NodeState)
def test_every_state_has_an_edge_that_stands_out_from_every_ground(state: NodeState) -> None:
    grounds = {name: (light, dark) for name, light, dark in PAIR.findall(asset("picture.css")) if name in GROUNDS}
    assert set(grounds) == set(GROUNDS)
    for light, dark in grounds.values():
        assert contrast(STYLES[state].light_edge, light) >= LEAST
        assert contrast(STYLES[state].dark_edge, dark) >= LEAST


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_edges_are_there_on_the_page(opened: Callable[..., Page], dark: bool) -> None:
    """Of nodes, large and with names, by state and by group, and of the legend; also of a chosen state."""
    page = opened(snapshot=samples.mixed(), dark=dark)
    choose = (
        "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('change'))"
    )
    page.click("#topology-2")
    page.click("#legend button")
    for size, colour, part in (("names", "state", "::before"), ("large", "state", None), ("large", "group", None)):
        page.run(choose, "size", size)
        page.run(choose, "colour", colour)
        page.until("return document.querySelectorAll('.tile').length === 51")
        for selector, pseudo in ((".tile", part), (".swatch", None)):
            found = page.run(EDGES, selector, pseudo)
            assert len(found) > 4
            assert min(contrast(edge, around) for edge, around in found) >= LEAST
