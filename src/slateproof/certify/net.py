"""Scrambled Sobol points.

Scope: none; arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["sobol"]


def sobol(dimensions: int, count: int, rng: np.random.Generator, bits: int = 30) -> NDArray[np.float64]:
    """``count`` (a power of 2) points of a scrambled Sobol net in [0, 1)^dimensions, of ``bits`` binary digits."""
    # Importing scipy.stats takes most of a second, and only estimates need it.
    from scipy.stats import qmc

    points: NDArray[np.float64] = qmc.Sobol(dimensions, scramble=True, bits=bits, seed=rng).random(count)
    return points
