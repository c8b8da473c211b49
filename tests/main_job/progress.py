"""Progress for people while the main job runs, and the same facts for programs afterwards."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

__all__ = ["Progress", "Step"]


@dataclass
class Step:
    """One step of the run: its name, what it found, how long it took."""

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    ok: bool = False


class Progress:
    """Prints `[03 00:21] name … 2.1 s` lines and keeps every step for `summary.json`."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self.steps: list[Step] = []
        self._out = out
        self._begin = time.monotonic()
        self._colour = out.isatty()

    def say(self, text: str) -> None:
        """A line of detail below the current step."""
        for line in text.splitlines() or [""]:
            print(f"           {line}", file=self._out, flush=True)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """A step: printed when it begins and when it ends, recorded whether or not it worked."""
        step = Step(name)
        self.steps.append(step)
        begin = time.monotonic()
        minutes, seconds = divmod(int(begin - self._begin), 60)
        print(self._bold(f"[{len(self.steps):02d} {minutes:02d}:{seconds:02d}] {name}"), file=self._out, flush=True)
        try:
            yield step
            step.ok = True
        finally:
            step.seconds = round(time.monotonic() - begin, 3)
            self.say(f"{'done' if step.ok else 'FAILED'} after {step.seconds:.1f} s")

    def write_summary(self, path: Path, extra: dict[str, Any]) -> None:
        """Write the machine-readable summary; whole or not at all."""
        document = {
            **extra,
            "ok": all(step.ok for step in self.steps),
            "seconds": round(time.monotonic() - self._begin, 3),
            "steps": [{"name": s.name, "ok": s.ok, "seconds": s.seconds, **s.facts} for s in self.steps],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(document, indent=1) + "\n")
        temporary.replace(path)

    def _bold(self, text: str) -> str:
        return f"\033[1m{text}\033[0m" if self._colour else text
