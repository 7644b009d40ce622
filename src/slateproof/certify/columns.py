"""Margins and radii of many rounds at once, rounded down: what a batch selection adds to its columns.

Scope: stability only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.certify.rounding import OPERATIONS, TINY, UNIT
from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats

__all__ = ["margin_down", "radii", "radius_down"]

ROOT_TWO_DOWN = 1.4142135623730949
"""The largest float below the square root of 2."""


def margin_down(gaps: Any, error: Any) -> Floats:
    """max(0, Gamma - 2 e), rounded down: at least this margin separates the choices in real numbers; +inf stays."""
    gaps = np.asarray(gaps, np.float64)
    lowered = np.nextafter(gaps - 2.0 * np.asarray(error), -np.inf)
    exact = (np.asarray(error) == 0.0) | np.isposinf(gaps)
    return np.maximum(np.where(exact, gaps, lowered), 0.0)


def radius_down(margins: Any, error: Any, rest: Any) -> Floats:
    """(Gamma - 2 e) / (2 (1-lambda)), rounded down; +inf where the margin is, or where ``rest`` = 1 - lambda is 0.

    ``margins`` are lower bounds of the real margins, ``error`` bounds the evaluation under the other scores.
    """
    margins, rest = np.asarray(margins, np.float64), np.asarray(rest, np.float64)
    left = margin_down(margins, error)
    # 1 - lambda is rounded once: the next float above bounds it, and so does the next below of the quotient.
    twice = 2.0 * np.where(rest == 1.0, rest, np.nextafter(rest, np.inf))
    with np.errstate(over="ignore"):
        quotient = left / twice
    lowered = np.where((left == 0.0) | np.isposinf(left) | (rest == 1.0), quotient, np.nextafter(quotient, -np.inf))
    return np.where(rest == 0.0, np.inf, lowered)


def radii(
    margins: Any, diversity: Any, magnitude: Any, *, novelty: float = 0.0, similarity: float = 1.0, similarity_error: float = 0.0
) -> tuple[Floats, Floats]:
    """(margins, radii) of many greedy rounds, both rounded down: (rounds,) each.

    ``margins`` is (rounds,) or (rounds, K), as evaluated (``slate.margins``; the smallest of a row counts). ``diversity`` is
    lambda, one for all or one per round. ``magnitude`` bounds |mu| + eta_tg + alpha sigma over the round's candidates, and
    ``similarity`` and ``similarity_error`` the similarities and their rounding (0 and 0 without a source; 1.000003 and
    1.2e-16 times the dimensions for unit vectors). A radius is the exact l-infinity radius Gamma / (2 (1-lambda)):
    +inf at lambda = 1 or where nothing else could be chosen.

    Scope: stability only.
    """
    gaps = np.asarray(margins, np.float64)
    if gaps.ndim not in (1, 2) or np.isnan(gaps).any():
        raise InvalidInput("margins", "must be numbers, (rounds,) or (rounds, K)", gaps.shape)
    if gaps.ndim == 2:
        gaps = gaps.min(axis=1)
    lam, size = np.asarray(diversity, np.float64), np.asarray(magnitude, np.float64)
    if not ((lam >= 0.0) & (lam <= 1.0)).all():
        raise InvalidInput("diversity", "must lie in [0, 1]", float(lam[~((lam >= 0.0) & (lam <= 1.0))].flat[0]))
    if not (size >= 0.0).all():
        raise InvalidInput("magnitude", "must be at least 0", float(size[~(size >= 0.0)].flat[0]))
    rest = 1.0 - lam
    fixed = OPERATIONS * UNIT * (lam * similarity + novelty) + lam * similarity_error + TINY
    error = OPERATIONS * UNIT * rest * size + fixed
    # The difference of two floats was rounded once: up to u Gamma too large.
    lower = margin_down(gaps, error + UNIT * np.where(np.isinf(gaps), 0.0, np.abs(gaps)))
    moved = error + OPERATIONS * UNIT * np.where(np.isinf(lower), 0.0, lower)
    return lower, radius_down(lower, moved, rest)
