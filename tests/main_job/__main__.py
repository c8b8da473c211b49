"""`make local`: the whole product on one machine. `python -m main_job [--slurm 26.05] [--keep] | --stop`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from main_job.keeper import in_background, stop_kept, wait_for_the_end
from main_job.look_around import how_to_look_around
from main_job.progress import Progress
from main_job.story import MainJob

BUILD = Path(__file__).parents[2] / "build" / "local"


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make local", description=__doc__)
    parser.add_argument("--slurm", default="26.05", choices=["24.11", "26.05"], help="family of the real Slurm")
    parser.add_argument("--keep", action="store_true", help="leave everything running at the end")
    parser.add_argument("--stop", action="store_true", help="end what an earlier run with --keep left running")
    options = parser.parse_args(argv)
    if options.stop:
        return stop_kept(BUILD)
    if options.keep:
        in_background(BUILD)
    return tell(options.slurm, keep=options.keep)


def tell(slurm: str, *, keep: bool) -> int:
    """Run the story and take everything down again, whatever happens in between."""
    progress = Progress()
    job = MainJob(slurm, progress)
    try:
        job.run()
        if keep:
            print(how_to_look_around(job, BUILD), flush=True)
            progress.write_summary(BUILD / "summary.json", job.summary)
            wait_for_the_end(BUILD)
        job.destroy()
    except KeyboardInterrupt:
        print("interrupted: taking everything down", file=sys.stderr)
        return 130
    except Exception as error:
        print(f"make local failed: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    finally:
        job.close()
        progress.write_summary(BUILD / "summary.json", job.summary)
    print(f"summary: {BUILD / 'summary.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
