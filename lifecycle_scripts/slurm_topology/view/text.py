"""The picture for a terminal: a tree of units, each leaf with its nodes as a host list and as one sign a node.

Folded to about ``budget`` lines a topology: nodes outside it first, then the upper levels, then the leaves with the
most nodes out of service; neighbours without a line of their own become one line that counts them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from slurm_topology.core.explain import OUT_OF_SERVICE_STATES, NodeState, Score
from slurm_topology.core.hostlist import fold
from slurm_topology.core.model import Finding, Severity, TopologyKind

from .answers import leaves_word
from .palette import STYLES
from .picture import Drawing, DrawnUnit, Picture, UnitKind

__all__ = ["TextStyle", "placement_text", "render"]

_SIGNS_LIMIT = 36  # nodes of a leaf shown one by one; a larger one is counted
_LONGEST_TEXT = 44  # characters of a host list or reason on a line
_CONTROL = re.compile(r"\x1b(?!\[[0-9;]*m)|[\x00-\x1a\x1c-\x1f\x7f-\x9f]")  # all but our own colours
_SEVERITY_ANSI = {Severity.ERROR: "31;1", Severity.WARNING: "33", Severity.INFO: "2"}


@dataclass(frozen=True)
class TextStyle:
    """What the terminal can do."""

    colour: bool = False
    utf8: bool = True
    budget: int | None = 60  # lines for each topology; None: everything


class _Pen:
    """Words in this terminal's way."""

    def __init__(self, style: TextStyle) -> None:
        self._style = style

    def paint(self, text: str, sgr: str) -> str:
        return f"\x1b[{sgr}m{text}\x1b[0m" if self._style.colour and text else text

    def sign(self, state: NodeState) -> str:
        look = STYLES[state]
        return self.paint(look.sign if self._style.utf8 else look.ascii_sign, look.ansi)

    def branch(self, is_last: bool) -> tuple[str, str]:
        """What stands before a child, and before what is under it."""
        if self._style.utf8:
            return ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        return ("`- ", "   ") if is_last else ("|- ", "|  ")

    def plain(self, line: str) -> str:
        """A line that this terminal can show, without control characters that a name may have brought with it."""
        safe = _CONTROL.sub("?", line)
        return safe if self._style.utf8 else safe.replace("·", "-").replace("…", "...").replace("→", "->")


def render(picture: Picture, style: TextStyle) -> str:
    """The whole picture as lines, with a line break at the end."""
    pen = _Pen(style)
    lines = [*_head(picture, pen)]
    for drawing in picture.drawings:
        lines += ["", *_topology(drawing, picture, pen, style.budget)]
    lines += [*_jobs(picture, pen, style.budget), *_findings(picture.findings, pen)]
    return "\n".join(pen.plain(line.rstrip()) for line in lines) + "\n"


def _head(picture: Picture, pen: _Pen) -> Iterator[str]:
    facts = " · ".join(f"{value} {label}" if label == "nodes" else f"{label} {value}" for label, value in picture.facts)
    yield f"{pen.paint(picture.title, '1')}  {pen.paint(facts, '2')}"
    if picture.states.keys() - {NodeState.UNKNOWN}:
        yield "  ".join(f"{pen.sign(state)} {count:,} {state.value}" for state, count in picture.states.items())


# ---- topologies


def _topology(drawing: Drawing, picture: Picture, pen: _Pen, budget: int | None) -> Iterator[str]:
    yield f"{pen.paint(_title(drawing), '1')}{pen.paint(_uses(drawing), '2')}"
    roots = drawing.roots
    shown = _choose(drawing, budget)
    yield from _units(drawing, picture, pen, roots, "", shown)


def _title(drawing: Drawing) -> str:
    words = "" if drawing.kind is TopologyKind.FLAT else f", {leaves_word(drawing.kind, drawing.leaf_count)}"
    sizes = f", block sizes {','.join(map(str, drawing.block_sizes))}" if drawing.block_sizes else ""
    return f"{drawing.name} ({drawing.kind.value}{words}{sizes})"


def _uses(drawing: Drawing) -> str:
    uses = (["cluster default"] if drawing.is_default else []) + [f"partition {name}" for name in drawing.partitions]
    return f"  {', '.join(uses)}" if uses else "  used by no partition"


def _units(
    drawing: Drawing, picture: Picture, pen: _Pen, indices: Sequence[int], indent: str, shown: frozenset[int]
) -> Iterator[str]:
    rows = _rows(indices, shown)
    for number, row in enumerate(rows):
        before, under = pen.branch(number == len(rows) - 1)
        if isinstance(row, list):
            yield pen.paint(f"{indent}{before}", "2") + _folded(drawing, row, pen)
            continue
        unit = drawing.units[row]
        line = pen.paint(f"{indent}{before}", "2") + _unit_line(unit, picture, pen)
        if unit.children and not shown.intersection(unit.children):
            yield f"{line}  {pen.paint(f'… {len(unit.children):,} folded', '2')}"
            continue
        yield line
        yield from _units(drawing, picture, pen, unit.children, indent + under, shown)


