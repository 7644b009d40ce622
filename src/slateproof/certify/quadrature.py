"""Exact probability that noise changes a raw top-K set: a one-dimensional integral, in log space.

With independent xi_i ~ N(0, sigma_i^2) the set T stays the top K when the smallest of s_i + xi_i over T beats all others:

    Pr[flip] = int f_min(m) (1 - prod_{j not in T} Phi((m - s_j) / sigma_j)) dm,

f_min the density of that minimum. The integrand is entire and falls off like a Gaussian, so the trapezoidal rule converges
faster than geometrically: halving the step squares the error at least. It is halved until two results agree to 1e-7, so that the
finer one is exact to rounding. Every factor is kept as a logarithm, and so are sums of factors that leave the range of floats.

Scope: none; arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from slateproof.certify.normal import LOG_ROOT_TWO_PI, log_phi, log_tail

__all__ = ["WIDEST", "log_flip", "log_flips"]

TINY_TAIL = 1e-280
"""Below this a sum of tail probabilities is near the end of the float range; their logarithms are added instead."""

AGREE = 1e-7
"""Relative agreement of two step sizes at which the rule stops: the finer one errs by the square of that at most."""

WIDEST = 1e4
"""Largest sigma over smallest that is integrated: the step follows the smallest, so the number of nodes grows with it."""

APART = 34.0
"""Gaps beyond this many standard deviations: where no deviation is more than ``EVEN`` times another, two pairs together are below
1e-20 of one, so the pair sum is the probability."""

EVEN = 2.0

CERTAIN = 9.0
"""Standard deviations that an outside item must lead by for the set to have changed but for less than 2^-54."""

MOST_NODES = 4_000_000
"""Most nodes of a sweep over a far tail, some seconds; beyond, the pair sum stands in, at most K (n - K) times too large."""


@njit(cache=True, nogil=True)
def log_add(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + math.log1p(math.exp(b - a))


@njit(cache=True, nogil=True)
def log_integrand(m: float, scores: Any, sigma: Any, inside: Any) -> float:
    """log of f_min(m) (1 - prod Phi)."""
    stay = out = hazard = 0.0
    peak = -np.inf
    for i in range(scores.size):
        z = (m - scores[i]) / sigma[i]
        if inside[i]:
            tail = log_tail(z)
            stay += tail
            # The sum of hazards relative to the largest exponent so far: each may be far below the smallest float.
            exponent = -0.5 * z * z - tail
            if exponent > peak:
                hazard = hazard * math.exp(peak - exponent) + 1.0 / sigma[i]
                peak = exponent
            else:
                hazard += math.exp(exponent - peak) / sigma[i]
        else:
            out += log_phi(z)
    return stay + peak - LOG_ROOT_TWO_PI + math.log(hazard) + log_overtaken(m, scores, sigma, inside, out)


@njit(cache=True, nogil=True)
def log_overtaken(m: float, scores: Any, sigma: Any, inside: Any, out: float) -> float:
    """log(1 - e^out), where ``out`` = sum log Phi over the items outside; as the sum of their tails where that underflows."""
    if out < -TINY_TAIL:
        return math.log(-math.expm1(out))
    total = -np.inf
    for j in range(scores.size):
        if not inside[j]:
            total = log_add(total, log_tail((m - scores[j]) / sigma[j]))
    return total


@njit(cache=True, nogil=True)
def log_pairs(scores: Any, sigma: Any, inside: Any) -> float:
    """log of the sum over cross-boundary pairs of Pr[xi_j - xi_i > s_i - s_j]."""
    total = -np.inf
    for i in range(scores.size):
        if inside[i]:
            for j in range(scores.size):
                if not inside[j]:
                    total = log_add(total, log_tail((scores[i] - scores[j]) / math.hypot(sigma[i], sigma[j])))
    return total


@njit(cache=True, nogil=True)
def sum_nodes(scores: Any, sigma: Any, inside: Any, start: float, step: float, stop: float) -> float:
    """log of the sum of the integrand at start, start + step, ... below stop."""
    total = -np.inf
    nodes = int((stop - start) / step) + 1
    for q in range(nodes):
        total = log_add(total, log_integrand(start + q * step, scores, sigma, inside))
    return total


@njit(cache=True, nogil=True)
def far_range(scores: Any, sigma: Any, inside: Any) -> Any:
    """Where the integrand of a far tail stands: around the meeting points of the pairs that count.

    It is at most the sum over pairs of f_i(m) Pr[xi_j > m - s_j], each nearly a Gaussian about the point where i and j most likely
    meet, of a deviation below min(sigma_i, sigma_j).
    """
    best = -np.inf
    for i in range(scores.size):
        for j in range(scores.size):
            if inside[i] and not inside[j]:
                best = max(best, log_tail((scores[i] - scores[j]) / math.hypot(sigma[i], sigma[j])))
    start, stop = np.inf, -np.inf
    for i in range(scores.size):
        for j in range(scores.size):
            if inside[i] and not inside[j]:
                both = math.hypot(sigma[i], sigma[j])
                if log_tail((scores[i] - scores[j]) / both) > best - 60.0:
                    meet = scores[j] + (scores[i] - scores[j]) * (sigma[j] / both) ** 2
                    width = 14.0 * min(sigma[i], sigma[j])
                    start, stop = min(start, meet - width), max(stop, meet + width)
    return start, stop


@njit(cache=True, nogil=True)
def integrate(scores: Any, sigma: Any, inside: Any, start: float, stop: float, step: float) -> float:
    """log of the integral over [start, stop]: a first sweep finds where it counts, then the step is halved until two agree."""
    count = int((stop - start) / step) + 1
    coarse = np.empty(count)
    for q in range(count):
        coarse[q] = log_integrand(start + q * step, scores, sigma, inside)
    # e^-46 of the peak is 1e-20.
    peak, first, last = coarse.max(), count, 0
    total = -np.inf
    for q in range(count):
        if coarse[q] > peak - 46.0:
            first, last = min(first, q), max(last, q)
            total = log_add(total, coarse[q])
    start, stop = start + (first - 1) * step, start + (last + 1.5) * step
    value = total + math.log(step)
    for _ in range(12):
        total = log_add(total, sum_nodes(scores, sigma, inside, start + 0.5 * step, step, stop))
        step *= 0.5
        finer = total + math.log(step)
        if abs(finer - value) < AGREE:
            return min(finer, 0.0)
        value = finer
    return min(value, 0.0)


@njit(cache=True, nogil=True)
def log_flip(scores: Any, sigma: Any, inside: Any) -> float:
    """log Pr[the set ``inside`` is not the top set of scores + noise]; every sigma > 0."""
    low, high, worst, best = np.inf, -np.inf, 0, 0
    widest, narrowest = 0.0, np.inf
    for i in range(scores.size):
        widest, narrowest = max(widest, sigma[i]), min(narrowest, sigma[i])
        if inside[i] and scores[i] < low:
            low, worst = scores[i], i
        elif not inside[i] and scores[i] > high:
            high, best = scores[i], i
    if high == -np.inf or low == np.inf:
        return -np.inf
    if high - low > CERTAIN * math.hypot(sigma[worst], sigma[best]):
        return 0.0
    if low - high <= APART * math.sqrt(2.0) * widest:
        start, stop = min(low, high) - 14.0 * widest, max(low, high) + 14.0 * widest
    elif widest <= EVEN * narrowest:
        return log_pairs(scores, sigma, inside)
    else:
        start, stop = far_range(scores, sigma, inside)
        if stop - start > 0.5 * narrowest * MOST_NODES:
            return log_pairs(scores, sigma, inside)
    return integrate(scores, sigma, inside, start, stop, 0.5 * narrowest)


@njit(cache=True, nogil=True)
def log_flips(scores: Any, sigma: Any, inside: Any, out: Any) -> None:
    """``log_flip`` for every row."""
    for row in range(scores.shape[0]):
        out[row] = log_flip(scores[row], sigma[row], inside[row])
