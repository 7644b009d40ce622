"""Flip@K and Jaccard@K of standardised anchor pools under score noise: by simulation, and by quadrature.

Scope: stability only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from slateproof.certify import topk
from slateproof.certify.quadrature import log_flips
from slateproof.types.columns import Floats

__all__ = ["INDEPENDENT", "Family", "Sweep", "scale_of", "sweep"]


@dataclass(frozen=True, slots=True)
class Family:
    """sigma (sqrt(1-rho) e + sqrt(rho) U z), rows of U of unit norm; rank 0 is independent noise.

    Scope: none; an assumption.
    """

    rank: int = 0
    correlation: float = 0.0

    @property
    def name(self) -> str:
        """As the paper's tables call it."""
        return "independent" if self.rank == 0 else f"low-rank r={self.rank}, ρ={self.correlation:.2f}"

    def factor(self, n: int, rng: np.random.Generator) -> Floats:
        """sqrt(rho) U."""
        loadings = rng.standard_normal((n, self.rank))
        return np.asarray(np.sqrt(self.correlation) * loadings / np.linalg.norm(loadings, axis=1, keepdims=True), np.float64)

    def draw(self, factor: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """(draws, n) in units of sigma."""
        noise = rng.standard_normal((draws, factor.shape[0])) * np.sqrt(1.0 - self.correlation)
        return noise + rng.standard_normal((draws, self.rank)) @ factor.T if self.rank else noise


INDEPENDENT = Family()


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Per scale (what reaches the blend, (1-w) sigma): per-pool shares of flips, mean Jaccard, exact flip probability.

    Scope: stability only.
    """

    flip: dict[float, Floats]
    jaccard: dict[float, Floats]
    exact: dict[float, Floats]


def scale_of(sigma: float, weight: float) -> float:
    """(1 - w) sigma, rounded so that equal products are equal keys."""
    return round((1.0 - weight) * sigma, 12)


def sweep(scores: Floats, k: int, family: Family, scales: Sequence[float], draws: int, points: int, seed: int) -> Sweep:
    """All scales with the same draws, so that they compare. ``points``: see ``_exact``."""
    rng = np.random.default_rng(seed)
    pools, n = scores.shape
    inside = np.asarray(topk.top(scores, k))
    flip = {scale: np.empty(pools) for scale in scales}
    jaccard = {scale: np.empty(pools) for scale in scales}
    factors = [family.factor(n, rng) for _ in range(pools)]
    for place in range(pools):
        noise = family.draw(factors[place], draws, rng)
        for scale in scales:
            kept = _kept(scores[place] + scale * noise, inside[place], k)
            flip[scale][place] = float((kept < k).mean())
            jaccard[scale][place] = float((kept / (2.0 * k - kept)).mean())
    exact = {scale: _exact(scores, k, family, factors, scale, points, seed) for scale in scales}
    return Sweep(flip, jaccard, exact)


def _kept(rows: Floats, inside: Floats, k: int) -> Floats:
    """How many of the anchor's top K are in the top K of each row."""
    border = np.partition(rows, rows.shape[1] - k, axis=1)[:, rows.shape[1] - k]
    return np.asarray((rows[:, inside] >= border[:, None]).sum(axis=1), np.float64)


def _exact(scores: Floats, k: int, family: Family, factors: list[Floats], scale: float, points: int, seed: int) -> Floats:
    """Exact for independent noise; else exact given the common factors, averaged over ``points`` Sobol points of them per pool."""
    if family.rank == 0:
        return np.asarray(topk.flip_probability(scores, k, scale), np.float64)
    uniform = qmc.Sobol(family.rank, scramble=True, seed=seed).random(points)
    z = ndtri(np.clip(uniform, 2.0**-53, 1.0 - 2.0**-53))
    rows = np.concatenate([row + scale * (z @ factor.T) for row, factor in zip(scores, factors, strict=True)])
    inside = np.repeat(np.asarray(topk.top(scores, k)), points, axis=0)
    logs = np.empty(len(rows))
    log_flips(rows, np.full(rows.shape, scale * np.sqrt(1.0 - family.correlation)), inside, logs)
    return np.asarray(np.exp(logs).reshape(len(scores), points).mean(axis=1), np.float64)
