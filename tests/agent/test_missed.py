"""The look after a pass: what changed since its last look is asked for, once, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.offline import make_world, write_members
from slurm_topology.agent.missed import marks, note_seen, request_if_missed
from slurm_topology.agent.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A pass has just ended here."""
    made, _ = make_world(tmp_path)
    write_members(made, [])
    assert note_seen(made, marks(made))
    return made


def asked(world: World) -> bool:
    return world.request_file.exists()


def test_nothing_changed_nothing_asked(world: World) -> None:
    assert not request_if_missed(world)
    assert not asked(world)


CHANGES: dict[str, Callable[[World], object]] = {
    "HyperPod's file": lambda world: world.settings.resource_config.write_text("{}"),
    "the plan": lambda world: world.files.write_atomically(_made(world.settings.plan), "{}"),
    "news from AWS": lambda world: world.files.write_atomically(
        _made(world.settings.state_folder / "instances.json"), "{}"
    ),
    "a request": lambda world: world.request(),
    "HyperPod's file is gone": lambda world: world.settings.resource_config.unlink(),
}


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changed_is_asked_for_once(world: World, change: Callable[[World], object]) -> None:
    change(world)
    before = marks(world)
    assert request_if_missed(world)
    assert marks(world)[-1] != before[-1], "the request mark was touched"
    # the pass that was asked for
    note_seen(world, marks(world))
    assert not request_if_missed(world)


def test_before_the_first_pass_nothing_is_known(tmp_path: Path) -> None:
    world, _ = make_world(tmp_path)
    write_members(world, [])
    assert not request_if_missed(world)


def test_a_note_that_cannot_be_written_ends_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each pass would be followed by another one for ever: neither of them could note what it saw."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(world.files, "write_atomically", full)
    world.settings.resource_config.write_text("{}")
    assert not request_if_missed(world)
    assert not asked(world)
