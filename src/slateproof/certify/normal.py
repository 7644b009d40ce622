"""The normal distribution inside compiled loops.

Scope: none; arithmetic.
"""

from __future__ import annotations

import math

from numba import njit

__all__ = ["log_phi", "log_tail"]

ROOT_HALF = 0.7071067811865475244
LOG_ROOT_TWO_PI = 0.9189385332046727418
FAR = 36.0
"""Beyond, erfc nears the end of the float range and the asymptotic series is exact to rounding."""


@njit(cache=True, nogil=True)
def log_tail(x: float) -> float:
    """log Pr[Z > x] for a standard normal Z, to a few units in the last place over the whole line."""
    if x > FAR:
        t = 1.0 / (x * x)
        series = -t * (1.0 - 3.0 * t * (1.0 - 5.0 * t * (1.0 - 7.0 * t)))
        return -0.5 * x * x - math.log(x) - LOG_ROOT_TWO_PI + math.log1p(series)
    if x > 0.0:
        return math.log(0.5 * math.erfc(x * ROOT_HALF))
    return math.log1p(-0.5 * math.erfc(-x * ROOT_HALF))


@njit(cache=True, nogil=True)
def log_phi(x: float) -> float:
    """log Pr[Z <= x]."""
    return log_tail(-x)
