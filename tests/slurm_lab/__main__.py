"""``python -m slurm_lab roots 24.11 26.05``: make the private Slurm roots, or say why that can't be."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .roots import SUITES, NotRunnable, RootError, make_root

DONE, FAILED, NOT_RUNNABLE = 0, 1, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0: all roots are there; 1: one could not be made; 3: this system can't make them (it tells why)."""
    parser = argparse.ArgumentParser(prog="slurm_lab", description="A real Slurm for tests, from Debian packages.")
    commands = parser.add_subparsers(dest="command", required=True)
    roots = commands.add_parser("roots", help="make the private Debian roots that labs run in (needs root once)")
    roots.add_argument("versions", nargs="*", default=list(SUITES), help=f"Slurm versions (all: {' '.join(SUITES)})")
    try:
        for version in parser.parse_args(arguments).versions:
            root = make_root(version)
            print(f"slurm_lab: Slurm {root.exact_version} is in {root.path}", flush=True)
    except NotRunnable as reason:
        print(f"slurm_lab: not runnable here: {reason}", file=sys.stderr)
        return NOT_RUNNABLE
    except RootError as error:
        print(f"slurm_lab: {error}", file=sys.stderr)
        return FAILED
    return DONE


if __name__ == "__main__":
    sys.exit(main())
