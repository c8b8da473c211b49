"""Fixtures of other folders' tests that these need too."""

from __future__ import annotations

from agent.conftest import make_agent_lab

__all__ = ["make_agent_lab"]
