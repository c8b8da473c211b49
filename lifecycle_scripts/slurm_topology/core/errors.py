"""The error tree of slurm_topology.

::

    SlurmTopologyError                what a caller may catch to catch all of ours
    ├── InputError                    a file or an answer that cannot be used at all (CLI exit 2)
    │   └── HostListError             .part: the piece of the host list that is wrong
    ├── CommandError                  .argv .returncode .stderr: a program failed, hung or was not found
    ├── AwsError                      .operation .code: an AWS API answered with an error, after all retries
    ├── StateError                    the agent's own state cannot be read or written
    └── ApplyError                    .stage: a pass could not put its topology in force (it has put the old one back)

"No placement is known" is a value and a finding, never an error.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "ApplyError",
    "AwsError",
    "CommandError",
    "HostListError",
    "InputError",
    "SlurmTopologyError",
    "StateError",
]


class SlurmTopologyError(Exception):
    """Base of every error that this package raises on purpose. Its text is meant for the user."""


class InputError(SlurmTopologyError):
    """Input that cannot be used at all: unreadable, not JSON, of the wrong shape.

    The text says what was got, what was expected, where, and what to do.
    """


class HostListError(InputError):
    """A host list expression that Slurm would refuse, or that is larger than the caller's limit."""

    def __init__(self, message: str, part: str) -> None:
        super().__init__(message)
        self.part = part


class CommandError(SlurmTopologyError):
    """A program could not be started, ended with a non-zero status or outlived its time-out."""

    def __init__(self, message: str, argv: Sequence[str], returncode: int | None = None, stderr: str = "") -> None:
        super().__init__(message)
        self.argv = tuple(argv)
        self.returncode = returncode
        self.stderr = stderr


class AwsError(SlurmTopologyError):
    """An AWS operation failed for good: denied, not found, or still throttled after every retry."""

    def __init__(self, message: str, operation: str, code: str = "") -> None:
        super().__init__(message)
        self.operation = operation
        self.code = code


class StateError(SlurmTopologyError):
    """The agent's state folder cannot be used."""


class ApplyError(SlurmTopologyError):
    """A topology could not be put in force.

    ``stage`` is one of the transaction's steps (see ``agent.apply``); what was in force before is in force again.
    """

    def __init__(self, message: str, stage: str) -> None:
        super().__init__(message)
        self.stage = stage
