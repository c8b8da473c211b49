"""Log lines for journald: a constant event, then key=value pairs, one line each, on standard error.

The priority prefix is systemd's (sd-daemon(3)): `journalctl -u slurm-topology -p warning` works, and a terminal shows
the line as it is.
"""

from __future__ import annotations

import json
import sys
from typing import TextIO

from slurm_topology.core.model import Finding, Severity

__all__ = ["Log"]

PRIORITY = {Severity.ERROR: 3, Severity.WARNING: 4, Severity.INFO: 6}


class Log:
    """Writes lines. ``prefix``: put systemd's priority before each (under systemd only)."""

    def __init__(self, stream: TextIO | None = None, *, prefix: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._prefix = prefix

    def event(self, event: str, severity: Severity = Severity.INFO, **values: object) -> None:
        """One line. Values that are None are left out; texts with blanks are quoted as JSON."""
        pairs = " ".join(f"{key}={_written(value)}" for key, value in values.items() if value is not None)
        head = f"<{PRIORITY[severity]}>" if self._prefix else ""
        print(f"{head}event={event} {pairs}".rstrip(), file=self._stream, flush=True)

    def finding(self, finding: Finding) -> None:
        self.event(
            "finding",
            finding.severity,
            id=finding.id,
            subject=finding.subject,
            message=finding.message,
            remedy=finding.remedy or None,
        )


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    text = str(value.value) if isinstance(value, Severity) else str(value)
    return (
        json.dumps(text, ensure_ascii=True)
        if not text or any(letter in text for letter in ' "=\n\\') or not text.isascii()
        else text
    )
