"""docs/design/deploy_time.md names every log message, and no test that isn't there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "design" / "deploy_time.md").read_text()
CODE = "".join(path.read_text() for path in (ROOT / "lifecycle_scripts/slurm_topology/aws_lambda").glob("*.py"))
SHOWN_BY = ("aws_lambda", "deploy", "agent", "faults")
TESTS = "".join(path.read_text() for name in SHOWN_BY for path in (ROOT / "tests" / name).glob("*.py"))


def test_every_log_message_is_documented() -> None:
    logged = set(re.findall(r'log\.(?:info|warning|error)\(\s*"([^"]+)"', CODE))
    documented = set(re.findall(r"`([^`]+)`", PAGE.partition("## Reading the log")[2]))
    assert len(logged) > 8
    assert logged - documented == set()


def test_every_test_that_is_promised_exists() -> None:
    promised = re.findall(
        r"`…?_?((?:test_)?[a-z_]+_[a-z_]+)(?:…)?`", PAGE.partition("## What is promised")[2].partition("## ")[0]
    )
    assert len(promised) > 8
    assert [name for name in promised if not re.search(rf"def \w*{re.escape(name)}", TESTS)] == []
