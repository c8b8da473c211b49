"""Who else writes the topology, and when to stop fighting. Pure.

HyperPod's manager rewrites the file at every cluster event, an administrator once. So: a file of ours that was
changed is put back; but after ``yield_after_reverts`` times within ``yield_window_seconds`` the other one means it.
Then we yield for ``yield_seconds``, doubled at each yield that follows (a day at most), report it, and afterwards try
again.
"""

from __future__ import annotations

from dataclasses import replace

from slurm_topology.agent import pace
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.state import AgentState

__all__ = ["after_revert", "yields"]

DAY_SECONDS = 86_400.0


def after_revert(state: AgentState, now: float, settings: Settings) -> AgentState:
    """The state after our file was found undone once more. Starts a yield when it has become too many."""
    reverts = [*pace.recent(state.reverts, now, settings.yield_window_seconds), now]
    if len(reverts) < settings.yield_after_reverts:
        return replace(state, reverts=reverts)
    again = now - state.yield_until < DAY_SECONDS if state.yield_until else False
    length = min(DAY_SECONDS, state.yield_seconds * 2) if again and state.yield_seconds else settings.yield_seconds
    return replace(state, reverts=[], yield_until=now + length, yield_seconds=length)


def yields(state: AgentState, now: float) -> bool:
    """True while we let the other writer have its way. A clock that jumped back can't prolong it beyond its length."""
    return 0 < state.yield_until - now <= state.yield_seconds
