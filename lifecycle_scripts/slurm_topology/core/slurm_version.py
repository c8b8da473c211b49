"""What differs between Slurm versions, by name, so that no other file compares version numbers.

Source of each fact: trials against real slurmctld 24.11.0/.5, 25.05.8, 25.11.4/.7, 26.05.5 (see docs/topology.md).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .errors import InputError

__all__ = ["OLDEST_SUPPORTED", "SlurmVersion"]


class SlurmVersion(NamedTuple):
    """A Slurm release, such as 25.11.4; ``micro`` is 0 when the text did not say."""

    major: int
    minor: int
    micro: int = 0

    @classmethod
    def parse(cls, text: str) -> SlurmVersion:
        """Read "25.11", "25.11.4", "slurm 24.11.0" or "slurm-wlm 26.05.5-1".

        Raises InputError when no version is in the text, or when it is older than Slurm 24.05.
        """
        match = re.search(r"(?<![\d.])(\d\d)\.(\d\d)(?:\.(\d+))?", text)
        if match is None:
            raise InputError(f"no Slurm version in {text!r}: expected something like 24.11 or 25.11.4")
        version = cls(int(match[1]), int(match[2]), int(match[3] or 0))
        if version < OLDEST_SUPPORTED:
            raise InputError(
                f"Slurm {version} is not supported: HyperPod has shipped 24.11 and newer, "
                f"and block topology as written here needs at least {OLDEST_SUPPORTED}"
            )
        return version

    def __str__(self) -> str:
        return f"{self.major:02d}.{self.minor:02d}.{self.micro}"

    @property
    def has_topology_yaml(self) -> bool:
        """topology.yaml, several topologies, and Topology= on a partition came with 25.05."""
        return self >= (25, 5)

    @property
    def topology_file(self) -> str:
        """Name of the file that this version's topology is written to, beside slurm.conf."""
        return "topology.yaml" if self.has_topology_yaml else "topology.conf"

    @property
    def flat_plugin(self) -> str:
        """topology/flat is fatal before 25.05, topology/default was its name."""
        return "topology/flat" if self.has_topology_yaml else "topology/default"

    @property
    def short_block_is_fatal(self) -> bool:
        """Up to 24.11, slurmctld dies of a block with fewer present nodes than BlockSizes[0]."""
        return self < (25, 5)


OLDEST_SUPPORTED = SlurmVersion(24, 5)
