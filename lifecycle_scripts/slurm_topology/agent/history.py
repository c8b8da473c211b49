"""What was in force when: a bounded list of applied topologies, each a small JSON file with the whole disk state.

`history/000042.json`: number, time, reason, Slurm's version, the disk state, the partitions' topologies, and the
difference to the one before in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from slurm_topology.agent.disk import DiskState
from slurm_topology.agent.files import Files
from slurm_topology.core.errors import InputError, StateError

__all__ = ["Entry", "History"]


@dataclass(frozen=True)
class Entry:
    number: int
    at: float  # seconds since 1970
    reason: str
    slurm_version: str
    conf_path: str
    summary: str  # what changed, in one line
    disk: dict[str, str | None]
    assignments: dict[str, str] = field(
        default_factory=dict
    )  # partition → topology (25.05+): a reconfigure forgets them

    @property
    def state(self) -> DiskState:
        return DiskState(
            self.disk.get("topology.conf"), self.disk.get("topology.yaml"), self.disk.get("TopologyPlugin")
        )


@dataclass(frozen=True)
class History:
    """The list in one folder; the newest ``limit`` entries stay."""

    files: Files
    folder: Path
    limit: int

    def add(
        self,
        *,
        at: float,
        reason: str,
        slurm_version: str,
        conf_path: str,
        summary: str,
        disk: dict[str, str | None],
        assignments: dict[str, str],
    ) -> Entry:
        """Write the next entry and drop the oldest beyond the limit. Raises StateError."""
        numbers = self._numbers()
        number = (numbers[-1] if numbers else 0) + 1
        entry = Entry(number, at, reason, slurm_version, conf_path, summary, disk, assignments)
        try:
            self.files.make_folder(self.folder, 0o750)
            self.files.write_atomically(
                self._path(entry.number), json.dumps({"format": 1, **asdict(entry)}, sort_keys=True) + "\n", mode=0o640
            )
            for number in [*numbers, entry.number][: -self.limit]:
                self.files.remove(self._path(number))
        except OSError as error:
            raise StateError(f"{self.folder} can't be written: {error.strerror}") from error
        return entry

    def entries(self) -> Iterator[Entry]:
        """Newest first. An entry that can't be read is skipped: it is only memory."""
        tried = map(self._entry_or_none, reversed(self._numbers()))
        return (entry for entry in tried if entry is not None)

    def _entry_or_none(self, number: int) -> Entry | None:
        try:
            return self.entry(number)
        except InputError:
            return None

    def entry(self, number: int) -> Entry:
        """One entry. Raises InputError when there is no such one, or it can't be read."""
        try:
            text = self.files.read_text(self._path(number))
            document = json.loads(text) if text is not None else None
            if document is None or document.pop("format") != 1:
                raise ValueError("no such entry" if document is None else "of another format")
            return Entry(**document)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            known = ", ".join(map(str, self._numbers()[-5:])) or "none yet"
            raise InputError(f"history entry {number} can't be used ({error}); the last ones are: {known}") from error

    def _numbers(self) -> list[int]:
        return [
            int(name[:-5]) for name in self.files.names(self.folder) if name.endswith(".json") and name[:-5].isdigit()
        ]

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"
