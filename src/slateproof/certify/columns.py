"""Margins and radii of many rounds at once, rounded down: what a batch selection adds to its columns.

Scope: stability only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from slateproof.certify.checks import floats
from slateproof.certify.rounding import OPERATIONS, TINY, UNIT
from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats

__all__ = ["margin_down", "radii", "radius_down"]

ROOT_TWO_DOWN = 1.4142135623730949
"""The largest float below the square root of 2."""


@njit(cache=True, nogil=True)
def margin_down(gap: float, error: float) -> float:
    """max(0, gap - 2 error), rounded down: at least this separates two objectives in real numbers; +inf stays."""
    if error == 0.0 or gap == np.inf:
        return max(gap, 0.0)
    return max(np.nextafter(gap - 2.0 * error, -np.inf), 0.0)


@njit(cache=True, nogil=True)
def radius_down(margin: float, error: float, rest: float) -> float:
    """(margin - 2 error) / (2 (1-lambda)), rounded down; +inf where the margin is, or where ``rest`` = 1 - lambda is 0.

    ``margin`` is a lower bound of the real margin, ``error`` bounds the evaluation under the other scores. 1 - lambda is rounded
    once, so the next float above bounds it; halving a number that is not tiny is exact.
    """
    if rest == 0.0:
        return np.inf
    left = margin_down(margin, error)
    if left == 0.0 or left == np.inf:
        return left
    if rest == 1.0 and left > TINY:
        return 0.5 * left
    return max(0.0, np.nextafter(left / (2.0 * np.nextafter(rest, np.inf)), -np.inf))


@njit(cache=True, nogil=True)
def fill_radii(
    gaps: Any, diversity: Any, magnitude: Any, novelty: Any, similarity: Any, similarity_error: Any, margins: Any, radius: Any
) -> int:
    """``radii`` in one pass; returns -1, or the first row with a lambda or a bound out of range."""
    for b in range(gaps.size):
        lam, size, gap = diversity[b], magnitude[b], gaps[b]
        alike, wrong, novel = similarity[b], similarity_error[b], novelty[b]
        if not (0.0 <= lam <= 1.0 and size >= 0.0 and alike >= 0.0 and wrong >= 0.0 and novel >= 0.0):
            return b
        rest = 1.0 - lam
        error = OPERATIONS * UNIT * (rest * size + lam * alike + novel) + lam * wrong + TINY
        # The difference of two floats was rounded once: up to u gap too large.
        margins[b] = margin_down(gap, error + UNIT * abs(gap))
        # Scores within the radius add at most margin / (1-lambda) to the magnitude.
        moved = error + OPERATIONS * UNIT * margins[b] if margins[b] < np.inf else 0.0
        radius[b] = radius_down(margins[b], moved, rest)
    return -1


def radii(
    margins: Any, diversity: Any, magnitude: Any, *, novelty: Any = 0.0, similarity: Any = 1.000003, similarity_error: Any = 1e-13
) -> tuple[Floats, Floats]:
    """(margins, radii) of many greedy rounds, both rounded down: (rounds,) each.

    ``margins`` is (rounds,) or (rounds, K), as evaluated (``slate.margins``; the smallest of a row counts). ``diversity`` is
    lambda. ``magnitude`` bounds |mu| + eta_tg + alpha sigma over the round's candidates, ``novelty`` nu, and ``similarity`` and
    ``similarity_error`` the similarities in size and their rounding (0 and 0 without a source; 1.000003 and 1.2e-16 times the
    dimensions for unit vectors; the largest entry and 0 for a matrix; for the mean dissimilarity another 1.2e-16 K times
    ``similarity``). All of them: one number for all rounds or one per round; a figure is only as true as these bounds. A
    radius is the exact l-infinity radius Gamma / (2 (1-lambda)): +inf at lambda = 1 or where nothing else could be chosen.

    Scope: stability only.
    """
    gaps = floats(margins, "margins")
    if gaps.ndim not in (1, 2) or np.isnan(gaps).any():
        raise InvalidInput("margins", "must be numbers, (rounds,) or (rounds, K)", gaps.shape)
    if gaps.ndim == 2:
        gaps = gaps.min(axis=1)
    bounds = {"magnitude": magnitude, "novelty": novelty, "similarity": similarity, "similarity_error": similarity_error}
    columns = [_per_round(values, name, gaps.size) for name, values in bounds.items()]
    lam, lower, radius = _per_round(diversity, "diversity", gaps.size), np.empty(gaps.size), np.empty(gaps.size)
    wrong = fill_radii(gaps, lam, *columns, lower, radius)
    if wrong >= 0:
        for name, column in zip(bounds, columns, strict=True):
            if not column[wrong] >= 0.0:
                raise InvalidInput(name, "must be at least 0", float(column[wrong]), where=wrong)
        raise InvalidInput("diversity", "must lie in [0, 1]", float(lam[wrong]), where=wrong)
    return lower, radius


def _per_round(values: Any, name: str, rounds: int) -> Floats:
    column = floats(values, name)
    if column.shape not in ((), (rounds,)):
        raise InvalidInput(name, f"must be one number or one per round ({rounds})", column.shape)
    return np.broadcast_to(column, (rounds,))
