"""Paired differences of two played modes, in the paper's units, and the verdict on a published one.

Scope: none; outcomes are those of simulated people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.experiments.core import Row
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.simulate import paired_bootstrap, sign_test
from slateproof.types.columns import Floats

__all__ = [
    "TITLES",
    "TWO_SESSIONS",
    "UNITS",
    "Delta",
    "delta",
    "delta_columns",
    "delta_of",
    "judged",
    "judged_alone",
    "mean_of",
    "rests_on_two",
    "standard_error",
]

UNITS = {"correctness": 1.0, "utility_probe": 1e3, "telemetry_probe": 1e3, "uptake": 1.0, "attempts_per_round": 1.0}
"""The paper's metrics, and what ours are multiplied by to stand in its units."""

TITLES = {
    "correctness": "Δ correctness",
    "utility_probe": "Δ post-test (×10⁻³)",
    "telemetry_probe": "Δ telemetry (×10⁻³)",
    "uptake": "Δ uptake",
    "attempts_per_round": "Δ attempts/round",
}

LAST_DIGIT = 0.0005
"""The paper prints three decimals, so a number is known to half of the third."""

NORMAL = 2.0 * 1.959964
"""Width of a 95 % interval in standard errors."""

TWO_SESSIONS = (
    "the published mean is the middle of its interval in every metric of the row: an interval of two sessions, not of 256"
)


@dataclass(frozen=True, slots=True)
class Delta:
    """A mean paired difference in the paper's unit: percentile interval, pairs, and the p of the sign test (exploratory).

    Scope: none.
    """

    mean: float
    low: float
    high: float
    pairs: int
    p: float


def delta(metric: str, after: Mapping[str, Floats], before: Mapping[str, Floats], resamples: int, rows: Any = slice(None)) -> Delta:
    """``after - before`` over sessions (``rows``: some of them)."""
    unit, one, two = UNITS[metric], after[metric][rows], before[metric][rows]
    found = paired_bootstrap(one, two, resamples=resamples)
    return Delta(found.mean * unit, found.low * unit, found.high * unit, found.pairs, sign_test(one, two).p)


def delta_columns(found: Mapping[str, Delta]) -> Row:
    """Differences as columns of a row: ``delta_METRIC``, its ends, the sign test's p."""
    row: Row = {}
    for metric, one in found.items():
        row |= {f"delta_{metric}": one.mean, f"low_{metric}": one.low, f"high_{metric}": one.high, f"p_{metric}": one.p}
    return row


def delta_of(row: Row, metric: str) -> Delta:
    """Read a difference back from the columns of a row."""
    mean, low, high, p = (row[f"{end}_{metric}"] for end in ("delta", "low", "high", "p"))
    return Delta(mean, low, high, row["sessions"], p)


def standard_error(low: float, high: float) -> float:
    """Of a mean with a 95 % interval: its width over 2 x 1.96."""
    return (high - low) / NORMAL


def mean_of(values: Floats) -> float:
    """Mean over sessions that have a value; NaN where none has."""
    return float(np.nanmean(values)) if not np.isnan(values).all() else math.nan


def rests_on_two(intervals: Sequence[tuple[float, float, float]]) -> bool:
    """Whether every mean is the middle of its interval to the last printed digit, two of them or more being 1,000 digits wide.

    Of two values the percentile bootstrap gives the interval from one to the other, and the mean is its middle. With hundreds of
    sessions that happens by chance where an interval is a few digits wide, hardly where it is thousands.
    """
    middle = all(abs(mean - (low + high) / 2.0) <= 2.0 * LAST_DIGIT * (1.0 + 1e-9) for mean, low, high in intervals)
    return middle and sum(high - low >= 2000.0 * LAST_DIGIT for _, low, high in intervals) >= 2


def judged(
    key: str, label: str, what: str, published: tuple[float, float, float], ours: Delta | None, why: str | None, cause: str | None
) -> Verdict:
    """The verdict on a difference: the published interval, or two standard errors of both; its direction is its sign."""
    mean, low, high = published
    theirs = Published(key, label, what, mean, (low, high), LAST_DIGIT, reference=0.0)
    if ours is None:
        return judge(theirs, Ours(None, why=why))
    error = math.hypot(standard_error(low, high), standard_error(ours.low, ours.high))
    return judge(theirs, Ours(ours.mean, error, 0.0, why), cause)


def judged_alone(key: str, label: str, what: str, value: float, ours: Delta, why: str | None, cause: str | None) -> Verdict:
    """The verdict on a difference that the paper prints without an interval: its error is taken to be ours."""
    theirs = Published(key, label, what, value, tolerance=LAST_DIGIT, reference=0.0)
    error = math.sqrt(2.0) * standard_error(ours.low, ours.high)
    return judge(theirs, Ours(ours.mean, error, 0.0, why), cause)
