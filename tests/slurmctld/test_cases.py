"""A real slurmctld says of every file in tests/cases/topology what its case.json says it would."""

from __future__ import annotations

import pytest

from slurm_lab import Judge, Partition, Verdict
from topology_cases import CASES, Case

pytestmark = pytest.mark.slurm


def judged(judge: Judge, case: Case) -> Verdict:
    partition = Partition("all", topology=case.partition_topology, default=True)
    plugin = case.record.get("plugin")
    return judge.judge(case.text, case.file_name, case.nodes, [partition], plugin=plugin)


def disagreement(judge: Judge, case: Case, version: str) -> str | None:
    """What slurmctld did otherwise than recorded, or None."""
    recorded = case.record["slurmctld"][version]
    verdict = judged(judge, case)
    crashed = any("crashed with" in reason for reason in verdict.reasons)
    seen = "crashes" if crashed else "takes or mangles" if verdict.accepted else "refuses"
    return None if recorded in seen else f"{case.name}: recorded {recorded}, but it {seen} it: {verdict.reasons}"


def disagreements(judge: Judge, version: str) -> list[str]:
    asked = [case for case in CASES if version in case.record["slurmctld"]]
    assert len(asked) > 90
    return list(filter(None, (disagreement(judge, case, version) for case in asked)))


def test_slurmctld_24_11_does_as_recorded(judge_24_11: Judge) -> None:
    assert disagreements(judge_24_11, "24.11") == []


def test_slurmctld_26_05_does_as_recorded(judge_26_05: Judge) -> None:
    assert disagreements(judge_26_05, "26.05") == []


def test_some_mangled_files_go_by_without_a_word(judge_24_11: Judge) -> None:
    """What the checker is there for: slurmctld starts, logs nothing, and does something else than the file says."""
    mangled = [case for case in CASES if case.record["slurmctld"].get("24.11") == "mangles"]
    silent = {case.name for case in mangled if not judged(judge_24_11, case).notes}
    assert {"bad/blocks-sizes-range", "bad/blocks-sizes-fraction"} <= silent
