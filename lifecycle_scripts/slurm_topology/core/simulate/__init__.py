"""What would happen to jobs under another topology: made-up or real clusters, a small scheduler, outcomes. Pure."""

from __future__ import annotations

from .made_up import WantedGroup, make_inventory, make_trace, read_trace
from .model import Place, Request, Run, replay
from .outcome import Outcome, measure
from .place import placer
from .variants import true_network, variants

__all__ = [
    "Outcome",
    "Place",
    "Request",
    "Run",
    "WantedGroup",
    "make_inventory",
    "make_trace",
    "measure",
    "placer",
    "read_trace",
    "replay",
    "true_network",
    "variants",
]
