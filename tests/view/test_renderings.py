"""JSON, SVG and HTML without a browser: complete, well-formed, and unmoved by hostile names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from slurm_topology.core.choose import make_plan
from slurm_topology.core.explain import NodeFacts, Snapshot
from slurm_topology.core.model import (
    Block,
    Blocks,
    Capability,
    ClusterTopology,
    Group,
    NamedTopology,
    NodeRole,
    Partition,
    Switch,
    Tree,
)
from slurm_topology.view import (
    Picture,
    PlanPicture,
    draw,
    plan_picture,
    render_dot,
    render_html,
    render_json,
    render_mermaid,
    render_svg,
)
from slurm_topology.view.html import hashed
from slurm_topology.view.layout import grid_for, lay_out
from view import samples

SVG = "{http://www.w3.org/2000/svg}"
SNAPSHOTS = {"tree": samples.tree(100), "mixed": samples.mixed(), "hostile": samples.hostile(), "files": samples.bare()}
GROUPS = (
    Group("controller", "ml.m5.xlarge", NodeRole.CONTROLLER),
    Group("train", "ml.p5.48xlarge", NodeRole.COMPUTE, Capability.TREE, ("train",), 96),
    Group("ultra", "ml.p6e-gb200.36xlarge", NodeRole.COMPUTE, Capability.BLOCK, ("ultra",), 40, 18, 1),
    Group("later", "ml.p5en.48xlarge", NodeRole.COMPUTE, Capability.TREE, ("dev",), None),
    Group("cpu", "ml.m5.4xlarge", NodeRole.COMPUTE, Capability.NONE, ("dev",), 0),
)
PARTITIONS = (Partition("dev", ("cpu", "later")), Partition("train", ("train",)), Partition("ultra", ("ultra",)))


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_svg_has_a_tile_for_every_node_of_every_topology(name: str) -> None:
    picture = draw(SNAPSHOTS[name])
    root = ElementTree.fromstring(render_svg(picture))  # noqa: S314 (our own text)
    drawn = sum(len(unit.nodes) for drawing in picture.drawings for unit in drawing.units)
    assert len(root.findall(f".//{SVG}use")) == drawn
    assert root.find(f"{SVG}title") is not None


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_svg_boxes_hold_their_children_and_never_overlap(name: str) -> None:
    picture = draw(SNAPSHOTS[name])
    for drawing in picture.drawings:
        boxes = lay_out(drawing, 1180, grid_for(len(picture.nodes), 14))
        for unit in drawing.units:
            inside = [boxes[child] for child in unit.children]
            for index, box in enumerate(inside):
                outer = boxes[unit.parent] if unit.parent is not None else None
                assert outer is None or box.width <= outer.width
                for other in inside[index + 1 :]:
                    apart_x = box.x + box.width <= other.x or other.x + other.width <= box.x
                    apart_y = box.y + box.height <= other.y or other.y + other.height <= box.y
                    assert apart_x or apart_y


def test_json_names_every_node_job_and_finding() -> None:
    snapshot = samples.mixed()
    document = json.loads(render_json(draw(snapshot)))
    assert set(document["nodes"]) == set(snapshot.nodes)
    assert [each["id"] for each in document["jobs"]] == [job.id for job in snapshot.jobs]
    assert len(document["findings"]) == len(snapshot.findings)
    by_name = {each["topology"]: each for each in document["topologies"]}
    assert by_name["tree"]["outside"] == ["ip-10-1-9-9"]
    assert by_name["block"]["block_sizes"] == [17, 34]
    assert sum(len(switch["nodes"]) for switch in by_name["tree"]["switches"]) == 32
    assert by_name["default"]["kind"] == "flat"


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_the_page_runs_nothing_but_its_own_script(name: str) -> None:
    """The policy in the page names its style and script by hash, and its data can't end the element it is in."""
    page = render_html(draw(SNAPSHOTS[name]))
    assert page.count("<script") == page.count("</script>") == 2
    style = page[page.index("<style>") + 7 : page.index("</style>")]
    script = page[page.rindex("<script>") + 8 : page.rindex("</script>")]
    assert f"style-src 'sha256-{hashed(style)}'" in page
    assert f"script-src 'sha256-{hashed(script)}'" in page
    data = json.loads(page[page.index('id="data">') + 10 : page.index("</script>")])
    assert len(data["nodes"]["name"]) == len(draw(SNAPSHOTS[name]).nodes)


