"""Where each box of a drawing goes on paper. Pure geometry, no recursion: a foreign file can hold a chain of thousands.

Leaves are as large as their nodes need; boxes with boxes in them are as wide as their depth allows, and their children
flow in rows like words in a paragraph. Widths come down from the page, heights go up from the leaves, then positions
come down again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .picture import Drawing, DrawnUnit

__all__ = ["Box", "Grid", "grid_for", "lay_out"]

GAP = 10  # between boxes
PAD = 10  # inside a box
HEAD = 22  # the line with a box's name
LETTER = 6.4  # width of a letter of the box's name, 11 px


class Box(NamedTuple):
    """A rectangle in pixels."""

    x: float
    y: float
    width: float
    height: float


class Grid(NamedTuple):
    """How nodes are drawn: a square tile in a cell for each, with its name beside it when there is room for that."""

    width: int  # of a cell
    height: int
    space: int  # between cells
    tile: int
    named: bool

    def columns(self, count: int) -> int:
        """So that leaves of 16, 18 and 32 look like two or four even rows."""
        if self.named:
            return min(count, 4) or 1
        if count <= 8:
            return count or 1
        width = 9 if count % 9 in (0, 8) else 8  # UltraServers: 18, or 17 without the spare
        return width if count <= 8 * width else 2 * width if count <= 32 * width else 8 * width

    def size(self, count: int) -> tuple[float, float]:
        columns = self.columns(count)
        rows = -(-count // columns)
        return columns * (self.width + self.space), rows * (self.height + self.space)


def grid_for(node_count: int, longest_name: int) -> Grid:
    """Names up to 64 nodes, then ever smaller tiles."""
    if node_count <= 64:
        return Grid(int(longest_name * LETTER) + 28, 16, 4, 14, True)
    if node_count <= 600:
        return Grid(16, 16, 3, 16, False)
    return Grid(10, 10, 2, 10, False) if node_count <= 3000 else Grid(7, 7, 1, 7, False)


def lay_out(drawing: Drawing, width: float, grid: Grid) -> list[Box]:
    """A box for each unit, at the unit's index; the drawing's own height is that of the lowest edge."""
    units = drawing.units
    rooms = _rooms(units, width)
    sizes: list[tuple[float, float]] = [(0, 0)] * len(units)
    places: list[tuple[float, float]] = [(0, 0)] * len(units)  # within the parent
    for index in range(len(units) - 1, -1, -1):
        unit = units[index]
        if unit.children:
            inner = _flow(unit.children, sizes, places, rooms[index] - 2 * PAD)
            sizes[index] = (max(inner[0], _head_width(unit)) + 2 * PAD, HEAD + inner[1] + PAD)
        else:
            tiles = grid.size(len(unit.nodes))
            sizes[index] = (max(tiles[0], _head_width(unit)) + 2 * PAD, HEAD + tiles[1] + PAD)
    _flow(drawing.roots, sizes, places, width)
    return _absolute(units, places, sizes)


def _rooms(units: Sequence[DrawnUnit], width: float) -> list[float]:
    """The width that a unit may take, at least enough for a leaf however deep it is."""
    return [max(width - 2 * PAD * unit.depth, 240) for unit in units]


def _head_width(unit: DrawnUnit) -> float:
    return (min(len(unit.name), 28) + 8) * LETTER


def _flow(
    indices: Sequence[int], sizes: Sequence[tuple[float, float]], places: list[tuple[float, float]], width: float
) -> tuple[float, float]:
    """Put boxes in rows, left to right; the size of them all together."""
    x = y = row_height = widest = 0.0
    for index in indices:
        box_width, box_height = sizes[index]
        if x and x + box_width > width:
            x, y, row_height = 0.0, y + row_height + GAP, 0.0
        places[index] = (x, y)
        widest, row_height = max(widest, x + box_width), max(row_height, box_height)
        x += box_width + GAP
    return widest, y + row_height


def _absolute(
    units: Sequence[DrawnUnit], places: Sequence[tuple[float, float]], sizes: Sequence[tuple[float, float]]
) -> list[Box]:
    boxes: list[Box] = []
    for index, unit in enumerate(units):
        x, y = places[index]
        if unit.parent is not None:
            outer = boxes[unit.parent]
            x, y = outer.x + PAD + x, outer.y + HEAD + y
        boxes.append(Box(x, y, *sizes[index]))
    return boxes
