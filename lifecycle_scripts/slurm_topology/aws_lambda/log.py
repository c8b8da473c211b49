"""Structured logs: one JSON object a line, which CloudWatch Logs Insights takes apart by itself.

``message`` is constant for each kind of event; what varies is in fields of its own: a query can count and group.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TextIO

__all__ = ["Log"]


@dataclass(frozen=True)
class Log:
    """``context`` is part of every line, such as the request id."""

    context: Mapping[str, object] = field(default_factory=dict)
    stream: TextIO | None = None  # None: standard output at the time of the call, which Lambda sends to CloudWatch

    def info(self, message: str, **fields: object) -> None:
        self._line("INFO", message, fields)

    def warning(self, message: str, **fields: object) -> None:
        self._line("WARNING", message, fields)

    def error(self, message: str, **fields: object) -> None:
        self._line("ERROR", message, fields)

    def _line(self, level: str, message: str, fields: Mapping[str, object]) -> None:
        content = {"level": level, "message": message, **self.context, **fields}
        print(json.dumps(content, ensure_ascii=False, default=str), file=self.stream or sys.stdout, flush=True)
