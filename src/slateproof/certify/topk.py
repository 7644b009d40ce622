"""Raw top-K rankings under score noise: the paper's bounds, and the probability they bound.

The blended score is mu^w = w mu0 + (1 - w)(mu0 + xi). Everything here is about the top-K *set* of mu^w against that of mu0.
Scores are one pool ``(n,)`` or many ``(pools, n)``; ties in mu0 go to the earlier position (pass scores in id order).

Scope: stability only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from slateproof.certify.checks import covariance, floats, positive, score_rows, share_of_noise, slate_size, standard_deviations
from slateproof.certify.correlated import flip_correlated
from slateproof.certify.noise import LowRank, Noise, split
from slateproof.certify.prospective import check_sampling
from slateproof.certify.quadrature import WIDEST, log_flips
from slateproof.certify.rounding import exp_up, minus_down
from slateproof.errors import InvalidInput
from slateproof.types.columns import finite_scalar

__all__ = ["biased_gap", "flip_bound", "flip_probability", "gap", "log_flip_probability", "top"]


def top(scores: Any, k: int) -> Any:
    """Which candidates are the top K of each pool, as booleans of the shape of ``scores``; ties to the earlier position."""
    table, single = score_rows(scores)
    size = slate_size(k, table.shape[1])
    order = np.argsort(-table, axis=1, kind="stable")[:, :size]
    inside = np.zeros(table.shape, bool)
    np.put_along_axis(inside, order, True, axis=1)
    return inside[0] if single else inside


def gap(scores: Any, k: int) -> Any:
    """gamma = min over i in TopK, j outside of mu0(i) - mu0(j) (Corollary "Raw top-K score-ranking stability"), rounded down.

    +inf where the pool has no more than K candidates. A float for one pool, an array for many.

    Scope: stability only.
    """
    table, single = score_rows(scores)
    size, n = slate_size(k, table.shape[1]), table.shape[1]
    if size == n:
        gaps = np.full(len(table), np.inf)
    else:
        ordered = np.partition(table, (n - size - 1, n - size), axis=1)
        gaps = minus_down(ordered[:, n - size], ordered[:, n - size - 1])
    return float(gaps[0]) if single else gaps


def biased_gap(gamma: Any, bias: float) -> Any:
    """gamma_beta = (gamma - 2 beta)_+ for an anchor with ||mu0 - mu*||_inf <= beta (Corollary "Biased anchor"), rounded down."""
    beta, gaps = finite_scalar(bias, "bias", 0.0), floats(gamma, "gap")
    if not (gaps >= 0.0).all():
        raise InvalidInput("gap", "must be at least 0", float(gaps[~(gaps >= 0.0)].flat[0]))
    left = np.maximum(minus_down(gaps, 2.0 * beta), 0.0)
    return float(left) if gaps.ndim == 0 else left


def flip_bound(
    gamma: Any, k: int, n: int, *, sigma: float | None = None, tau: float | None = None, anchor_weight: float = 0.0,
    bias: float = 0.0,
) -> Any:  # fmt: skip
    """Corollaries "Raw top-K score-ranking stability" and "Biased anchor": a bound on Pr[TopK(mu^w) != TopK(mu0)].

    K (|C| - K) exp(-gamma^2 / (2 (1-w)^2 tau^2)), rounded up and else as it is (above 1 it says nothing). ``gamma`` is
    ``gap(scores, k)``, a number or an array. Exactly one noise scale: pairwise ``tau``, with
    Pr[xi_j - xi_i >= u] <= exp(-u^2 / (2 tau^2)), or coordinate ``sigma`` of independent zero-mean sub-Gaussian errors, for which
    tau^2 = 2 sigma^2. At w = 1 the bound is 0. ``bias`` is beta.
    Refused: gamma <= 0, because the corollary assumes a positive gap.

    Scope: stability only; prospective, and only as true as the assumed noise scale.
    """
    size = slate_size(k, n)
    if (sigma is None) == (tau is None):
        raise InvalidInput("sigma", "give exactly one noise scale: sigma (per item) or tau (per pair)", (sigma, tau))
    pairwise = positive(tau, "tau") if sigma is None else float(np.sqrt(2.0)) * positive(sigma, "sigma")
    gaps = floats(gamma, "gap")
    if not (gaps > 0.0).all():
        raise InvalidInput("gap", "the corollary assumes a positive gap", float(gaps[~(gaps > 0.0)].flat[0]))
    share = share_of_noise(anchor_weight)
    usable = biased_gap(gaps, bias)
    if share == 0.0 or size == n:
        bound = np.zeros_like(gaps)
    else:
        bound = size * (n - size) * exp_up(-0.5 * np.square(usable / (share * pairwise)))
    return float(bound) if bound.ndim == 0 else bound


def log_flip_probability(scores: Any, k: int, sigma: Any, anchor_weight: float = 0.0) -> Any:
    """log Pr[TopK(mu^w) != TopK(mu0)] for independent xi_i ~ N(0, sigma_i^2): the way to say 1e-400.

    Same contract as ``flip_probability``; -inf where no noise arrives (w = 1, sigma = 0, or no candidate outside).
    """
    table, single = score_rows(scores)
    pools, n = table.shape
    inside = top(table, k)
    deviations = standard_deviations(sigma, n) * share_of_noise(anchor_weight)
    result = np.full(pools, -np.inf)
    if (deviations > 0.0).all():
        if deviations.max() > WIDEST * deviations.min():
            rule = f"must not differ by more than a factor of {WIDEST:g} in a quadrature; as LowRank noise it is sampled"
            raise InvalidInput("sigma", rule, (float(deviations.min()), float(deviations.max())))
        log_flips(table, np.broadcast_to(deviations, table.shape).copy(), inside, result)
    elif deviations.any():
        raise InvalidInput(
            "sigma", "must be above 0 for every candidate, or 0 for all; as LowRank noise some may be 0", float(deviations.min())
        )
    return float(result[0]) if single else result


def flip_probability(scores: Any, k: int, sigma: Any, anchor_weight: float = 0.0, *, points: int = 4096, seed: int = 0) -> Any:
    """Pr[TopK(mu^w) != TopK(mu0)] under Gaussian noise: the quantity that Corollary "Raw top-K score-ranking stability" bounds.

    ``sigma`` is one number or one per candidate (above 0 for all and within a factor of 1e4, or 0 for all): independent errors,
    one-dimensional quadrature, relative error below 1e-10. A float for one pool, an array for many. With ``LowRank`` noise or an
    (n, n) covariance that is not diagonal: an ``Estimate`` with its error for one pool (``points`` and ``seed`` count only there),
    an array of them as floats for many.

    Scope: stability only; prospective, and only as true as the assumed noise.
    """
    count, _, start = check_sampling(points, None, seed)
    if np.ndim(sigma) == 2:
        sigma = split(covariance(sigma, np.shape(scores)[-1]))
    if isinstance(sigma, LowRank):
        return _correlated(scores, k, sigma, anchor_weight, count, start)
    logs = log_flip_probability(scores, k, sigma, anchor_weight)
    return math.exp(logs) if np.ndim(logs) == 0 else np.exp(logs)


def _correlated(scores: Any, k: int, sigma: LowRank, anchor_weight: float, points: int, seed: int) -> Any:
    table, single = score_rows(scores)
    inside, noise = top(table, k), Noise.of(sigma, table.shape[1], share_of_noise(anchor_weight))
    estimates = [flip_correlated(row, which, noise, points, seed) for row, which in zip(table, inside, strict=True)]
    return estimates[0] if single else np.array(estimates, np.float64)