def _rows(indices: Sequence[int], shown: Collection[int]) -> list[int | list[int]]:
    """Units with a line of their own, and runs of those without."""
    runs = [list(run) for _, run in groupby(indices, key=lambda index: index in shown)]
    rows: list[int | list[int]] = []
    for run in runs:
        rows += run if run[0] in shown else [run]
    return rows


def _unit_line(unit: DrawnUnit, picture: Picture, pen: _Pen) -> str:
    words = [_name(unit, pen), _count(unit)]
    if unit.children or unit.kind is UnitKind.ZONE:
        words.append(_states(unit.states, pen))
    else:
        words += [_signs(unit, picture, pen), pen.paint(_cut(fold(unit.nodes)), "2")]
    return "  ".join(filter(None, words))


def _name(unit: DrawnUnit, pen: _Pen) -> str:
    name = pen.paint(unit.name, {UnitKind.ZONE: "1", UnitKind.OUTSIDE: "31;1"}.get(unit.kind, "36"))
    different = unit.ultraserver and unit.ultraserver != unit.name
    return f"{name} {pen.paint(unit.ultraserver or '', '2')}" if different else name


def _count(unit: DrawnUnit) -> str:
    return f"{unit.total:,} {'node' if unit.total == 1 else 'nodes'}"


def _signs(unit: DrawnUnit, picture: Picture, pen: _Pen) -> str:
    if set(unit.states) <= {NodeState.UNKNOWN}:
        return ""  # files only: nothing is known about any node
    if unit.total > _SIGNS_LIMIT:
        return _states(unit.states, pen)
    return "".join(pen.sign(picture.nodes[node].state) for node in unit.nodes)


def _states(states: Mapping[NodeState, int], pen: _Pen) -> str:
    known = {state: count for state, count in states.items() if state is not NodeState.UNKNOWN}
    return " ".join(f"{pen.sign(state)} {count:,}" for state, count in known.items())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def _folded(drawing: Drawing, indices: Sequence[int], pen: _Pen) -> str:
    units = [drawing.units[index] for index in indices]
    counts: Counter[NodeState] = Counter()
    for unit in units:
        counts.update(unit.states)
    states = {state: counts[state] for state in NodeState if counts[state]}
    total = sum(unit.total for unit in units)
    what = pen.paint(f"… {len(units):,} more: {units[0].name}", "2")
    until = pen.paint(f" to {units[-1].name}", "2") if len(units) > 1 else ""
    return f"{what}{until}  {total:,} nodes  {_states(states, pen)}"


# ---- folding


def _choose(drawing: Drawing, budget: int | None) -> frozenset[int]:
    """Which units get a line: noteworthy ones with all that holds them, then level by level while there is room."""
    everything = range(len(drawing.units))
    if budget is None or len(everything) <= budget:
        return frozenset(everything)
    shown: set[int] = set()
    units = drawing.units
    for index in sorted(everything, key=lambda index: (_calmness(units[index]), units[index].depth, index)):
        wanted = [each for each in _with_ancestors(drawing, index) if each not in shown]
        if len(shown) + len(wanted) <= budget:
            shown.update(wanted)
    return frozenset(shown)


def _calmness(unit: DrawnUnit) -> tuple[int, int]:
    """What is shown first: nodes outside, then what holds other units, then leaves with many nodes out of service."""
    if unit.kind is UnitKind.OUTSIDE:
        return 0, 0
    away = sum(count for state, count in unit.states.items() if state in OUT_OF_SERVICE_STATES)
    return (1, 0) if unit.children else (2, -away)


def _with_ancestors(drawing: Drawing, index: int) -> Iterator[int]:
    step: int | None = index
    while step is not None:
        yield step
        step = drawing.units[step].parent


# ---- jobs and findings


def _jobs(picture: Picture, pen: _Pen, budget: int | None) -> Iterator[str]:
    if not picture.jobs:
        return
    yield ""
    yield pen.paint("jobs", "1")
    limit = len(picture.jobs) if budget is None else max(5, budget // 4)
    for drawn in picture.jobs[:limit]:
        job, found = drawn.job, drawn.score
        name = (
            f"{job.id:>8}  {job.name[:24]:<24} {job.user[:12]:<12} {job.state.lower():<11} {job.node_count:>5,} nodes"
        )
        if found is None:
            yield f"{name}  {pen.paint(_cut(job.reason), '33')}"
        else:
            yield f"{name}  {placement_text(found)}"
    if len(picture.jobs) > limit:
        yield pen.paint(f"          … {len(picture.jobs) - limit:,} more", "2")


def placement_text(found: Score) -> str:
    """A score in a few words."""
    leaves = f"{len(found.leaves):,} {'leaf' if len(found.leaves) == 1 else 'leaves'}"
    if found.worst_hops is None:
        return f"{leaves}, no way between some"
    return f"{leaves}, worst pair {found.worst_hops} {'switch' if found.worst_hops == 1 else 'switches'}"


def _findings(findings: Sequence[Finding], pen: _Pen) -> Iterator[str]:
    if not findings:
        return
    yield ""
    yield pen.paint("findings", "1")
    for severity in Severity:
        for finding in sorted(each for each in findings if each.severity is severity):
            yield f"  {pen.paint(f'{finding.id} {severity.value}', _SEVERITY_ANSI[severity])}  {finding.message}"
            if finding.remedy:
                yield f"      → {finding.remedy}"
