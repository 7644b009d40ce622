"""Outward rounding: bounds computed in floats that hold for real numbers.

``docs/numerics.md`` proves what stands here. ``UNIT`` is the unit roundoff u = 2^-53 of float64. The objective is evaluated with
at most 16 roundings on a way from input to value; 20 u is used, and the surplus pays for the rounding of the bound itself.

Scope: stability only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from slateproof.types import Rule, Slate
from slateproof.types.columns import Floats

__all__ = [
    "OPERATIONS",
    "TINY",
    "UNIT",
    "bonus_bound",
    "down",
    "down_from",
    "evaluation_error",
    "exp_up",
    "minus_down",
    "similarity_bounds",
    "up",
    "window_error",
]

UNIT = 2.0**-53
OPERATIONS = 20.0
"""Roundings counted against one evaluation of the objective (16 happen)."""

TINY = 2.0**-1000
"""More than all underflows of one evaluation together."""

SMALL_SQUARE = 2.0**-900
"""Below this w^2 may be subnormal: its relative error, and with it the error of the proximity bonus, is not small any more."""


def down(value: float) -> float:
    """The next float below; infinities stay."""
    return value if math.isinf(value) else math.nextafter(value, -math.inf)


def down_from(value: float) -> float:
    """The next float below, never below 0: a radius is a distance. Infinities stay."""
    return max(0.0, down(value))


def up(value: float) -> float:
    """The next float above; infinities stay."""
    return value if math.isinf(value) else math.nextafter(value, math.inf)


def minus_down(a: Any, b: Any) -> Floats:
    """Lower bounds of a - b: the rounded difference where it is not too large (exact two-difference), the next float below else."""
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = left - right
        lost = left - difference
        error = (left - (difference + lost)) + (lost - right)
        exact = np.isinf(difference) | (error >= 0.0)
    return np.where(exact, difference, np.nextafter(difference, -np.inf))


def exp_up(exponent: Any) -> Any:
    """An upper bound of exp(x), times up to one more rounding, for exponents x <= 0 with a relative error of at most 16 u."""
    bound = np.nextafter(np.exp(exponent * (1.0 - 32.0 * UNIT)) * (1.0 + 12.0 * UNIT), np.inf)
    return np.where(np.equal(exponent, 0.0), 1.0, bound)


def similarity_bounds(slate: Slate) -> tuple[float, float]:
    """(largest absolute similarity to a chosen item, largest error of a similarity to the prefix as evaluated).

    Dot products of d terms summed in order err by at most gamma_d |x| |y|; a Jaccard index is one rounded quotient; a matrix entry
    is exact. The mean of K values (MSD) adds K roundings.
    """
    source = slate.pool.similarity
    if source.kind == "none":
        return 0.0, 0.0
    if source.kind == "matrix":
        rows = slate.pool.rows
        largest, error = float(np.abs(source.matrix[np.ix_(rows, rows[slate.indices])]).max()), 0.0
    elif source.kind == "tags":
        largest, error = 1.0, UNIT
    else:
        largest = abs(source.lower)
        error = 1.01 * source.vectors.shape[1] * UNIT * largest
    if slate.rule.dissimilarity == "mean":
        error += 1.01 * len(slate) * UNIT * largest
    return largest, error


def bonus_bound(slate: Slate) -> float:
    """An upper bound on eta_tg prox + alpha sigma over the candidates."""
    pool = slate.pool
    gain = 0.0 if pool.targets is None else slate.rule.target_gain
    width = 0.0 if pool.widths is None else float(pool.widths.max())
    return gain + slate.levers.exploration * width


def evaluation_error(slate: Slate, largest_score: float, largest_bonus: float | None = None) -> float:
    """e: |F as evaluated - F in real numbers| <= e for every candidate and step along the slate's prefix, |mu| <= largest_score.

    F is (1-lambda) mu-tilde - lambda maxsim + nu novel on the inputs as stored. A top-K slate compares scores as they are: e = 0.
    """
    if slate.rule.kind == "top-k":
        return 0.0
    diversity = slate.levers.diversity
    bonus = bonus_bound(slate) if largest_bonus is None else largest_bonus
    largest, error = similarity_bounds(slate)
    rest = 1.0 - diversity
    relevance = rest * (largest_score + bonus) if rest > 0.0 else 0.0
    size = relevance + diversity * largest + slate.rule.novelty
    return OPERATIONS * UNIT * size + diversity * error + TINY + rest * window_error(slate.rule)


def window_error(rule: Rule) -> float:
    """Where w^2 may be subnormal nothing is known about prox but that it lies in [0, 1]."""
    return rule.target_gain if rule.window * rule.window < SMALL_SQUARE else 0.0
