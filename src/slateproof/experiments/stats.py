"""The few statistics that several experiments need.

Scope: none; arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from slateproof.types.columns import Floats

__all__ = ["Line", "between", "fit_line", "median_error", "ratio_error", "share_error", "smoothed"]


@dataclass(frozen=True, slots=True)
class Line:
    """Least squares y = intercept + slope x: standard error of the slope, its 95 % t interval, R², number of points.

    Scope: none.
    """

    slope: float
    intercept: float
    error: float
    low: float
    high: float
    r_squared: float
    points: int


def fit_line(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> Line:
    """Ordinary least squares with n - 2 degrees of freedom; needs at least three points."""
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    centred = a - a.mean()
    spread = float(centred @ centred)
    slope = float(centred @ (b - b.mean())) / spread
    intercept = float(b.mean() - slope * a.mean())
    left = b - (intercept + slope * a)
    residual, total = float(left @ left), float(((b - b.mean()) ** 2).sum())
    error = float(np.sqrt(residual / (a.size - 2) / spread))
    reach = float(student.ppf(0.975, a.size - 2)) * error
    return Line(slope, intercept, error, slope - reach, slope + reach, 1.0 - residual / total, int(a.size))


def smoothed(successes: int, trials: int) -> float:
    """(k + 1/2) / (n + 1): a share that is never 0 or 1, so that it has a logarithm."""
    return (successes + 0.5) / (trials + 1.0)


def share_error(share: float, trials: int) -> float:
    """Standard error of a share of independent trials."""
    return float(np.sqrt(share * (1.0 - share) / trials))


def between(values: Floats) -> float:
    """Standard error of the mean of independent values (one per pool)."""
    return float(np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


def ratio_error(above: Floats, below: Floats) -> float:
    """Standard error of mean(above) / mean(below) over the same independent units, to first order."""
    level = float(below.mean())
    return 0.0 if level == 0.0 else between(above - above.mean() / level * below) / level


def median_error(values: Floats) -> float:
    """Standard error of a median of independent values: a quarter of the width of its 95 % interval from order statistics."""
    ordered, n = np.sort(values), values.size
    reach = 0.98 * np.sqrt(n)
    low, high = max(0, int(np.floor(n / 2.0 - reach))), min(n - 1, int(np.ceil(n / 2.0 + reach)))
    return float(ordered[high] - ordered[low]) / 4.0
