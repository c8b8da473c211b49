"""Outcomes of a simulation as a table. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slurm_topology.core.simulate import Outcome

__all__ = ["outcome_lines"]

_HEAD = ("in one leaf", "leaves a job", "worst pair", "mean wait", "node use", "refused")
_LEGEND = (
    "in one leaf: of the jobs that fit into one",
    "worst pair: switches between a job's two farthest nodes, mean of all jobs",
    "refused: jobs that could never start under this topology",
)


def outcome_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One row a topology."""
    yield f"{'':<22}" + "".join(f"{head:>14}" for head in _HEAD)
    yield from map(_row, outcomes)
    yield ""
    yield from _LEGEND


def _row(outcome: Outcome) -> str:
    cells = (
        f"{outcome.one_leaf_share:.0%}",
        f"{outcome.mean_leaves:.2f}",
        f"{outcome.mean_worst_hops:.2f}",
        f"{outcome.mean_wait_seconds / 60:.1f} min",
        f"{outcome.utilisation_share:.0%}",
        f"{outcome.never:,}",
    )
    return f"{outcome.label:<22}" + "".join(f"{cell:>14}" for cell in cells)
