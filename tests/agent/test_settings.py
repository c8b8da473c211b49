"""agent.json: what it says beats the plan."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import fields
from pathlib import Path

import pytest

from slurm_topology.agent.settings import Mode, Settings, mode_in_force, read_settings
from slurm_topology.cli._agent import world_of
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


WRONG: tuple[object, ...] = (
    *(None, True, -1, 1e300, float("nan"), float("inf"), "", "relative", "/a\0b", "/\ud800"),
    *([], ["/x"], {}, {"a": 1}),
)
TAKEN: dict[str, tuple[object, ...]] = {"bool": (True,), "str": ("", "relative")}  # of these, by the default's type


@pytest.mark.parametrize("name", [each.name for each in fields(Settings)])
def test_a_wrong_value_is_an_error_that_names_the_member(name: str, tmp_path: Path) -> None:
    """Never a traceback: not when it is read, not when what is made of it is used."""
    file = tmp_path / "agent.json"
    taken = TAKEN.get(type(getattr(Settings(), name)).__name__, ())
    for value in WRONG:
        file.write_text(json.dumps({name: value}))
        if any(value is each for each in taken) or (name, value) == ("metrics_textfile", None):
            world_of(Namespace(settings=file)).store().load_state()
            continue
        with pytest.raises(InputError, match=rf"agent\.json: {name}: expected .*, got "):
            world_of(Namespace(settings=file))
