"""The cases of tests/cases/topology: topology files with what slurmctld does with them and what the checker says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurm_topology.core.check import check_text
from slurm_topology.core.hostlist import expand
from slurm_topology.core.model import Finding
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = ["CASES", "Case"]

FOLDER = Path(__file__).parent / "cases" / "topology"
FORMATS = ("topology.conf", "topology.yaml")


@dataclass(frozen=True)
class Case:
    """One folder; see tests/cases/topology/README.md."""

    name: str
    text: str
    file_name: str
    record: dict[str, Any]

    @property
    def nodes(self) -> list[str]:
        return expand(self.record.get("nodes", "node[0001-0008]"))

    @property
    def partition_topology(self) -> str | None:
        return self.record.get("partition_topology")

    def findings(self, version: str) -> tuple[Finding, ...]:
        """What the checker says for a Slurm version."""
        used = [self.partition_topology] if self.partition_topology else []
        return check_text(self.text, self.file_name, SlurmVersion.parse(version), self.nodes, used)


def _read(folder: Path) -> Case:
    file_name = next(name for name in FORMATS if (folder / name).exists())
    text = (folder / file_name).read_bytes().decode()  # not read_text: line ends are part of the case
    record = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    return Case(f"{folder.parent.name}/{folder.name}", text, file_name, record)


CASES = tuple(_read(folder) for folder in sorted(FOLDER.glob("*/*")) if folder.is_dir())
