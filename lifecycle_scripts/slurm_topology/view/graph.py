"""The picture as a graph for Graphviz and for Mermaid: units as boxes, leaves with their nodes as a host list and
state counts.

Nodes are never boxes of their own: a leaf's box says who is in it, so 10,000 nodes make hundreds of boxes, not
thousands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurm_topology.core.hostlist import fold

from .palette import STYLES
from .picture import Drawing, DrawnUnit, Picture, UnitKind

__all__ = ["render_dot", "render_mermaid"]

_SHAPES = {UnitKind.ZONE: "tab", UnitKind.SWITCH: "box3d", UnitKind.AGGREGATE: "folder", UnitKind.OUTSIDE: "octagon"}
_LONGEST_LIST = 60
# Mermaid's defaults (maxEdges, maxTextSize): beyond them it draws an error instead of the chart
_MERMAID_EDGES, _MERMAID_LETTERS = 500, 50_000


def render_dot(picture: Picture) -> str:
    """For ``dot -Tsvg``: one cluster a topology."""
    lines = [
        f"digraph {_quoted(picture.title)} {{",
        '  rankdir=TB; node [shape=box fontname="sans-serif" fontsize=10];',
    ]
    for number, drawing in enumerate(picture.drawings):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(_title(drawing))};"]
        for index, unit in enumerate(drawing.units):
            shape = f" shape={_SHAPES[unit.kind]}" if unit.kind in _SHAPES else ""
            label = r"\n".join(map(_escaped, _label(unit)))
            lines.append(f'    t{number}u{index} [label="{label}"{shape}];')
        lines += [f"    t{number}u{unit.parent} -> t{number}u{index};" for index, unit in _with_parent(drawing)]
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def render_mermaid(picture: Picture) -> str:
    """A flowchart for Markdown pages, within what Mermaid draws by default: levels that are too much for it are folded
    into the boxes above them, which then say what they hold."""
    units = [unit for drawing in picture.drawings for unit in drawing.units]
    boxes = len(units)
    for depth in range(max((unit.depth for unit in units), default=0), -1, -1):
        text = _mermaid(picture, depth, boxes)
        if _mermaid_draws(text):
            return text
    while not _mermaid_draws(text) and boxes > 1:  # hundreds of roots: nothing to fold them into
        boxes //= 2
        text = _mermaid(picture, 0, boxes)
    return text


def _mermaid_draws(text: str) -> bool:
    return len(text) <= _MERMAID_LETTERS and text.count(" --> ") <= _MERMAID_EDGES


def _mermaid(picture: Picture, depth: int, most_boxes: int) -> str:
    """Units down to ``depth``, at most ``most_boxes`` of all topologies together."""
    lines, room = ["flowchart TB"], most_boxes
    for number, drawing in enumerate(picture.drawings):
        shown = [(index, unit) for index, unit in enumerate(drawing.units) if unit.depth <= depth]
        drawn, left_out = shown[:room], len(shown[room:])
        room -= len(drawn)
        lines.append(f'  subgraph T{number}["{_entities(_title(drawing))}"]')
        for index, unit in drawn:
            label = [*_label(unit), *_folded(drawing, index, depth)]
            lines.append(f'    t{number}u{index}["{"<br/>".join(map(_entities, label))}"]')
        lines += [f'    t{number}rest["{left_out:,} more, not drawn"]'] if left_out else []
        lines += [
            f"    t{number}u{unit.parent} --> t{number}u{index}" for index, unit in drawn if unit.parent is not None
        ]
        lines.append("  end")
    return "\n".join(lines) + "\n"


def _folded(drawing: Drawing, index: int, depth: int) -> Iterator[str]:
    """What a box of the last level that is drawn holds."""
    unit = drawing.units[index]
    if unit.children and unit.depth == depth:
        yield f"{len(unit.children)} below it, not drawn"


def _with_parent(drawing: Drawing) -> Iterator[tuple[int, DrawnUnit]]:
    return ((index, unit) for index, unit in enumerate(drawing.units) if unit.parent is not None)


def _title(drawing: Drawing) -> str:
    uses = (["cluster default"] if drawing.is_default else []) + list(drawing.partitions)
    return f"{drawing.name} ({drawing.kind.value})" + (f": {', '.join(uses)}" if uses else "")


def _label(unit: DrawnUnit) -> Iterator[str]:
    yield unit.name
    states = ", ".join(f"{count} {STYLES[state].sign} {state.value}" for state, count in unit.states.items())
    yield f"{unit.total} nodes: {states}"
    if unit.nodes:
        listed = fold(unit.nodes)
        yield listed if len(listed) <= _LONGEST_LIST else f"{listed[: _LONGEST_LIST - 1]}…"


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _entities(text: str) -> str:
    """Mermaid reads quotes, brackets and a few words as syntax; numeric entities are safe everywhere."""
    return re.sub(r"[^\w .,:;/+%()…□◱◧■▣◪▨✖·-]", lambda found: f"#{ord(found[0])};", text)
