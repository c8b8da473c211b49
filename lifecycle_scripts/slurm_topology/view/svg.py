"""The picture as one SVG: boxes in boxes, a tile a node; for light and dark ground, no font or script from outside."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_topology.core.explain import NodeFacts, NodeState

from .escape import markup
from .layout import HEAD, LETTER, PAD, Box, Grid, grid_for, lay_out
from .palette import STYLES
from .picture import Drawing, DrawnUnit, Picture, UnitKind

__all__ = ["STYLE", "render"]

WIDTH = 1180  # at most
MARGIN = 24
TITLES_LIMIT = 1500  # nodes with a tooltip of their own

STYLE = """
text{font:11px ui-sans-serif,system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1c2430}
.h1{font-size:20px;font-weight:650}.h2{font-size:14px;font-weight:600}.dim{fill:#5b6675}
.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.page{fill:#fbfbfd}.box{fill:#fff;stroke:#d5dae2}.inner{fill:#f3f5f9;stroke:#dfe3ea}
.outside{fill:#fff4ee;stroke:#d55e00}.mark{stroke:#1c2430;stroke-width:1.4;fill:none}
@media (prefers-color-scheme:dark){text{fill:#e6e9ef}.dim{fill:#9aa4b2}.page{fill:#11151b}
.box{fill:#1a2029;stroke:#333c4a}.inner{fill:#151a22;stroke:#2a323e}.outside{fill:#2a1a12;stroke:#f0762b}
.mark{stroke:#fff}}
"""


def render(picture: Picture) -> str:
    """A standalone SVG file, with a line break at the end. It is as wide as what is in it."""
    grid = grid_for(len(picture.nodes), max(map(len, picture.nodes), default=0))
    body: list[str] = []
    right, y = _head(picture, body)
    for drawing in picture.drawings:
        edge, y = _topology(drawing, picture, grid, body, y)
        right = max(right, edge)
    size = f'viewBox="0 0 {right + MARGIN:g} {y + MARGIN:g}"'
    title = markup(f"Topology of {picture.title}")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        f"<style>{STYLE}{_fills()}</style>",
        f"<defs>{''.join(_symbols(grid))}</defs>",
        '<rect class="page" width="100%" height="100%"/>',
        *body,
        "</svg>\n",
    ]
    return "\n".join(lines)


def _fills() -> str:
    light = "".join(f".{state.value}{{fill:{each.light};stroke:{each.light_edge}}}" for state, each in STYLES.items())
    dark = "".join(f".{state.value}{{fill:{each.dark};stroke:{each.dark_edge}}}" for state, each in STYLES.items())
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _symbols(grid: Grid) -> Iterator[str]:
    """One tile for each state: its colour, and for what isn't in order a mark that needs no colour."""
    side = grid.tile
    for state in NodeState:
        tile = f'<rect x=".5" y=".5" width="{side - 1}" height="{side - 1}" rx="2" class="{state.value}"/>'
        yield f'<symbol id="{state.value}" width="{side}" height="{side}">{tile}{_mark(state, side)}</symbol>'


def _mark(state: NodeState, side: float) -> str:
    low, high = side * 0.3, side * 0.7
    paths = {
        NodeState.DOWN: f"M{low:g} {low:g}L{high:g} {high:g}M{high:g} {low:g}L{low:g} {high:g}",
        NodeState.DRAINED: f"M{low:g} {high:g}L{high:g} {low:g}",
        NodeState.DRAINING: f"M{low:g} {side / 2:g}L{high:g} {side / 2:g}",
    }
    return f'<path class="mark" d="{paths[state]}"/>' if state in paths else ""


def _text(x: float, y: float, text: str, classes: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{classes}">{markup(text)}</text>'


def _head(picture: Picture, body: list[str]) -> tuple[float, float]:
    """Title, facts and legend; the right edge of them and where they end."""
    body.append(_text(MARGIN, 38, picture.title, "h1"))
    facts = " · ".join(f"{value} nodes" if label == "nodes" else f"{label} {value}" for label, value in picture.facts)
    body.append(_text(MARGIN, 58, facts, "dim"))
    x = float(MARGIN)
    for state, count in picture.states.items():
        style = STYLES[state]
        body.append(f'<rect x="{x:g}" y="72" width="12" height="12" rx="2" class="{state.value}"/>')
        label = f"{style.sign} {count:,} {state.value}"
        body.append(_text(x + 18, 82, label))
        x += 34 + LETTER * len(label)
    return max(x, MARGIN + LETTER * len(facts), MARGIN + 12 * len(picture.title)), 100


def _topology(drawing: Drawing, picture: Picture, grid: Grid, body: list[str], y: float) -> tuple[float, float]:
    """Draw one topology from ``y`` on; its right edge and where it ends."""
    sizes = f", block sizes {', '.join(map(str, drawing.block_sizes))}" if drawing.block_sizes else ""
    uses = (["cluster default"] if drawing.is_default else []) + [f"partition {name}" for name in drawing.partitions]
    used = ", ".join(uses) or "used by no partition"
    body.append(_text(MARGIN, y + 16, f"{drawing.name} ({drawing.kind.value}{sizes})", "h2"))
    body.append(_text(MARGIN, y + 32, used, "dim"))
    boxes = lay_out(drawing, WIDTH, grid)
    body.append(f'<g transform="translate({MARGIN} {y + 44:g})">')
    for unit, box in zip(drawing.units, boxes, strict=True):
        body.extend(_unit(unit, box, picture, grid))
    body.append("</g>")
    right = max((box.x + box.width for box in boxes), default=0)
    bottom = max((box.y + box.height for box in boxes), default=0)
    return MARGIN + max(right, LETTER * len(used)), y + 44 + bottom + 20


def _unit(unit: DrawnUnit, box: Box, picture: Picture, grid: Grid) -> Iterator[str]:
    look = "outside" if unit.kind is UnitKind.OUTSIDE else "inner" if unit.children else "box"
    yield f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="6" class="{look}"/>'
    name = unit.name if len(unit.name) <= 28 else f"{unit.name[:27]}…"
    yield _text(box.x + PAD, box.y + 15, name, "mono")
    yield _text(box.x + PAD + len(name) * 6.7 + 8, box.y + 15, f"{unit.total:,}", "dim")
    columns = grid.columns(len(unit.nodes))
    for number, node in enumerate(unit.nodes):
        x = box.x + PAD + number % columns * (grid.width + grid.space)
        y = box.y + HEAD + number // columns * (grid.height + grid.space)
        yield _tile(picture.nodes[node], x, y, grid, len(picture.nodes) <= TITLES_LIMIT)


def _tile(node: NodeFacts, x: float, y: float, grid: Grid, with_title: bool) -> str:
    use = f'<use href="#{node.state.value}" x="{x:g}" y="{y:g}"'
    known = ", ".join(filter(None, [node.name, node.state.value, node.instance_type, node.reason]))
    tile = f"{use}><title>{markup(known)}</title></use>" if with_title else f"{use}/>"
    return tile + (_text(x + grid.tile + 6, y + 11, node.name, "mono") if grid.named else "")
