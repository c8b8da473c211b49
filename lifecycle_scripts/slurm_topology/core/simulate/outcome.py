"""What came of a replayed trace, measured on the true network whatever Slurm was told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..explain.forest import Forest
from ..explain.score import score
from .model import Run

__all__ = ["Outcome", "measure"]


class Outcome(NamedTuple):
    """Means over jobs that ran, each job once. ``*_share`` are in [0, 1]."""

    label: str
    jobs: int
    never: int  # jobs that this topology refuses for ever
    one_leaf_share: float  # of the jobs that fit into the largest leaf, those that got one leaf
    mean_leaves: float
    mean_worst_hops: float
    mean_wait_seconds: float
    utilisation_share: float  # busy node seconds, of all until the last job ended
    last_end_seconds: int


def measure(label: str, truth: Forest, node_count: int, runs: Sequence[Run]) -> Outcome:
    """``truth``: the forest of the real network. Nodes apart count as the forest's height."""
    ran = [run for run in runs if run.nodes]
    scores = [score(truth, run.nodes) for run in ran]
    largest = max((len(unit.nodes) for unit in truth.units), default=0)
    could = [
        len(found.leaves) == 1 for run, found in zip(ran, scores, strict=True) if run.request.node_count <= largest
    ]
    farthest = 2 * truth.levels + 1
    end = max((run.ended for run in ran), default=0)
    busy = sum(run.request.node_count * run.request.seconds for run in ran)
    return Outcome(
        label=label,
        jobs=len(ran),
        never=len(runs) - len(ran),
        one_leaf_share=_mean([float(each) for each in could]),
        mean_leaves=_mean([float(len(found.leaves)) for found in scores]),
        mean_worst_hops=_mean([float(found.worst_hops or farthest) for found in scores]),
        mean_wait_seconds=_mean([float(run.started - run.request.submitted) for run in ran]),
        utilisation_share=busy / (node_count * end) if end and node_count else 0.0,
        last_end_seconds=end,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
