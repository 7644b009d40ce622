"""How likely does a slate change, before any other score is seen: the paper's bound, the union bound, the probability.

Scope: stability only; prospective, and only as true as the assumed noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from slateproof.certify.checks import positive, share_of_noise
from slateproof.certify.frame import Frame, Gaps
from slateproof.certify.kernels import reselect
from slateproof.certify.noise import Estimate, Noise
from slateproof.certify.pairs import Pairs, Union, mean_of
from slateproof.certify.rounding import exp_up, up
from slateproof.certify.sequential import Integral
from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats, Ints

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
    logs = pairs.probabilities(noise)[2]
    if logs.size == 0:
        return Estimate(0.0, 0.0, 0)
    union = float(np.exp(logs).sum())
    if not noise.independent and union < RARE:
        estimate = _until(Union(pairs, noise), points, tolerance, seed)
    else:
        estimate = Integral.of(pairs, noise).estimate(seed, points, tolerance)
    return Estimate(min(estimate, union), estimate.error, estimate.points)


def _until(union: Union, points: int, tolerance: float | None, seed: int) -> Estimate:
    while True:
        estimate = union.probability(np.random.default_rng(seed), points)
        if tolerance is None or estimate.error <= tolerance * estimate or points >= 2**20:
            return estimate
        points *= 2


def set_flip_probability(frame: Frame, pairs: Pairs, noise: Noise, points: int, seed: int) -> Estimate:
    """Pr[the set of chosen items changes, whatever the order]: draws that flip a pair, replayed.

    A set that changes needs a flipped pair, so the union sampler covers the event; where the union bound is above 1 plain draws
    vary less and are used instead.
    """
    logs = pairs.probabilities(noise)[2]
    if logs.size == 0:
        return Estimate(0.0, 0.0, 0)
    rng = np.random.default_rng(seed)
    if float(np.exp(logs).sum()) <= 1.0:
        xi, weights = Union(pairs, noise).draw(rng, points)
    else:
        xi, weights = noise.draw(rng, points), np.ones(points)
    return mean_of(weights * _set_changes(frame, xi), float(weights.max()))


def _set_changes(frame: Frame, xi: Floats) -> Floats:
    """1 where the slate from scores + xi has other items."""
    table, base = frame.similarities(), frame.base(frame.scores)
    reference: Ints = np.sort(frame.chosen)
    chosen, changed = np.empty(reference.size, np.int64), np.zeros(len(xi))
    for t, row in enumerate(xi):
        reselect(base + frame.scale * row, frame.bonus, frame.rank, table, frame.diversity, frame.mean, chosen)
        changed[t] = not np.array_equal(np.sort(chosen), reference)
    return changed


def noise_of(sigma: Any, n: int, anchor_weight: Any) -> Noise:
    """The noise that reaches the blended score w mu0 + (1 - w)(mu0 + xi)."""
    return Noise.of(sigma, n, share_of_noise(anchor_weight))
