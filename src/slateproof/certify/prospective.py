"""How likely does a slate change, before any other score is seen: the paper's bound, the union bound, the probability.

Scope: stability only; prospective, and only as true as the assumed noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from slateproof.certify.checks import positive, share_of_noise
from slateproof.certify.frame import Frame, Gaps
from slateproof.certify.kernels import set_changes
from slateproof.certify.noise import Estimate, Noise
from slateproof.certify.pairs import Pairs, Union, mean_of
from slateproof.certify.rounding import exp_up, up
from slateproof.certify.sequential import Integral
from slateproof.errors import InvalidInput

__all__ = ["check_sampling", "flip_probability", "noise_of", "pairs_of", "set_flip_probability", "subgaussian_bound"]

RARE = 0.2
"""Union bound below which correlated noise is sampled by the union sampler instead of the integral."""


def subgaussian_bound(candidates: int, radius: float, sigma: float, share: float = 1.0) -> float:
    """Corollary "Sub-Gaussian greedy-slate stability": 2 |C| exp(-r^2 / (2 sigma^2)), r = Gamma / (2 (1-lambda)), rounded up.

    ``share`` = 1 - w is how much of the error a blend with the anchor lets through; 0 where none arrives.
    """
    deviation = positive(sigma, "sigma")
    if math.isinf(radius) or share == 0.0:
        return 0.0
    ratio = radius / (deviation if share == 1.0 else up(deviation * share))
    return float(2.0 * candidates * exp_up(-0.5 * ratio * ratio))


def pairs_of(frame: Frame, gaps: Gaps) -> Pairs:
    """The slate's stepwise gaps in units of score: gap_{qj} / (1-lambda); no pairs at lambda = 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        threshold = gaps.gap / frame.scale if frame.scale > 0.0 else np.full_like(gaps.gap, np.inf)
    return Pairs(frame.chosen, threshold)


def check_sampling(points: Any, tolerance: Any, seed: Any) -> tuple[int, float | None, int]:
    """points >= 16, tolerance None or above 0, seed a whole number."""
    for name, value, low in (("points", points, 16), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
            raise InvalidInput(name, f"must be a whole number, at least {low}", value)
    return int(points), None if tolerance is None else positive(tolerance, "tolerance"), int(seed)


def flip_probability(pairs: Pairs, noise: Noise, points: int, tolerance: float | None, seed: int) -> Estimate:
    """Pr[some pair flips]. Correlated noise and a rare change: the union sampler; everything else: the integral.

    An estimate above the union bound, which its error allows, is lowered to it.
    """
    union = pairs.union(noise)
    if union == 0.0:
        return Estimate(0.0, 0.0, 0)
    if not noise.independent and union < RARE:
        sampler = Union.of(pairs, noise)
        estimate = _until(lambda count: sampler.probability(np.random.default_rng(seed), count), points, tolerance)
    else:
        estimate = Integral.of(pairs, noise).estimate(seed, points, tolerance)
    return Estimate(min(estimate, union), estimate.error, estimate.points)


def _until(estimate: Callable[[int], Estimate], points: int, tolerance: float | None) -> Estimate:
    """Estimates with points doubled until error <= tolerance x probability, or 2^20 are spent."""
    while True:
        found = estimate(points)
        if tolerance is None or found.error <= tolerance * found or points >= 2**20:
            return found
        points *= 2


def set_flip_probability(frame: Frame, pairs: Pairs, noise: Noise, points: int, tolerance: float | None, seed: int) -> Estimate:
    """Pr[the set of chosen items changes, whatever the order]: draws that flip a pair, replayed.

    A set that changes needs a flipped pair, so the union sampler covers the event. Half of the draws flip a pair whose rival is
    outside the slate: order swaps inside it, often much likelier, seldom change the set and would leave nothing for the rest.
    Without similarities the objective of an item is the same at every step, and only pairs with a rival outside count.
    """
    within = np.zeros(pairs.threshold.shape[1], np.int64)
    within[frame.chosen] = 1
    if not frame.similar:
        pairs = Pairs(pairs.winners, np.where(within == 1, np.inf, pairs.threshold))
    union = pairs.union(noise)
    if union == 0.0:
        return Estimate(0.0, 0.0, 0)
    sampler, table, base = Union.of(pairs, noise, within), frame.similarities(), frame.base(frame.scores)

    def estimate(count: int) -> Estimate:
        values = []
        for xi, weights, _ in sampler.blocks(np.random.default_rng(seed), count):
            changed = np.empty(len(xi))
            set_changes(
                base, frame.scale * xi, frame.bonus, frame.rank, table, frame.diversity, frame.mean, frame.chosen, within, changed
            )
            values.append(weights * changed)
        return mean_of(np.concatenate(values), sampler.largest_weight)

    found = _until(estimate, points, tolerance)
    return Estimate(min(found, union, 1.0), found.error, found.points)


def noise_of(sigma: Any, n: int, anchor_weight: Any) -> Noise:
    """The noise that reaches the blended score w mu0 + (1 - w)(mu0 + xi)."""
    return Noise.of(sigma, n, share_of_noise(anchor_weight))
