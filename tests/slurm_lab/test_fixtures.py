"""A test that can't run is never passed silently."""

from __future__ import annotations

import pytest

from slurm_lab import NotRunnable
from slurm_lab.fixtures import not_runnable

REASON = NotRunnable("no root here")


def test_it_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="not runnable here: no root here"):
        not_runnable(REASON)


def test_in_ci_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="CI promises a real Slurm: no root here"):
        not_runnable(REASON)
