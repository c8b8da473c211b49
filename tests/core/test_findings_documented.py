"""docs/findings.md against the findings that the sources, the plan and the builders make."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTED = dict(
    re.findall(r"^\| (TOPO[123]\d\d) \| ([^|]+) \|", (ROOT / "docs" / "findings.md").read_text(), re.MULTILINE)
)
_ID = re.compile(r'"(TOPO[123]\d\d)"')
_MADE = re.compile(r'Finding\(\s*"(TOPO[123]\d\d)",\s*(?:Severity\.)?(\w+)')


def sources() -> dict[str, str]:
    """Module → its text, for all of the core."""
    folder = ROOT / "lifecycle_scripts" / "slurm_topology" / "core"
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.py"))}


def test_every_finding_is_documented_and_every_documented_one_exists() -> None:
    """Also those that only a deployment makes."""
    deployment = (ROOT / "lifecycle_scripts" / "slurm_topology" / "aws_lambda").glob("*.py")
    texts = [*sources().values(), *(path.read_text() for path in deployment)]
    made = {each for text in texts for each in _ID.findall(text)}
    assert made == DOCUMENTED.keys()


def test_each_id_is_made_in_one_module_only() -> None:
    """So that it has one meaning."""
    homes: dict[str, set[str]] = {}
    for module, text in sources().items():
        for each in _ID.findall(text):
            homes.setdefault(each, set()).add(module)
    assert {each: modules for each, modules in homes.items() if len(modules) > 1} == {}


def test_documented_severities_are_the_real_ones() -> None:
    """Where the severity is a constant of the code; the others depend on the situation."""
    checked = 0
    for text in sources().values():
        for each, severity in _MADE.findall(text):
            if severity in ("ERROR", "WARNING", "INFO"):
                checked += 1
                assert severity.lower() in DOCUMENTED[each], each
    assert checked >= 25
