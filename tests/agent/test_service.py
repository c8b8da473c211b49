"""Coalescing, and what the service does between passes: no trigger is lost, nothing is waited for too long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.offline import make_world
from slurm_topology.agent import service
from slurm_topology.agent.clock import Clock
from slurm_topology.agent.decision import Action, Reason
from slurm_topology.agent.files import Files
from slurm_topology.agent.missed import request_if_missed
from slurm_topology.agent.record import PassRecord
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.settle import settle
from slurm_topology.agent.world import World


class PlayedClock(Clock):
    """Time passes only in ``sleep``, which also plays what was planned for that time."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.elapsed = 0.0
        self.plan: list[tuple[float, Callable[[], None]]] = []

    def now(self) -> float:
        return self.start + self.elapsed

    def monotonic(self) -> float:
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        self.elapsed += seconds
        due = [each for each in self.plan if each[0] <= self.elapsed]
        self.plan = [each for each in self.plan if each[0] > self.elapsed]
        for _, play in due:
            play()


@pytest.fixture
def changing(tmp_path: Path) -> Path:
    path = tmp_path / "resource_config.json"
    path.write_text("0")
    return path


def rewrite(path: Path, count: int) -> Callable[[], None]:
    def write() -> None:
        path.write_text("x" * count)

    return write


def test_an_old_file_is_not_waited_for(changing: Path) -> None:
    clock = PlayedClock(changing.stat().st_mtime + 3600)
    assert settle(Files(), clock, [changing], Settings()) == 0.0


def test_a_missing_file_is_not_waited_for(tmp_path: Path) -> None:
    assert settle(Files(), PlayedClock(0.0), [tmp_path / "nothing"], Settings()) == 0.0


def test_a_burst_is_waited_for_until_it_has_been_quiet_for_the_window(changing: Path) -> None:
    clock = PlayedClock(changing.stat().st_mtime)
    clock.plan = [(second, rewrite(changing, int(second * 10))) for second in (1.0, 2.5, 4.0)]
    assert 6.0 <= settle(Files(), clock, [changing], Settings(coalesce_seconds=2.0)) <= 8.5


def test_a_file_that_never_rests_holds_nobody_up_for_ever(changing: Path) -> None:
    clock = PlayedClock(changing.stat().st_mtime)
    clock.plan = [(float(second), rewrite(changing, second)) for second in range(1, 1000)]
    assert settle(Files(), clock, [changing], Settings(coalesce_limit_seconds=15.0)) <= 17.0


def test_a_time_in_the_future_costs_one_window(changing: Path) -> None:
    """The clock jumped back: the file's age says nothing."""
    clock = PlayedClock(changing.stat().st_mtime - 86_400)
    assert settle(Files(), clock, [changing], Settings(coalesce_seconds=2.0)) == 2.0


class Passes:
    """Stands for `reconcile`: gives the planned records one after the other, and may pull a trigger meanwhile."""

    def __init__(self, *again: float | None) -> None:
        self.again = list(again)
        self.at: list[float] = []
        self.meanwhile: dict[int, Callable[[], None]] = {}

    def __call__(self, world: World) -> PassRecord | None:
        self.at.append(world.clock.monotonic())
        self.meanwhile.get(len(self.at), lambda: None)()
        again = self.again[min(len(self.at), len(self.again)) - 1]
        return PassRecord(1.0, 0.1, Action.NOTHING, Reason.IN_FORCE, again_after_seconds=again)


def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, passes: Passes) -> tuple[World, PlayedClock]:
    world, _ = make_world(tmp_path, coalesce_seconds=0.0)
    clock = PlayedClock(1000.0)
    object.__setattr__(world, "clock", clock)
    monkeypatch.setattr(service, "reconcile", passes)
    return world, clock


def test_one_pass_is_enough_when_nothing_is_to_come(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    passes = Passes(None)
    world, _ = served(monkeypatch, tmp_path, passes)
    assert service.serve(world, lambda _: None) is not None
    assert passes.at == [0.0]


def test_a_trigger_during_a_pass_makes_another_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """systemd merges a start of what already runs: the pass itself has to notice."""
    passes = Passes(None)
    world, _ = served(monkeypatch, tmp_path, passes)
    passes.meanwhile = {1: world.request}
    service.serve(world, lambda _: None)
    assert len(passes.at) == 2


def test_a_pass_that_wants_to_look_again_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    passes = Passes(15.0, None)
    world, _ = served(monkeypatch, tmp_path, passes)
    service.serve(world, lambda _: None)
    assert passes.at == [0.0, pytest.approx(15.0)]


def test_a_trigger_ends_the_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    passes = Passes(60.0, None)
    world, clock = served(monkeypatch, tmp_path, passes)
    clock.plan = [(3.0, world.request)]
    service.serve(world, lambda _: None)
    assert passes.at[1] < 4.0


def test_patience_ends_and_the_timer_takes_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    passes = Passes(50.0)
    world, clock = served(monkeypatch, tmp_path, passes)
    service.serve(world, lambda _: None)
    assert clock.elapsed <= service.PATIENCE_SECONDS
    assert len(passes.at) == 5


def test_at_its_end_it_notes_what_it_saw_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So a trigger after the last look is one that was missed; one before it isn't."""
    passes = Passes(None)
    world, _ = served(monkeypatch, tmp_path, passes)
    passes.meanwhile = {1: world.request}
    service.serve(world, lambda _: None)
    assert not request_if_missed(world)
    world.settings.resource_config.write_text("{}")
    assert request_if_missed(world)


def test_a_lock_that_a_command_holds_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A command by hand looks for no trigger at its end: the one that started us would be lost."""
    passes = Passes(None)
    world, clock = served(monkeypatch, tmp_path, passes)
    monkeypatch.setattr(service, "reconcile", lambda world: passes(world) if clock.elapsed > 5 else None)
    assert service.serve(world, lambda _: None) is not None
    assert len(passes.at) == 1


def test_when_another_process_works_for_ever_this_one_leaves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And nobody starts it again at once."""
    world, clock = served(monkeypatch, tmp_path, Passes(None))

    def busy(world: World) -> None:
        world.request()  # as `reconcile` does

    monkeypatch.setattr(service, "reconcile", busy)
    world.request()
    assert service.serve(world, lambda _: None) is None
    assert clock.elapsed >= service.PATIENCE_SECONDS
    assert not request_if_missed(world)
