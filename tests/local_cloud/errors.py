"""What HyperPod says when it refuses, and failures that a test orders beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["Fault", "HyperPodError"]


class HyperPodError(Exception):
    """An error answer of the API: `code` as in the service model, `message` for the user."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Fault:
    """The next `times` calls of `operation` go wrong.

    `reject`: the call itself is refused. `fail`: it is accepted, then the nodes can't be had, as when capacity is
    missing or a lifecycle script fails: a new cluster ends as Failed, an updated one rolls back.
    """

    operation: str
    message: str
    kind: Literal["reject", "fail"] = "fail"
    times: int = 1

    def used(self) -> Fault:
        return replace(self, times=self.times - 1)