def test_no_rendering_names_an_address_outside() -> None:
    picture = draw(samples.tree(20))
    for text in (render_html(picture), render_svg(picture), plan().html(), plan().svg()):
        outside = set(re.findall(r"(?:https?:)?//[\w.-]+", text)) - {"http://www.w3.org"}
        assert {each for each in outside if "." in each} == set()


def test_equal_snapshots_give_equal_bytes() -> None:
    one, other = (draw(samples.tree(50)) for _ in range(2))
    for render in (render_html, render_svg, render_json):
        assert render(one) == render(other)


def edges(text: str) -> int:
    return text.count(" --> ")


@pytest.mark.parametrize("size", [100, 10_000])
def test_mermaid_stays_within_what_mermaid_draws(size: int) -> None:
    """Its defaults: 500 edges, 50,000 characters; every node is counted in some box all the same."""
    snapshot = samples.tree(size)
    text = render_mermaid(draw(snapshot))
    assert edges(text) <= 500
    assert len(text) <= 50_000
    assert ("below it, not drawn" in text) is (size > 5_000)
    assert f"{size} nodes" in text
    assert edges(render_dot(draw(snapshot)).replace("->", "-->")) == len(draw(snapshot).drawings[0].units) - 1


def test_mermaid_of_hundreds_of_roots_says_how_many_it_leaves_out() -> None:
    switches = tuple(Switch(f"leaf-{'x' * 60}-{index}", (), (f"n{index}",)) for index in range(900))
    text = render_mermaid(draw(Snapshot(ClusterTopology((NamedTopology("t", Tree(switches), True),)))))
    assert len(text) <= 50_000
    (left_out,) = re.findall(r'"(\d+) more, not drawn"', text)
    assert text.count("leaf-x") == 900 - int(left_out) > 100


@pytest.mark.parametrize("form", [render_json, render_html, render_dot, render_mermaid], ids=lambda each: each.__name__)
def test_nodes_come_in_the_order_of_their_numbers(form: Callable[[Picture], str]) -> None:
    """As people look for them, whatever order the file or the plan has: n4 before n10, n10 before x."""
    names = [f"ip-10-1-{third}-{fourth}" for third in (2, 10) for fourth in (*range(4, 12), 101)]
    block = Block("us", tuple(sorted(names)))
    nodes = {name: NodeFacts(name) for name in sorted(names, reverse=True)}
    snapshot = Snapshot(ClusterTopology((NamedTopology("b", Blocks((18,), (block,)), True),)), nodes)
    picture = draw(snapshot)
    assert list(picture.nodes) == list(picture.drawings[0].units[0].nodes) == names
    text = form(picture)
    if form is render_json:
        document = json.loads(text)
        assert list(document["nodes"]) == document["topologies"][0]["blocks"][0]["nodes"] == names
    assert text == form(draw(replace(snapshot, nodes=dict(reversed(nodes.items())))))


# ---- plans


def plan(groups: tuple[Group, ...] = GROUPS) -> PlanPicture:
    return plan_picture(make_plan(groups, PARTITIONS, None), groups, title="Plan of demo")


def test_a_plan_shows_each_partition_with_its_groups_and_why() -> None:
    text = plan().text()
    assert text.startswith("Plan of demo\n")
    for words in (
        "cluster default: flat",
        "partition train: tree",
        "partition ultra: block, block size 17",
        "3 UltraServers of 18, 1 of each kept spare",
        "? x ml.p5en.48xlarge",
    ):
        assert words in text


def test_ultraservers_fill_one_at_a_time() -> None:
    rows = {choice.subject: groups for choice, groups in plan().rows}
    assert rows["ultra"][0].blocks == (17, 17, 6)


def test_plan_drawings_are_well_formed_whatever_the_names() -> None:
    strange = (*GROUPS, Group(samples.HOSTILE, samples.HOSTILE, NodeRole.COMPUTE, Capability.TREE, ("train",), 3))
    drawn = plan(strange)
    root = ElementTree.fromstring(drawn.svg())  # noqa: S314 (our own text)
    assert any(samples.HOSTILE in (text.text or "") for text in root.findall(f".//{SVG}text"))
    assert "<script" not in drawn.html()


def test_a_plan_without_partitions_draws_all_groups_once() -> None:
    drawn = plan_picture(make_plan(GROUPS[:2], (), None), GROUPS[:2])
    assert [[group.name for group in groups] for _, groups in drawn.rows] == [["train"]]
