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
from slateproof.certify.quadrature import log_flips
from slateproof.certify.sequential import SHIFTS
from slateproof.types.columns import Floats

__all__ = ["flip_correlated"]

RARE = 0.2
"""Union bound below which the union sampler varies less than an average over z."""

UNEVEN = 4.0
"""Largest deviation over smallest that is integrated at thousands of points: the cost of one quadrature grows with it."""


def flip_correlated(scores: Floats, inside: Any, noise: Noise, points: int, seed: int) -> Estimate:
    """Pr[the top set is not ``inside``]: Sobol points over the common factors, or the union sampler where a flip is rare.

    Where the deviations are too uneven for the quadrature, the sampler does it all: plain draws where the union bound is above 1.
    """
    members = np.flatnonzero(inside)
    threshold = scores[members, None] - scores[None, :]
    threshold[:, members] = np.inf
    pairs = Pairs(members, threshold)
    union = pairs.union(noise)
    if union == 0.0:
        return Estimate(0.0, 0.0, 0)
    even = noise.deviations.max() <= UNEVEN * noise.deviations.min() and (noise.deviations > 0.0).all()
    if union < RARE or not even:
        found = Union.of(pairs, noise).probability(np.random.default_rng(seed), points)
    else:
        each = max(8, 1 << (points // SHIFTS - 1).bit_length())
        means = [_mean(scores, inside, noise, each, np.random.default_rng(s)) for s in np.random.SeedSequence(seed).spawn(SHIFTS)]
        found = Estimate(float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(SHIFTS)), each * SHIFTS)
    return Estimate(min(1.0, union, found), found.error, found.points)


def _mean(scores: Floats, inside: Any, noise: Noise, count: int, rng: np.random.Generator) -> float:
    u = sobol(noise.factor.shape[1], count, rng)
    z = ndtri(np.clip(u, 2.0**-53, 1.0 - 2.0**-53))
    logs = np.empty(count)
    rows = np.ascontiguousarray(scores + z @ noise.factor.T)
    log_flips(rows, np.tile(noise.deviations, (count, 1)), np.tile(inside, (count, 1)), logs)
    return float(np.exp(logs).mean())
