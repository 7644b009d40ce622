"""A union of half-spaces: a choice changes when some rival overtakes some winner, xi_j - xi_i > g_ij for a pair (i, j).

``Pairs`` holds the thresholds; the union bound and the importance sampler of rare unions (Owen, Maximov and Chertkov, 2019: draw a
pair in proportion to its probability, draw the noise given that this pair flips, weigh by the number of pairs that flip) stand on
it. The sampler's weight never exceeds the union bound, so it is as good at 1e-8 as at .1, for every Gaussian noise.

Scope: stability only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from slateproof.certify.noise import Estimate, Noise
from slateproof.types.columns import Floats, Ints

__all__ = ["Pairs", "Union", "count_flips", "mean_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """``winners`` (m,) and ``threshold`` (m, n): row r flips through j when xi_j - xi_{winners[r]} > threshold[r, j] >= 0.

    +inf where (r, j) is no pair. Thresholds are in units of score.
    """

    winners: Ints
    threshold: NDArray[np.float64]

    def probabilities(self, noise: Noise) -> tuple[Ints, Ints, Floats]:
        """(row, rival, log Pr[pair flips]) of every pair that noise can flip."""
        rows, rivals = np.nonzero(np.isfinite(self.threshold))
        spread = noise.pair_deviation(self.winners[rows], rivals)
        movable = spread > 0.0
        rows, rivals, spread = rows[movable], rivals[movable], spread[movable]
        return rows, rivals, log_ndtr(-self.threshold[rows, rivals] / spread)

    def union(self, noise: Noise) -> float:
        """Sum over pairs of Pr[xi_j - xi_i > g_ij]: bounds the probability that anything flips; may exceed 1."""
        return float(np.exp(self.probabilities(noise)[2]).sum())


@njit(cache=True, nogil=True)
def count_flips(noise: Any, winners: Any, threshold: Any, out: Any) -> None:
    """How many pairs flip under each row of ``noise``; at least 1, since each row was drawn given that one does."""
    for t in range(noise.shape[0]):
        count = 0
        for r in range(winners.size):
            own = noise[t, winners[r]]
            for j in range(threshold.shape[1]):
                if noise[t, j] - own > threshold[r, j]:
                    count += 1
        out[t] = max(count, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """The importance sampler over the union of the flips of ``pairs`` under ``noise``."""

    pairs: Pairs
    noise: Noise

    def draw(self, rng: np.random.Generator, points: int) -> tuple[NDArray[np.float64], Floats]:
        """(noise (points, n), weights): E[weight 1_A] = Pr[A] for every event A inside the union."""
        rows, rivals, logs = self.pairs.probabilities(self.noise)
        peak = logs.max()
        share = np.exp(logs - peak)
        total = share.sum()
        # Systematic sampling: each pair gets its share of the points, rounded at random.
        steps = (np.arange(points) + rng.random()) / points
        drawn = np.minimum(np.searchsorted(np.cumsum(share) / total, steps), logs.size - 1)
        winner, rival = self.pairs.winners[rows[drawn]], rivals[drawn]
        xi = self._given_flip(rng, winner, rival, self.pairs.threshold[rows[drawn], rival])
        counts = np.empty(points)
        count_flips(xi, self.pairs.winners, self.pairs.threshold, counts)
        return xi, total * np.exp(peak) / counts

    def _given_flip(self, rng: np.random.Generator, winner: Ints, rival: Ints, threshold: Floats) -> NDArray[np.float64]:
        """Noise conditioned on xi_rival - xi_winner > threshold, row by row: the difference from its tail, the rest regressed."""
        noise, points = self.noise, len(winner)
        spread = noise.pair_deviation(winner, rival)
        tail = np.log(rng.random(points)) + log_ndtr(-threshold / spread)
        difference = -spread * ndtri_exp(tail)
        xi = noise.draw(rng, points)
        every = np.arange(points)
        missing = (difference - (xi[every, rival] - xi[every, winner])) / np.square(spread)
        if not noise.independent:
            xi += missing[:, None] * ((noise.factor[rival] - noise.factor[winner]) @ noise.factor.T)
        xi[every, rival] += missing * np.square(noise.deviations[rival])
        xi[every, winner] -= missing * np.square(noise.deviations[winner])
        return xi

    def probability(self, rng: np.random.Generator, points: int) -> Estimate:
        """Pr[some pair flips], with its standard error."""
        return mean_of(self.draw(rng, points)[1])


def mean_of(values: Floats, largest: float | None = None) -> Estimate:
    """Mean and standard error of independent values; the error is at least one ``largest`` value's share of the mean.

    Equal values have no spread, and yet one value in ``len(values)`` that differs would be missed by chance.
    """
    size = len(values)
    floor = float(values.max() if largest is None else largest) / size
    return Estimate(float(values.mean()), max(float(values.std(ddof=1)) / size**0.5, floor), size)
