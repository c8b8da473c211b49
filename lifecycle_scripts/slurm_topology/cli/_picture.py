"""Writing the pictures of plans."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slurm_topology.core.errors import InputError
from slurm_topology.view import PlanPicture, plans_html

from .show import write_out

__all__ = ["write_picture"]


def write_picture(path: Path, pictures: Sequence[PlanPicture]) -> None:
    """One file: .html takes any number of plans, .svg one. Raises InputError for anything else."""
    if path.suffix == ".html":
        write_out(plans_html(pictures), path)
    elif path.suffix == ".svg" and len(pictures) == 1:
        write_out(pictures[0].svg(), path)
    else:
        raise InputError(f"--picture {path}: expected a name in .html, or in .svg when there is one plan")
