"""Exact probability that noise leaves an ordered slate as it is: sequential conditioning and quasi-Monte Carlo.

Given the noise of the K chosen items (and the common factors), the other items are independent, and the slate stays when each
of them stays below its cap: cap_j = min_q (xi_{i_q} + g_qj). A chosen item has such a cap too, from the steps before its own. So

    Pr[unchanged] = E[ prod_p Phi(cap_p / sigma_p)  prod_{j rest} Phi(cap_j / sigma_j) ],

with xi_{i_1}, ..., xi_{i_K} drawn in order, each truncated below its cap. The probability of a change is the mean of
1 - exp(sum of log Phi), which loses nothing where it is small. Where a change is rare, the points are drawn from a mixture that
lowers one chosen item towards the gap it has to lose, and weighed by the likelihood ratio (balance heuristic, so that no weight
exceeds 1 / ``DEFENSIVE``).

Scope: stability only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri, ndtri_exp

from slateproof.certify.net import sobol
from slateproof.certify.noise import Estimate, Noise
from slateproof.certify.pairs import Pairs
from slateproof.types.columns import Floats, Ints

__all__ = ["SHIFTS", "Integral"]

SHIFTS = 16
"""Independent digital shifts of a scrambled Sobol net; their spread is the error estimate."""

BITS = 30

DEFENSIVE = 0.1
"""Share of points drawn from the noise as it is."""

RARE = 0.3
"""Union bound below which points are drawn towards the flips."""

LEFT_OUT = 1e-7
"""Rivals that together carry less than this share of the union bound are left out; their share is added to the error."""

BLOCK = 4096
_OPEN = 2.0**-53


@dataclass(frozen=True, slots=True, eq=False)
class Integral:
    """The K-dimensional integral of one slate, laid out: chosen items first, then the rivals that count.

    ``early[p]`` holds the thresholds g_{q,p}, q < p; ``rest[q, j]`` those of the other rivals; ``lowered`` and ``weights`` the
    mixture: how far component q lowers chosen item q, and its share.
    """

    pairs: Pairs
    noise: Noise
    rivals: Ints
    lowered: Floats
    weights: Floats
    omitted: float

    @classmethod
    def of(cls, pairs: Pairs, noise: Noise) -> Integral:
        """Prepare: which rivals count, and where the flips are."""
        rows, rivals, logs = pairs.probabilities(noise)
        flips = np.exp(logs)
        union, n = flips.sum(), pairs.threshold.shape[1]
        carried = np.bincount(rivals, flips, n)
        carried[pairs.winners] = np.inf
        order = np.argsort(carried, kind="stable")
        small = order[np.cumsum(carried[order]) <= LEFT_OUT * union]
        keep = np.ones(n, bool)
        keep[small] = False
        keep[pairs.winners] = False
        lowered, weights = _mixture(pairs, noise, rows, rivals, logs)
        return cls(pairs, noise, np.flatnonzero(keep), lowered, weights, float(carried[small].sum()))

    def estimate(self, seed: int, points: int, tolerance: float | None) -> Estimate:
        """Mean over the shifts, with standard error; points double until error <= tolerance x probability, up to 2^20."""
        each = max(16, 1 << (max(points, 1) // SHIFTS - 1).bit_length())
        while True:
            means = self._means(np.random.default_rng(seed), each)
            value, error = float(means.mean()), float(means.std(ddof=1) / np.sqrt(SHIFTS)) + self.omitted
            if tolerance is None or error <= tolerance * value or each * SHIFTS >= 2**20:
                return Estimate(min(value, 1.0), error, each * SHIFTS)
            each *= 2

    def _means(self, rng: np.random.Generator, each: int) -> Floats:
        """One mean per random digital shift of the same scrambled net: unbiased and, given the net, independent."""
        dimensions = 1 + self.pairs.winners.size + self.noise.factor.shape[1]
        net = (sobol(dimensions, each, rng, BITS) * 2.0**BITS).astype(np.int64)
        shifts = rng.integers(0, 2**BITS, (SHIFTS, dimensions))
        values = np.empty(SHIFTS * each)
        for start in range(0, values.size, BLOCK):
            row = np.arange(start, min(start + BLOCK, values.size))
            # The digits beyond the net's are filled at random.
            u = ((net[row % each] ^ shifts[row // each]) + rng.random((row.size, dimensions))) * 2.0**-BITS
            values[row] = self._values(np.clip(u, _OPEN, 1.0 - _OPEN))
        means: Floats = values.reshape(SHIFTS, each).mean(axis=1)
        return means

    def _values(self, u: NDArray[np.float64]) -> Floats:
        """(1 - prod Phi) x likelihood ratio at every point; columns of u: component, chosen items, factors."""
        winners, threshold = self.pairs.winners, self.pairs.threshold
        steps, d = winners.size, self.noise.deviations
        common = ndtri(u[:, 1 + steps :]) @ self.noise.factor.T
        component = np.searchsorted(np.cumsum(self.weights), u[:, 0]) - 1
        drawn = np.empty((len(u), steps))
        stay, mixture = np.zeros(len(u)), np.full(len(u), self.weights[0])
        for p, item in enumerate(winners):
            cap = np.full(len(u), np.inf)
            for q in range(p):
                np.minimum(cap, drawn[:, q] + threshold[q, item], out=cap)
            room = _standard(cap - common[:, item], d[item])
            below = log_ndtr(room)
            own, ratio = _draw(np.log(u[:, 1 + p]), room, below, self._shift(p), component == p)
            drawn[:, p] = own * d[item] + common[:, item]
            stay += below
            mixture += self.weights[1 + p] * ratio
        if self.rivals.size:
            caps = drawn[:, :1] + threshold[0, self.rivals]
            for q in range(1, steps):
                np.minimum(caps, drawn[:, q : q + 1] + threshold[q, self.rivals], out=caps)
            stay += log_ndtr(_standard(caps - common[:, self.rivals], d[self.rivals])).sum(axis=1)
        result: Floats = -np.expm1(stay) / mixture
        return result

    def _shift(self, p: int) -> float:
        """Component p's shift of chosen item p, in its standard deviations; 0 where it has no component."""
        return float(self.lowered[p]) if self.weights[1 + p] > 0.0 else 0.0


