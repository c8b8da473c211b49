"""pytest fixtures of the lab. Where a real Slurm can't run, tests are skipped with the reason; in CI they fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NoReturn

import pytest

import promised

from .judge import Judge
from .lab import Lab
from .roots import SUITES, NotRunnable, Root, find_root

__all__ = ["judge", "judge_24_11", "judge_26_05", "make_lab", "slurm_root", "slurm_roots", "slurm_version"]


def not_runnable(reason: NotRunnable) -> NoReturn:
    """See ``promised``."""
    promised.not_runnable("a real Slurm", reason)


@pytest.fixture(scope="session")
def slurm_roots() -> Callable[[str], Root]:
    """The root of a Slurm version ("24.11", "26.05"); skips or fails the test when it isn't there."""

    def root(version: str) -> Root:
        try:
            return find_root(version)
        except NotRunnable as reason:
            not_runnable(reason)

    return root


@pytest.fixture(scope="session", params=list(SUITES))
def slurm_version(request: pytest.FixtureRequest) -> str:
    """Each packaged Slurm version in turn: a test that takes this runs once with each."""
    return str(request.param)


@pytest.fixture(scope="session")
def slurm_root(slurm_version: str, slurm_roots: Callable[[str], Root]) -> Root:
    """The root of ``slurm_version``."""
    return slurm_roots(slurm_version)


def _judge(root: Root) -> Iterator[Judge]:
    judge = Judge(root)
    try:
        judge.start()
    except NotRunnable as reason:
        not_runnable(reason)
    try:
        yield judge
    finally:
        judge.stop()


@pytest.fixture(scope="session")
def judge(slurm_root: Root) -> Iterator[Judge]:
    """A judge of each packaged Slurm version in turn, kept for the session."""
    yield from _judge(slurm_root)


@pytest.fixture(scope="session")
def judge_24_11(slurm_roots: Callable[[str], Root]) -> Iterator[Judge]:
    """slurmctld 24.11: topology.conf, one topology for all."""
    yield from _judge(slurm_roots("24.11"))


@pytest.fixture(scope="session")
def judge_26_05(slurm_roots: Callable[[str], Root]) -> Iterator[Judge]:
    """slurmctld 26.05: topology.yaml, a topology a partition; stands for 25.11 too."""
    yield from _judge(slurm_roots("26.05"))


@pytest.fixture
def make_lab(slurm_roots: Callable[[str], Root]) -> Iterator[Callable[..., Lab]]:
    """``make_lab(version, nodes=…, …)`` gives a started Lab (``start=False``: not started), ended with the test."""
    with ExitStack() as labs:

        def make(version: str, *, start: bool = True, **arguments: Any) -> Lab:
            lab = Lab(slurm_roots(version), **arguments)
            labs.callback(lab.stop)
            try:
                if start:
                    lab.start()
            except NotRunnable as reason:
                not_runnable(reason)
            return lab

        yield make
