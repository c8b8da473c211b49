"""What a custom resource needs while it works: clients, patience, a log, and a note of what it is just doing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from slurm_topology.aws import Patience

from .log import Log

__all__ = ["Work"]


@dataclass
class Work:
    """``current_step`` is what the message of a failure names; it is read by the thread that waits for the work."""

    log: Log
    patience: Patience
    make_client: Callable[[str], Any]
    current_step: str = "starting"
    _clients: dict[str, Any] = field(default_factory=dict)

    def step(self, name: str) -> None:
        """Begin a step, such as "unpacking the node bundle"."""
        self.current_step = name
        self.log.info("step begins", step=name)

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self.make_client(service)
        return self._clients[service]
