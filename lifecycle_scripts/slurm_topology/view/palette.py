"""Colours, signs and words of node states, the same in every rendering.

No state is told by colour alone: each has a sign for text and a pattern for graphics. The hues are those of Okabe and
Ito's palette, which stay apart for all common kinds of colour blindness; what is in order is calm, what isn't stands
out.
"""

from __future__ import annotations

from typing import NamedTuple

from slurm_topology.core.explain import NodeState

__all__ = ["STYLES", "StateStyle"]


class StateStyle(NamedTuple):
    """How a state looks."""

    sign: str  # one character wide
    ascii_sign: str  # where the terminal has no UTF-8
    ansi: str  # SGR parameters
    light: str  # fill on a light ground
    dark: str  # fill on a dark ground
    light_edge: str  # around the fill: 3:1 to a light ground (WCAG 1.4.11), where calm fills are paler than that
    dark_edge: str
    meaning: str


STYLES: dict[NodeState, StateStyle] = {
    NodeState.IDLE: StateStyle("□", ".", "32", "#cfe9e0", "#1d4d40", "#4f8f7d", "#5f9c89", "free"),
    NodeState.PLANNED: StateStyle(
        "◱", "p", "32", "#9fd6c3", "#2a7360", "#3d8a72", "#4a9a80", "free, kept for a job that is to start"
    ),
    NodeState.MIXED: StateStyle("◧", "m", "36", "#8ec7ea", "#35719b", "#3f87b5", "#5a9ac8", "partly used"),
    NodeState.ALLOCATED: StateStyle("■", "#", "34", "#2f7fbf", "#4a9fe0", "#2f7fbf", "#4a9fe0", "used by a job"),
    NodeState.RESERVED: StateStyle(
        "▣", "r", "35", "#c98bb0", "#b0719a", "#a8628c", "#b97fa5", "held by a reservation or maintenance"
    ),
    NodeState.DRAINING: StateStyle(
        "◪", "g", "33", "#e6b33d", "#d9a12a", "#a07715", "#d9a12a", "its job may end, no other begins"
    ),
    NodeState.DRAINED: StateStyle("▨", "d", "33", "#f0d08a", "#8a6a1f", "#96722a", "#b58a34", "taken out of service"),
    NodeState.DOWN: StateStyle("✖", "x", "31;1", "#d55e00", "#f0762b", "#c65700", "#f0762b", "not working"),
    NodeState.OFF: StateStyle(
        "·", "-", "2", "#c9ced6", "#4a5262", "#7b8494", "#7f8998", "powered off, or not there yet"
    ),
    NodeState.UNKNOWN: StateStyle(
        "?", "?", "2", "#eceef2", "#333a47", "#7b8494", "#7f8998", "nothing is known about it"
    ),
}
