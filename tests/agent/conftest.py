"""Fixtures of the agent's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from agent.agent_lab import AgentLab
from slurm_lab import Lab, Level, make_nodes


@pytest.fixture
def make_agent_lab(make_lab: Callable[..., Lab]) -> Iterator[Callable[..., AgentLab]]:
    """``make_agent_lab(version, nodes=8, …)``: a lab as HyperPod leaves it (flat plugin), with the agent's code in it.

    ``settings`` go to agent.json, other arguments to the lab (level: CLOUD unless said otherwise).
    ``start=False``: the box and its files, no slurmctld.
    """
    with ExitStack() as opened:

        def make(
            version: str,
            *,
            nodes: int = 8,
            settings: dict[str, Any] | None = None,
            start: bool = True,
            **arguments: Any,
        ) -> AgentLab:
            flat = "topology/default" if version == "24.11" else "topology/flat"
            chosen: dict[str, Any] = {"nodes": make_nodes(nodes), "level": Level.CLOUD, "plugin": flat, **arguments}
            slurm = make_lab(version, start=start, **chosen)
            if not start:
                slurm.start_box()
            lab = AgentLab(slurm, **(settings or {}))
            opened.callback(lab.close)
            return lab

        yield make
