"""What runs on a node when it is created."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Lifecycle"]


@dataclass(frozen=True)
class Lifecycle:
    """Lifecycle scripts of all groups. Made by the class methods.

    A folder is copied to the lifecycle prefix and, by HyperPod, to every node; its script runs there as root, in that
    folder, with bash. When the script fails, HyperPod takes the node for failed.
    """

    folder: Path | None = None
    script: str | None = None
    owns_setup: bool = False

    @classmethod
    def extend(cls, folder: str | Path | None = None, *, script: str = "setup.sh") -> Lifecycle:
        """HyperPod sets Slurm up; then (OnInitComplete) the topology agent is installed and your script runs, if any.

        :param folder: your files; default: none.
        :param script: the file in ``folder`` that is run.
        """
        return cls() if folder is None else cls(folder=Path(folder), script=script)

    @classmethod
    def own(cls, folder: str | Path, *, script: str = "on_create.sh") -> Lifecycle:
        """Your OnCreate scripts set everything up, Slurm included; then the topology agent is installed.

        :param folder: your files, without a provisioning_parameters.json: HyperPod refuses that beside a SlurmConfig.
        :param script: the file in ``folder`` that is run.
        """
        return cls(folder=Path(folder), script=script, owns_setup=True)
