"""Gaussian score noise: one sigma, one per item, a covariance, or low rank plus diagonal; and an estimate with its error.

Scope: none; a noise model is an assumption of whoever states it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slateproof.certify.checks import covariance, floats, standard_deviations
from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats

__all__ = ["Estimate", "LowRank", "Noise", "split"]


class Estimate(float):
    """A probability that was estimated: a float with ``error``, its standard error (and what was left out), and ``points`` used.

    Scope: stability only.
    """

    error: float
    points: int

    def __new__(cls, probability: float, error: float, points: int) -> Estimate:
        """A float with its error."""
        value = super().__new__(cls, probability)
        value.error = error
        value.points = points
        return value

    @property
    def probability(self) -> float:
        """The estimate as a plain float."""
        return float(self)

    def __repr__(self) -> str:
        return f"Estimate({float(self):.6g} ± {self.error:.2g}, points={self.points})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Estimate, (float(self), self.error, self.points))


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    """Covariance F F^T + diag(v) of the score noise: ``factor`` (n, r), ``diagonal`` n variances, or one for all, at least 0.

    Scope: none; a setting carries no claim.
    """

    factor: Any
    diagonal: Any


def split(matrix: Floats) -> Any:
    """A covariance as standard deviations where it is diagonal, else as its smallest eigenvalue on the diagonal plus a factor."""
    if not (matrix - np.diag(np.diagonal(matrix))).any():
        return np.sqrt(np.diagonal(matrix))
    values, vectors = np.linalg.eigh(matrix)
    least = max(float(values[0]), 0.0)
    rest = np.maximum(values - least, 0.0)
    kept = rest > 1e-12 * values[-1]
    return LowRank(vectors[:, kept] * np.sqrt(rest[kept]), least)


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """xi = F z + d eps with independent standard normal z and eps: ``deviations`` d (n,), ``factor`` F (n, r)."""

    deviations: Floats
    factor: NDArray[np.float64]

    @classmethod
    def of(cls, sigma: Any, n: int, share: float = 1.0) -> Noise:
        """The noise that arrives through a blend with share 1 - w: a number, n numbers, an (n, n) covariance or ``LowRank``."""
        if isinstance(sigma, Noise):
            return cls(sigma.deviations * share, sigma.factor * share)
        if not isinstance(sigma, LowRank) and np.ndim(sigma) == 2:
            return cls.of(split(covariance(sigma, n)), n, share)
        if not isinstance(sigma, LowRank):
            return cls(standard_deviations(sigma, n) * share, np.zeros((n, 0)))
        factor = floats(sigma.factor, "factor")
        if factor.ndim != 2 or factor.shape[0] != n or not np.isfinite(factor).all():
            raise InvalidInput("factor", f"must be finite, one row per candidate ({n})", factor.shape)
        variances = standard_deviations(sigma.diagonal, n, "diagonal")
        return cls(np.sqrt(variances) * share, factor * share)

    @property
    def independent(self) -> bool:
        """Whether the errors of different items are independent."""
        return self.factor.shape[1] == 0

    def pair_deviation(self, i: Any, j: Any) -> Floats:
        """Standard deviation of xi_j - xi_i, for arrays of positions."""
        common = self.factor[j] - self.factor[i]
        spread: Floats = np.sqrt(np.square(self.deviations[i]) + np.square(self.deviations[j]) + np.square(common).sum(axis=-1))
        return spread

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        """``count`` independent draws, (count, n)."""
        n, r = self.factor.shape
        noise = rng.standard_normal((count, n)) * self.deviations
        if r:
            noise += rng.standard_normal((count, r)) @ self.factor.T
        return noise
