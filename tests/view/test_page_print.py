"""The HTML page on paper, as Chromium prints it by default: without backgrounds, unless the page asks for them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable

import pytest

from slurm_topology.core.explain import NodeState
from slurm_topology.view.palette import STYLES
from view import samples
from view.browser import Page

pytestmark = pytest.mark.browser
FILL = re.compile(rb"([\d.]+) ([\d.]+) ([\d.]+) rg\b")  # PDF's operator for the colour of fills


def fills(pdf: bytes) -> set[str]:
    """The colours that something in a PDF is filled with, as "#rrggbb"."""
    streams = (each.group(1) for each in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL))
    found: set[str] = set()
    for stream in streams:
        try:
            text = zlib.decompress(stream)
        except zlib.error:
            continue  # a font, or not compressed
        found |= {"#" + "".join(f"{round(float(part) * 255):02x}" for part in each) for each in FILL.findall(text)}
    return found


def test_states_and_all_nodes_are_on_paper(opened: Callable[..., Page]) -> None:
    """Also those that nobody has scrolled to, in light colours even from a dark screen."""
    page = opened(500, width=420, dark=True)
    assert page.count(".tile") < 500
    printed = fills(page.printed())
    assert page.count(".tile") == 500
    states = (NodeState.IDLE, NodeState.ALLOCATED, NodeState.DRAINING, NodeState.DRAINED, NodeState.DOWN)
    assert {STYLES[state].light for state in states} <= printed
    assert STYLES[NodeState.IDLE].dark not in printed


def test_findings_and_jobs_are_on_paper(opened: Callable[..., Page]) -> None:
    page = opened(snapshot=samples.mixed(), media="print")
    seen = "return [...document.querySelectorAll(arguments[0])].filter(each => each.checkVisibility()).length"
    assert page.run(seen, "#view-findings li") == 3
    assert page.run(seen, "#view-jobs li") == len(samples.mixed().jobs)
    assert page.run(seen, "#view-details h2") == 1
    assert page.run(seen, "button[role=tab]") == page.run(seen, "#topologies [aria-selected=true]") == 1
    assert page.run(seen, "input, select") == 0
