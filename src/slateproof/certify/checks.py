"""Premises, checked: what a theorem assumes is enforced before its number is given.

Scope: none; validation only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats, as_numbers, finite_scalar

__all__ = ["covariance", "floats", "fraction", "positive", "score_rows", "share_of_noise", "slate_size", "standard_deviations"]


def floats(values: Any, field: str) -> Floats:
    """Numbers of any shape as float64; refuses everything that is not real numbers."""
    try:
        return np.array(as_numbers(values), np.float64, order="C")
    except (TypeError, ValueError) as why:
        raise InvalidInput(field, f"must be numbers ({why})") from why


def covariance(matrix: Any, n: int) -> Floats:
    """An (n, n) covariance; refuses entries that are not finite, asymmetry, and a negative eigenvalue beyond rounding."""
    table = floats(matrix, "covariance")
    if table.shape != (n, n):
        raise InvalidInput("covariance", f"must be ({n}, {n}), a row per candidate", table.shape)
    if not np.isfinite(table).all():
        place = tuple(int(x) for x in np.argwhere(~np.isfinite(table))[0])
        raise InvalidInput("covariance", "must be finite", float(table[place]), where=place)
    apart = np.abs(table - table.T)
    if (apart > 1e-10 * np.abs(table).max()).any():
        i, j = (int(x) for x in np.unravel_index(int(apart.argmax()), apart.shape))
        raise InvalidInput("covariance", "must be symmetric", (float(table[i, j]), float(table[j, i])), where=(i, j))
    symmetric: Floats = 0.5 * (table + table.T)
    values = np.linalg.eigvalsh(symmetric)
    if values[0] < -1e-10 * max(values[-1], 0.0) or (values[-1] <= 0.0 and symmetric.any()):
        raise InvalidInput("covariance", "must have no negative eigenvalue", float(values[0]))
    return symmetric


def fraction(value: Any, field: str) -> float:
    """A number strictly between 0 and 1: a target probability."""
    number = finite_scalar(value, field)
    if not 0.0 < number < 1.0:
        raise InvalidInput(field, "must lie strictly between 0 and 1", number)
    return number


def positive(value: Any, field: str) -> float:
    """A finite number above 0."""
    number = finite_scalar(value, field)
    if number <= 0.0:
        raise InvalidInput(field, "must be above 0", number)
    return number


def share_of_noise(anchor_weight: Any) -> float:
    """1 - w, the share of the score error that the blend w mu0 + (1 - w)(mu0 + xi) lets through; w in [0, 1]."""
    return 1.0 - finite_scalar(anchor_weight, "anchor_weight", 0.0, 1.0)


def slate_size(k: Any, n: int) -> int:
    """K as an int, 1 <= K <= n."""
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
        raise InvalidInput("k", "must be a whole number", k)
    if not 1 <= k <= n:
        raise InvalidInput("k", f"must lie in [1, {n}], the number of candidates", int(k))
    return int(k)


def score_rows(scores: Any, field: str = "scores") -> tuple[Floats, bool]:
    """Scores as (pools, n) in C order, and whether one pool alone was given; refuses empty pools and non-finite entries."""
    table = floats(scores, field)
    if table.ndim not in (1, 2) or table.shape[-1] == 0:
        raise InvalidInput(field, "must have shape (n,) or (pools, n), n at least 1", table.shape)
    if not np.isfinite(table).all():
        place = tuple(int(x) for x in np.argwhere(~np.isfinite(table))[0])
        raise InvalidInput(field, "must be finite", float(table[place]), where=place)
    return np.atleast_2d(table), table.ndim == 1


def standard_deviations(sigma: Any, n: int, field: str = "sigma") -> Floats:
    """sigma as one value per candidate, from a scalar or n values; refuses negative and non-finite ones."""
    if np.ndim(sigma) == 0:
        return np.full(n, finite_scalar(sigma, field, 0.0))
    column = floats(sigma, field)
    if column.shape != (n,):
        raise InvalidInput(field, f"must be one number or one per candidate ({n})", column.shape)
    bad = ~(np.isfinite(column) & (column >= 0.0))
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise InvalidInput(field, "must be finite and at least 0", float(column[place]), where=place)
    return column
