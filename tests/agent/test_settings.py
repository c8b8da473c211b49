"""agent.json: what it says beats the plan."""

from __future__ import annotations

import pytest

from slurm_topology.agent.settings import Mode, mode_in_force, read_settings
from slurm_topology.core.errors import InputError


@pytest.mark.parametrize(
    ("in_settings", "in_plan", "expected"),
    [
        (None, None, Mode.OWN),
        (None, "observe", Mode.OBSERVE),
        ("repair", None, Mode.REPAIR),
        ("repair", "observe", Mode.REPAIR),
        ("own", "observe", Mode.OWN),
        ("own", "repair", Mode.OWN),
    ],
)
def test_the_mode_of_agent_json_overrules_the_plan(
    in_settings: str | None, in_plan: str | None, expected: Mode
) -> None:
    """Also "own": it is the way back when the plan says otherwise."""
    text = None if in_settings is None else f'{{"mode": "{in_settings}"}}'
    assert mode_in_force(read_settings(text), in_plan) is expected


def test_a_mode_that_only_a_later_version_knows_writes_nothing() -> None:
    assert mode_in_force(read_settings(None), "share") is Mode.OBSERVE


def test_a_wrong_mode_is_refused() -> None:
    with pytest.raises(InputError, match=r"mode: expected one of own, repair, observe, got 'share'"):
        read_settings('{"mode": "share"}')
