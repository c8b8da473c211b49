"""What reading a topology file gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .model import ClusterTopology, Finding

__all__ = ["Parsed"]


@dataclass(frozen=True)
class Parsed:
    """A topology file, read as slurmctld reads it.

    ``topology`` holds what could be read; it is whole only when ``findings`` has no error. ``lines`` says in which line
    a switch, block or topology is defined, by the subject that findings name it with (``check_rules.unit_subject``).
    """

    topology: ClusterTopology
    findings: tuple[Finding, ...] = ()
    lines: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
