"""`python3 -m slurm_topology …` and the `slurm-topology` command."""

from __future__ import annotations

import os
import signal
import sys

from slurm_topology.cli.main import run

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code.

    When the reader of the output goes away (``… | head -1``), end without a word and with the exit code of programs
    that SIGPIPE ends, as those written in C do; Python would print a traceback.
    """
    try:
        try:
            code = run(sys.argv[1:])
        finally:  # also after argparse has printed its help
            sys.stdout.flush()
    except BrokenPipeError:
        # what is still in the buffer goes nowhere, so that the flush at the interpreter's end finds a reader
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    sys.exit(code)


if __name__ == "__main__":
    main()
