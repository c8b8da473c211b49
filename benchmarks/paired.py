"""Two things measured in pairs, so that what else the machine does meanwhile falls on both."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from statistics import median
from typing import NamedTuple

__all__ = ["Comparison", "compare", "sign_interval"]

CONFIDENCE = 0.99


class Comparison(NamedTuple):
    """Ours beside the other's, in the unit of what was measured."""

    ours: float  # median
    ours_least: float
    other: float  # median
    other_least: float
    ratio: float  # of the medians, ours : other
    difference_low: float  # the median of the paired differences (ours - other) lies between these
    difference_high: float
    verdict: str  # no difference seen | faster | slower; "in all of n rounds" when n is too small for a confidence


def sign_interval(differences: Sequence[float]) -> tuple[float, float, float]:
    """(low, high, confidence) of the median of the differences, whatever their distribution.

    The interval of the sign test: each true difference is above the median or below it like a coin, so the k-th
    smallest and the k-th largest enclose it but for 2·P(less than k heads). The largest k for which that stays below
    1 %, else the whole range, with the confidence that this has: 12 rounds give the 2nd and the 11th, 99.4 %.
    """
    ordered, count = sorted(differences), len(differences)
    missed = [2 * sum(comb(count, heads) for heads in range(k)) / 2**count for k in range(1, count // 2 + 1)]
    k = max(1, sum(share <= 1 - CONFIDENCE for share in missed))
    return ordered[k - 1], ordered[-k], 1 - missed[k - 1] if missed else 0.0


def compare(ours: Sequence[float], other: Sequence[float]) -> Comparison:
    """``ours[n]`` and ``other[n]`` were measured one right after the other."""
    low, high, confidence = sign_interval([one - two for one, two in zip(ours, other, strict=True)])
    verdict = "faster" if high < 0 else "slower" if low > 0 else "no difference seen"
    if confidence < CONFIDENCE and verdict != "no difference seen":
        verdict += f" in all of {len(ours)} rounds"
    middle, other_middle = median(ours), median(other)
    return Comparison(middle, min(ours), other_middle, min(other), middle / other_middle, low, high, verdict)
