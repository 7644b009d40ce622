"""Raw top-K sets under correlated noise xi = F z + d eps: the exact quadrature given z, averaged over z.

Scope: stability only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from slateproof.certify.net import sobol
from slateproof.certify.noise import Estimate, Noise
from slateproof.certify.pairs import Pairs, Union
from slateproof.certify.quadrature import WIDEST, log_flips
from slateproof.certify.sequential import SHIFTS
from slateproof.types.columns import Floats

__all__ = ["flip_correlated"]

RARE = 0.2
"""Union bound below which the union sampler varies less than an average over z."""


def flip_correlated(scores: Floats, inside: Any, noise: Noise, points: int, seed: int) -> Estimate:
    """Pr[the top set is not ``inside``]: Sobol points over the common factors, or the union sampler where a flip is rare."""
    members = np.flatnonzero(inside)
    threshold = scores[members, None] - scores[None, :]
    threshold[:, members] = np.inf
    pairs = Pairs(members, threshold)
    logs = pairs.probabilities(noise)[2]
    if logs.size == 0:
        return Estimate(0.0, 0.0, 0)
    uneven = noise.deviations.max() > WIDEST * noise.deviations.min()
    if float(np.exp(logs).sum()) < RARE or uneven or not (noise.deviations > 0.0).all():
        return Union(pairs, noise).probability(np.random.default_rng(seed), points)
    each = max(8, 1 << (points // SHIFTS - 1).bit_length())
    means = [_mean(scores, inside, noise, each, np.random.default_rng(s)) for s in np.random.SeedSequence(seed).spawn(SHIFTS)]
    return Estimate(float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(SHIFTS)), each * SHIFTS)


def _mean(scores: Floats, inside: Any, noise: Noise, count: int, rng: np.random.Generator) -> float:
    u = sobol(noise.factor.shape[1], count, rng)
    z = ndtri(np.clip(u, 2.0**-53, 1.0 - 2.0**-53))
    logs = np.empty(count)
    rows = np.ascontiguousarray(scores + z @ noise.factor.T)
    log_flips(rows, np.tile(noise.deviations, (count, 1)), np.tile(inside, (count, 1)), logs)
    return float(np.exp(logs).mean())
