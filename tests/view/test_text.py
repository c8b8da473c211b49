"""The picture in a terminal, against golden files: ``pytest --snapshot-update`` rewrites them; read the difference."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from slurm_topology.core.explain import Context, Snapshot, explain_nodes, explain_pending, explain_placed, fragmentation
from slurm_topology.view import (
    TextStyle,
    draw,
    fragmentation_lines,
    job_lines,
    pending_lines,
    placed_lines,
    render_dot,
    render_mermaid,
    render_text,
)
from view import samples

COUNT = re.compile(r"([\d,]+) nodes?\b")


class GoldenText(SingleFileSnapshotExtension):
    """One readable text file a picture."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(GoldenText)


PICTURES: dict[str, tuple[Snapshot, TextStyle]] = {
    "small": (samples.tree(16), TextStyle()),
    "colour": (samples.tree(16), TextStyle(colour=True)),
    "ascii": (samples.tree(200), TextStyle(utf8=False)),
    "folded": (samples.tree(10_000), TextStyle(budget=40)),
    "mixed": (samples.mixed(), TextStyle()),
    "files": (replace(samples.bare(), source="topology.conf"), TextStyle()),
    "escapes": (samples.escaping(), TextStyle()),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures(golden: SnapshotAssertion, name: str) -> None:
    snapshot, style = PICTURES[name]
    assert render_text(draw(snapshot), style) == golden


@pytest.mark.parametrize("budget", [5, 20, 45, 60, 200, None])
def test_folding_counts_every_node_once(budget: int | None) -> None:
    """Lines that nothing is shown below (leaves, folded units, runs) add up to the cluster, whatever the budget."""
    text = render_text(draw(samples.tree(2_000)), TextStyle(budget=budget))
    tree = text.split("\n\n")[1].splitlines()[1:]
    ends = [line for line in tree if "nn-1eaf" in line or "folded" in line or " more: " in line]
    assert sum(int(count.replace(",", "")) for line in ends for count in COUNT.findall(line)) == 2_000
    if budget is not None:
        assert len(tree) <= 2 * budget + 2


def test_nodes_out_of_service_are_shown_before_others() -> None:
    text = render_text(draw(samples.tree(2_000)), TextStyle(budget=30))
    shown = [line for line in text.splitlines() if re.search(r"─ nn-1eaf\d+  ", line)]
    assert shown
    assert all(set("▨◪✖") & set(line) for line in shown)


def test_no_control_character_reaches_the_terminal() -> None:
    text = render_text(draw(samples.escaping()), TextStyle())
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text) is None


def test_answers(golden: SnapshotAssertion) -> None:
    """Every kind of answer that explain gives, as it is printed."""
    context = Context(samples.tree(64))
    running, waiting = context.snapshot.jobs[1], context.snapshot.jobs[-1]
    block = Context(samples.mixed())
    everyone = [explain_placed(context, job) for job in context.snapshot.jobs[:-1]]
    sections = [
        placed_lines(explain_placed(context, running)),
        placed_lines(explain_nodes(context, [samples.name(0), samples.name(40)])),
        pending_lines(explain_pending(context, waiting)),
        pending_lines(explain_pending(block, waiting._replace(partitions=("ultra",), node_count=17, segment=17))),
        fragmentation_lines(fragmentation(context, context.default_topology)),
        job_lines([*everyone, explain_pending(context, waiting)]),
    ]
    assert "\n\n".join("\n".join(lines) for lines in sections) + "\n" == golden


def test_graphs(golden: SnapshotAssertion) -> None:
    picture = draw(samples.mixed())
    assert render_dot(picture) + "\n" + render_mermaid(picture) == golden


def test_graphs_keep_hostile_names_in_their_quotes() -> None:
    picture = draw(samples.hostile())
    dot, mermaid = render_dot(picture), render_mermaid(picture)
    assert '"' not in re.sub(r'"(?:[^"\\]|\\.)*"', "", dot)
    labels = re.findall(r'\["(.*)"\]', mermaid)
    assert len(labels) == mermaid.count('["')
    assert not any(set('"<>[]{}') & set(label.replace("<br/>", "")) for label in labels)
