"""The cases of tests/cases/hyperpod and tests/cases/clusters: what a cluster's sources say, and the file it must get.

A case is a folder (or, in hyperpod/, one resource_config.json) with sources named as on the node, and ``expected/<Slurm
version>/`` with the topology file for that version; no file there means flat. Adding one needs no code:
``python -m cluster_cases`` (with tests/ and lifecycle_scripts/ on PYTHONPATH) writes the expected files of new cases,
to be read, understood and committed.
"""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from slurm_topology.cli.main import run

__all__ = ["CASES", "VERSIONS", "Case", "content"]

FOLDER = Path(__file__).parent / "cases"
VERSIONS = ("24.11", "25.11")
_OPTIONS = {  # name of a source file, without its ending → the option that takes it
    "resource_config": "--resource-config",
    "instance_topology": "--instance-topology",
    "scontrol_show_nodes": "--slurm-nodes",
    "cluster_nodes": "--cluster-nodes",
    "ultraservers": "--ultraservers",
    "partitions": "--partitions",
    "topology_plan": "--plan",
}


@dataclass(frozen=True)
class Case:
    """One cluster at one moment."""

    name: str
    sources: tuple[Path, ...]
    expected_folder: Path

    def render(self, version: str, folder: Path) -> tuple[int, str]:
        """Run ``slurm-topology render`` into a folder: exit code and what it printed."""
        arguments = ["render", "--slurm-version", version, "--output-dir", str(folder)]
        for source in self.sources:
            arguments += [_OPTIONS.get(source.stem, "--resource-config"), str(source)]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            code = run(arguments)
        return code, printed.getvalue()

    def expected(self, version: str) -> dict[str, str]:
        """File name → its content, for one Slurm version."""
        return content(self.expected_folder / version)


def content(folder: Path) -> dict[str, str]:
    """File name → text without comments, of all files in a folder; empty when there is no such folder."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return {file.name: _without_comments(file.read_text(encoding="utf-8")) for file in files}


def _without_comments(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))


def _cases() -> list[Case]:
    files = sorted((FOLDER / "hyperpod").glob("*.json"))
    cases = [Case(f"hyperpod/{file.stem}", (file,), FOLDER / "hyperpod" / "expected" / file.stem) for file in files]
    for folder in sorted(path for path in (FOLDER / "clusters").iterdir() if path.is_dir()):
        sources = tuple(file for file in sorted(folder.iterdir()) if file.stem in _OPTIONS)
        cases.append(Case(f"clusters/{folder.name}", sources, folder / "expected"))
    return cases


CASES = _cases()


def _write_missing() -> None:
    for case in CASES:
        for version in VERSIONS:
            folder = case.expected_folder / version
            if not folder.exists():
                folder.mkdir(parents=True)
                code, printed = case.render(version, folder)
                print(f"== {case.name} {version}: exit {code}\n{printed}")


if __name__ == "__main__":
    _write_missing()
