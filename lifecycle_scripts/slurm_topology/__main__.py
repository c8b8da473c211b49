"""`python3 -m slurm_topology …` and the `slurm-topology` command."""

from __future__ import annotations

import sys

from slurm_topology.cli.main import run

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