def _standard(value: NDArray[np.float64], deviation: float | Floats) -> NDArray[np.float64]:
    """value / deviation, where no noise at all means certainly below or certainly not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = value / deviation
    return np.where(np.isnan(ratio), np.inf, ratio)


def _draw(log_u: Floats, room: Floats, below: Floats, shift: float, shifted: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """A standard normal truncated below ``room``, lowered by ``shift`` where ``shifted``; and the density ratio lowered / plain."""
    # Where room is -inf the item has no chance: the point is a change whatever is drawn, and its density integrates to 1.
    lost = np.isneginf(below)
    plain = np.where(lost, 0.0, ndtri_exp(log_u + np.where(lost, 0.0, below)))
    if shift == 0.0:
        return plain, np.zeros_like(plain)
    wider = log_ndtr(room + shift)
    own = np.where(shifted, ndtri_exp(log_u + wider) - shift, plain)
    exponent = -shift * own - 0.5 * shift * shift + np.where(lost, 0.0, below) - wider
    return own, np.where(lost, 1.0, np.exp(np.minimum(exponent, 700.0)))


def _mixture(pairs: Pairs, noise: Noise, rows: Ints, rivals: Ints, logs: Floats) -> tuple[Floats, Floats]:
    """(shift of each chosen item, shares: plain first). The likeliest flip lowers the winner by g d_i / (d_i^2 + d_j^2)."""
    steps = pairs.winners.size
    lowered, weights = np.zeros(steps), np.zeros(1 + steps)
    weights[0] = 1.0
    if logs.size == 0 or not noise.independent or np.exp(logs).sum() >= RARE:
        return lowered, weights
    peak = logs.max()
    for q in range(steps):
        mine = np.flatnonzero(rows == q)
        if mine.size == 0:
            continue
        best = mine[logs[mine].argmax()]
        own, other = noise.deviations[pairs.winners[q]], noise.deviations[rivals[best]]
        lowered[q] = pairs.threshold[q, rivals[best]] * own / (own * own + other * other)
        weights[1 + q] = np.exp(logs[mine] - peak).sum() if lowered[q] > 0.0 else 0.0
    if weights[1:].sum() > 0.0:
        weights[1:] *= (1.0 - DEFENSIVE) / weights[1:].sum()
        weights[0] = DEFENSIVE
    return lowered, weights
