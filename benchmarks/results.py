"""Where the benchmarks put their numbers: a table on the terminal, and one section each of benchmarks/results.json."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["growth_exponent", "save", "table"]

FILE = Path(__file__).with_name("results.json")


def save(section: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replace one section of results.json, with the machine that it was measured on."""
    try:
        results = json.loads(FILE.read_text())
    except FileNotFoundError:
        results = {}
    machine = {"python": platform.python_version(), "cpus": os.cpu_count(), "architecture": platform.machine()}
    results[section] = {"machine": machine, "rows": list(rows)}
    FILE.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows under the names of their columns; numbers to the right."""
    columns = list(rows[0])
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(column), *(len(line[number]) for line in cells)) for number, column in enumerate(columns)]
    print(f"\n{title}")
    print("  ".join(column.rjust(width) for column, width in zip(columns, widths, strict=True)))
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    sys.stdout.flush()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return (
        f"{value:.3g}"
        if isinstance(value, float) and abs(value) < 100
        else f"{value:,.0f}"
        if isinstance(value, float)
        else f"{value}"
    )


def growth_exponent(points: Mapping[int, float]) -> float:
    """The slope of log(value) over log(size): 1 is linear growth, 2 quadratic."""
    logs = [(math.log(size), math.log(value)) for size, value in points.items()]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)
