"""The plan's drawing: a card for the cluster's default and for each partition, with groups and the blocks they fill."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from slurm_topology.core.model import Choice, TopologyKind

from .escape import markup
from .layout import LETTER

if TYPE_CHECKING:
    from .plan import PlannedGroup

__all__ = ["render"]

WIDTH = 1060
MARGIN = 20
PAD = 16
TILE, STEP = 11, 14
BLOCKS_DRAWN = 8  # of a group; the rest is a number
TILES_DRAWN = 72  # nodes of a group without blocks; the rest is a number
LINE_LETTERS = 150  # of the reason

STYLE = """
text{font:12px ui-sans-serif,system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1c2430}
.h1{font-size:20px;font-weight:650}.h2{font-size:14px;font-weight:600}.soft{fill:#566173}
.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.page{fill:#fbfbfd}.card{fill:#fff;stroke:#d5dae2}.block{fill:#f3f5f9;stroke:#c9d0da}
.tree{fill:#2f7fbf}.block-kind{fill:#8a5a9e}.flat{fill:#6b7686}.badge{fill:#fff;font-weight:600}
.node-tree{fill:#8ec0ea;stroke:#2f7fbf}.node-block{fill:#d8bfe2;stroke:#8a5a9e}.node-flat{fill:#e3e7ed;stroke:#8d97a5}
@media
(prefers-color-scheme:dark){text{fill:#e6e9ef}.soft{fill:#a2acba}.page{fill:#11151b}.card{fill:#1a2029;stroke:#333c4a}
.block{fill:#141920;stroke:#333c4a}.node-tree{fill:#2a5f8f}.node-block{fill:#5d3f6b}.node-flat{fill:#343d4a}.badge{fill:#fff}}
"""
_BADGES = {TopologyKind.TREE: "tree", TopologyKind.BLOCK: "block-kind", TopologyKind.FLAT: "flat"}


def render(title: str, rows: Sequence[tuple[Choice, Sequence[PlannedGroup]]]) -> str:
    """A standalone SVG file, with a line break at the end."""
    body = [_text(MARGIN, 40, title, "h1")]
    y = 60.0
    if not rows:
        body.append(
            _text(MARGIN, y + 8, "no plan yet: a part of what it is made from is known at deployment only", "soft")
        )
        y += 24
    for choice, groups in rows:
        card, y = _card(choice, groups, y)
        body += card
    size = f'viewBox="0 0 {WIDTH + 2 * MARGIN} {y + MARGIN - 12:g}"'
    name = markup(title)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{name}"><title>{name}</title>',
        f"<style>{STYLE}</style>",
        '<rect class="page" width="100%" height="100%"/>',
        *body,
        "</svg>\n",
    ]
    return "\n".join(lines)


def _text(x: float, y: float, text: str, classes: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{classes}">{markup(text)}</text>'


def _card(choice: Choice, groups: Sequence[PlannedGroup], top: float) -> tuple[list[str], float]:
    """A card and where the next one begins."""
    x = MARGIN + PAD
    subject = f"partition {choice.subject}" if choice.subject else "cluster default"
    sizes = f" {', '.join(map(str, choice.block_sizes))}" if choice.block_sizes else ""
    inner = [*_badge(x, top + 14, f"{choice.kind.value}{sizes}", _BADGES[choice.kind])]
    inner.append(_text(x + 40 + LETTER * len(choice.kind.value + sizes), top + 28, subject, "h2"))
    y = top + 50
    for line in textwrap.wrap(choice.reason, LINE_LETTERS):
        inner.append(_text(x, y, line, "soft"))
        y += 17
    for group in groups:
        drawn, y = _group(group, choice.kind, x, y + 4)
        inner += drawn
    height = y - top + 4
    frame = f'<rect x="{MARGIN}" y="{top:g}" width="{WIDTH}" height="{height:g}" rx="10" class="card"/>'
    return [frame, *inner], top + height + 12


def _badge(x: float, y: float, text: str, classes: str) -> Iterator[str]:
    width = LETTER * len(text) + 24
    yield f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="20" rx="10" class="{classes}"/>'
    yield _text(x + 11, y + 14, text, "badge")


def _group(group: PlannedGroup, kind: TopologyKind, x: float, y: float) -> tuple[list[str], float]:
    """A line of words, and below it the nodes."""
    count = "?" if group.node_count is None else f"{group.node_count:,}"
    words = f"{count} x {group.instance_type}"
    name_x, words_x = x + 14 + 7.3 * len(words), x + 28 + 7.3 * (len(words) + len(group.name))
    drawn = [
        _text(x, y + 13, words, "mono"),
        _text(name_x, y + 13, group.name, "h2"),
        _text(words_x, y + 13, group.words, "soft"),
    ]
    if not group.node_count:
        return drawn, y + 24
    if group.blocks:
        return [*drawn, *_blocks(group, kind, x, y + 22)], y + 66
    rows = -(-min(group.node_count, TILES_DRAWN) // 36)
    return [*drawn, *_loose(group.node_count, kind, x, y + 24)], y + 32 + STEP * rows


def _blocks(group: PlannedGroup, kind: TopologyKind, x: float, y: float) -> Iterator[str]:
    for size in group.blocks[:BLOCKS_DRAWN]:
        columns = -(-max(group.blocks) // 2)
        width = columns * STEP + 11
        yield f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{2 * STEP + 10}" rx="5" class="block"/>'
        for number in range(size):
            yield _tile(x + 7 + number % columns * STEP, y + 7 + number // columns * STEP, kind)
        x += width + 8
    if len(group.blocks) > BLOCKS_DRAWN:
        yield _text(x + 4, y + 24, f"+ {len(group.blocks) - BLOCKS_DRAWN:,} more", "soft")


def _loose(count: int, kind: TopologyKind, x: float, y: float) -> Iterator[str]:
    for number in range(min(count, TILES_DRAWN)):
        yield _tile(x + number % 36 * STEP, y + number // 36 * STEP, kind)
    if count > TILES_DRAWN:
        yield _text(x + 36 * STEP + 6, y + STEP + 9, f"+ {count - TILES_DRAWN:,} more", "soft")


def _tile(x: float, y: float, kind: TopologyKind) -> str:
    place = f'x="{x + 0.5:g}" y="{y + 0.5:g}"'
    return f'<rect {place} width="{TILE - 1}" height="{TILE - 1}" rx="2" class="node-{kind.value}"/>'
