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
    """A flowchart for Markdown pages; GitHub draws up to about 500 boxes."""
    lines = ["flowchart TB"]
    for number, drawing in enumerate(picture.drawings):
        lines.append(f'  subgraph T{number}["{_entities(_title(drawing))}"]')
        for index, unit in enumerate(drawing.units):
            lines.append(f'    t{number}u{index}["{"<br/>".join(map(_entities, _label(unit)))}"]')
        lines += [f"    t{number}u{unit.parent} --> t{number}u{index}" for index, unit in _with_parent(drawing)]
        lines.append("  end")
    return "\n".join(lines) + "\n"


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
