"""The short form of the churn soak (`make soak` runs a thousand events on 256 nodes)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.agent_lab import AgentLab
from agent.churn import Churn
from slurm_lab import Level

pytestmark = pytest.mark.slurm

CEILING = 4


def test_thirty_events_on_64_nodes(make_agent_lab: Callable[..., AgentLab], slurm_version: str) -> None:
    lab = make_agent_lab(
        slurm_version, nodes=48, level=Level.CLOUD, settings={"reconfigures_per_minute": CEILING, "history_entries": 10}
    )
    report = Churn(lab, most=64).play(30)
    assert report.events == 30
    assert report.jobs_lost == []
    assert report.jobs_held == []
    assert report.unplaced == []
    assert report.deaths == 0
    assert report.failures == 0
    assert 5 < report.reconfigures <= report.changes
    assert report.most_in_a_minute <= CEILING
    assert max(report.files) <= 10 + 6, "the history is bounded, and nothing else grows"
