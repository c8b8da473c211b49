"""The agent's doors and settings in one place: what a pass gets, and what tests replace."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slurm_topology.agent.clock import Clock
from slurm_topology.agent.files import Files
from slurm_topology.agent.log import Log
from slurm_topology.agent.settings import Settings, read_settings
from slurm_topology.agent.shell import Shell
from slurm_topology.agent.slurm import Slurm
from slurm_topology.agent.state import Store

if TYPE_CHECKING:
    from slurm_topology.agent.history import History
    from slurm_topology.agent.rehearse import Rehearser

__all__ = ["World", "open_world"]

QUICK_SECONDS = 10.0  # a glance that takes longer is no glance: the full pass has more patience


@dataclass(frozen=True)
class World:
    """Everything outside, by its doors."""

    shell: Shell
    files: Files
    clock: Clock
    log: Log
    settings: Settings
    host_name: str

    @property
    def slurm(self) -> Slurm:
        return Slurm(self.shell, self.settings.command_timeout_seconds)

    @property
    def client_conf(self) -> Path:
        """The small slurm.conf of ``client_conf``."""
        return self.settings.run_folder / "client" / "slurm.conf"

    @property
    def quick_slurm(self) -> Slurm:
        """Slurm's commands with the small slurm.conf."""
        shell = replace(self.shell, extra={**self.shell.extra, "SLURM_CONF": str(self.client_conf)})
        return Slurm(shell, min(QUICK_SECONDS, self.settings.command_timeout_seconds))

    @property
    def rehearser(self) -> Rehearser:
        from slurm_topology.agent.rehearse import Rehearser  # a glance needs none

        return Rehearser(self.shell, self.files, self.settings.run_folder, self.settings.rehearsal_timeout_seconds)

    @property
    def history(self) -> History:
        from slurm_topology.agent.history import History  # likewise

        return History(self.files, self.settings.state_folder / "history", self.settings.history_entries)

    def store(self) -> Store:
        return Store(self.files, self.settings.state_folder)

    @property
    def lock_file(self) -> Path:
        return self.settings.state_folder / "lock"

    @property
    def request_file(self) -> Path:
        """Touched to say "look now"; systemd's path unit watches it."""
        return self.settings.run_folder / "request"

    def request(self) -> None:
        """Say "look now" to whoever runs the passes."""
        self.files.make_folder(self.request_file.parent)
        self.files.touch(self.request_file)

    def prepare_request(self, user: str) -> None:
        """Let a user (SlurmUser, as whom Slurm's triggers run) say it too."""
        self.files.make_folder(self.request_file.parent)
        if self.files.signature(self.request_file) is None:
            self.files.touch(self.request_file)
        self.files.give_to(self.request_file, user)


def open_world(settings_file: Path) -> World:
    """The real world, with the settings of a file. Raises InputError when that file is wrong."""
    files = Files()
    settings = read_settings(files.read_text(settings_file), settings_file)
    extra = {"SLURM_CONF": settings.slurm_conf} if settings.slurm_conf else {}
    log = Log(prefix="JOURNAL_STREAM" in os.environ)
    return World(Shell(extra), files, Clock(), log, settings, os.uname().nodename)
