"""A union of half-spaces: a choice changes when some rival overtakes some winner, xi_j - xi_i > g_ij for a pair (i, j).

``Pairs`` holds the thresholds; the union bound and the importance sampler of rare unions (Owen, Maximov and Chertkov, 2019: draw a
pair in proportion to its probability, draw the noise given that this pair flips, weigh by the number of pairs that flip) stand on
it. The sampler's weight never exceeds the union bound, so it is as good at 1e-8 as at .1, for every Gaussian noise. Pairs may come
in two groups that get half of the draws each, so that a rare group is not starved by a frequent one; and a share of the draws may
be plain noise, where the union bound is above 1 and promises nothing.

Scope: stability only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from slateproof.certify.noise import Estimate, Noise
from slateproof.types.columns import Floats, Ints

__all__ = ["Pairs", "Union", "count_flips", "mean_of"]

BLOCK = 4096
"""Points drawn at once: what is held is this many score vectors, whatever number of points is asked for."""


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
def count_flips(noise: Any, winners: Any, threshold: Any, group: Any, out: Any) -> None:
    """out[t, g] = how many pairs with a rival of group g flip under row t of ``noise``."""
    out[:] = 0.0
    for t in range(noise.shape[0]):
        for r in range(winners.size):
            own = noise[t, winners[r]]
            for j in range(threshold.shape[1]):
                if noise[t, j] - own > threshold[r, j]:
                    out[t, group[j]] += 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """The importance sampler over the union of the flips of ``pairs`` under ``noise``.

    ``group`` (n,) puts rivals into group 0 or 1. ``shares`` are those of the draws: plain noise, group 0, group 1. ``scale[g]``
    is share over probability of the pairs of group g: a draw has the density of the noise times (plain + sum over groups of
    scale x pairs that flip), and its weight is one over that.
    """

    pairs: Pairs
    noise: Noise
    group: Ints
    shares: Floats
    scale: Floats
    rows: Ints
    rivals: Ints
    logs: Floats

    @classmethod
    def of(cls, pairs: Pairs, noise: Noise, group: Ints | None = None) -> Union:
        """Shares by probability: half for each group that can flip; a group whose union bound is above 1 is left to plain noise."""
        rows, rivals, logs = pairs.probabilities(noise)
        of = np.zeros(pairs.threshold.shape[1], np.int64) if group is None else group
        total = np.bincount(of[rivals], np.exp(logs), 2)
        shares = np.array([(total > 1.0).any(), 0.0 < total[0] <= 1.0, 0.0 < total[1] <= 1.0], np.float64)
        if total[0] > 1.0:
            shares = np.array([1.0, 0.0, 0.0])
        shares /= max(shares.sum(), 1.0)
        scale = np.divide(shares[1:], total, out=np.zeros(2), where=shares[1:] > 0.0)
        return cls(pairs, noise, of, shares, scale, rows, rivals, logs)

    def blocks(self, rng: np.random.Generator, points: int) -> Iterator[tuple[NDArray[np.float64], Floats, Floats]]:
        """(noise (block, n), weights, flips by group (block, 2)): E[weight 1_A] = Pr[A] for every event A inside the union."""
        # Systematic sampling: each pair gets its share of the points, rounded at random.
        cut = np.cumsum(self._share_of_pairs())
        offset = rng.random()
        for first in range(0, points, BLOCK):
            steps = (np.arange(first, min(first + BLOCK, points)) + offset) / points
            drawn = np.searchsorted(cut, (steps - self.shares[0])[steps >= self.shares[0]])
            xi, which = self._noise(rng, steps.size, np.minimum(drawn, self.logs.size - 1))
            counts = np.empty((steps.size, 2))
            count_flips(xi, self.pairs.winners, self.pairs.threshold, self.group, counts)
            # A pair was made to flip; rounding must not take that back.
            made = np.arange(steps.size - which.size, steps.size)
            counts[made, which] = np.maximum(counts[made, which], 1.0)
            density = self.shares[0] + counts @ self.scale
            yield xi, 1.0 / density, counts

    def _share_of_pairs(self) -> Floats:
        """Share of the draws that each pair gets; the plain ones come first, before all of them."""
        share: Floats = np.exp(self.logs) * self.scale[self.group[self.rivals]]
        return share

    def _noise(self, rng: np.random.Generator, count: int, drawn: Ints) -> tuple[NDArray[np.float64], Ints]:
        """``count`` rows, the last of them conditioned on the ``drawn`` pairs; and the groups of those."""
        winner, rival = self.pairs.winners[self.rows[drawn]], self.rivals[drawn]
        xi = self.noise.draw(rng, count)
        if drawn.size:
            flipped = xi[count - drawn.size :]
            self._make_flip(rng, flipped, winner, rival, self.pairs.threshold[self.rows[drawn], rival])
        return xi, self.group[rival]

    def _make_flip(self, rng: np.random.Generator, xi: Any, winner: Ints, rival: Ints, threshold: Floats) -> None:
        """Condition rows of noise on xi_rival - xi_winner > threshold: the difference from its tail, the rest regressed."""
        noise, every = self.noise, np.arange(len(winner))
        spread = noise.pair_deviation(winner, rival)
        tail = np.log(rng.random(len(winner))) + log_ndtr(-threshold / spread)
        difference = -spread * ndtri_exp(tail)
        missing = (difference - (xi[every, rival] - xi[every, winner])) / np.square(spread)
        if not noise.independent:
            xi += missing[:, None] * ((noise.factor[rival] - noise.factor[winner]) @ noise.factor.T)
        xi[every, rival] += missing * np.square(noise.deviations[rival])
        xi[every, winner] -= missing * np.square(noise.deviations[winner])

    def probability(self, rng: np.random.Generator, points: int) -> Estimate:
        """Pr[some pair flips], with its standard error."""
        values = [weight * (counts.sum(axis=1) > 0.0) for _, weight, counts in self.blocks(rng, points)]
        return mean_of(np.concatenate(values), self.largest_weight)

    @property
    def largest_weight(self) -> float:
        """No draw weighs more."""
        if self.shares[0] > 0.0:
            return float(1.0 / self.shares[0])
        return float(1.0 / self.scale[self.scale > 0.0].min())


def mean_of(values: Floats, largest: float) -> Estimate:
    """Mean and standard error of independent values; the error is at least one ``largest`` value's share of the mean.

    Equal values have no spread, and yet one value in ``len(values)`` that differs would be missed by chance.
    """
    size = len(values)
    return Estimate(float(values.mean()), max(float(values.std(ddof=1)) / size**0.5, largest / size), size)
