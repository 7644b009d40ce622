"""Planning: how much anchor, how much noise, how long a slate, for a flip probability one is willing to accept.

``anchor_weight``, ``sigma`` and ``sizes`` plan raw top-K sets with the exact quadrature: one pool gives a number, many an array.
``slate_anchor_weight`` and ``slate_sigma`` plan ordered slates, one or many, with their estimates plus three standard errors.
Rounding goes to the safe side.

Scope: stability only; prospective, and only as true as the assumed noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slateproof.certify import topk
from slateproof.certify.certificate import Certificate
from slateproof.certify.checks import floats, fraction, positive, score_rows, share_of_noise
from slateproof.certify.many import on_threads, stepwise_certificates
from slateproof.certify.pairs import Pairs
from slateproof.certify.prospective import flip_probability, noise_of
from slateproof.errors import InvalidInput
from slateproof.types import Pool, Slate
from slateproof.types.columns import Floats

__all__ = ["anchor_weight", "quantiles", "sigma", "sizes", "slate_anchor_weight", "slate_sigma", "slate_sizes"]

HALVINGS = 48
"""Bisection steps: 2^-48 of the interval."""

SLATE_HALVINGS = 24
POINTS = 4096
LARGEST_SIGMA = 2.0**40
"""Standard deviations beyond this multiple of the scores' spread are called unlimited."""


def anchor_weight(pool: Any, k: int, sigma: float, *, max_flip: float) -> Any:
    """The smallest anchor weight w with Pr[TopK(mu^w) != TopK(mu0)] <= ``max_flip``, rounded up.

    ``pool`` is a ``Pool``, a sequence of pools, or scores (n,) or (pools, n). 1 where no weight below 1 will do (a tie at the
    boundary): there the anchor alone decides.

    Scope: stability only; prospective.
    """
    deviation, target = positive(sigma, "sigma"), fraction(max_flip, "max_flip")

    def plan(scores: Floats) -> float:
        return _smallest_weight(lambda weight: topk.flip_probability(scores, k, deviation, weight) <= target)

    return _each(pool, plan)


def sigma(pool: Any, k: int, *, max_flip: float, anchor_weight: float = 0.0) -> Any:
    """The largest sigma with Pr[TopK(mu^w) != TopK(mu0)] <= ``max_flip``, rounded down; +inf at w = 1 or with nothing outside.

    Scope: stability only; prospective.
    """
    share, target = share_of_noise(anchor_weight), fraction(max_flip, "max_flip")

    def plan(scores: Floats) -> float:
        if share == 0.0 or k == scores.size:
            return float("inf")
        spread = float(np.ptp(scores)) or 1.0
        return _largest_sigma(lambda s: topk.flip_probability(scores, k, s * share) <= target, spread)

    return _each(pool, plan)


def sizes(pool: Any, sigma: float, ks: Sequence[int] | None = None, anchor_weight: float = 0.0) -> list[dict[str, float]]:
    """How the flip probability of the top K depends on K: rows {"k", "gap", "flip"}; medians where many pools are given.

    ``ks`` defaults to 1, ..., n - 1.

    Scope: stability only; prospective.
    """
    tables = [_scores(one) for one in _pools(pool)[0]]
    last = min(len(scores) for scores in tables)
    rows = []
    for k in range(1, last) if ks is None else ks:
        flips = [topk.flip_probability(scores, k, sigma, anchor_weight) for scores in tables]
        gaps = [topk.gap(scores, k) for scores in tables]
        rows.append({"k": float(k), "gap": float(np.median(gaps)), "flip": float(np.median(flips))})
    return rows


def slate_sizes(certificate: Certificate, sigma: Any, anchor_weight: float = 0.0, seed: int = 0) -> list[dict[str, float]]:
    """How Pr[the ordered slate changes] grows with K: rows {"k", "margin", "flip", "error"} for the first 1, ..., K items.

    Greedy slates are nested: the slate of size k under the same levers is the first k items of the longer one.

    Scope: stability only; prospective.
    """
    pairs, noise = certificate.pairs, noise_of(sigma, certificate.slate.pool.size, anchor_weight)
    rows = []
    for k, margin in enumerate(np.minimum.accumulate(certificate.slate.margins).tolist(), 1):
        first = Pairs(pairs.winners[:k], pairs.threshold[:k])
        estimate = flip_probability(first, noise, POINTS, None, seed)
        rows.append({"k": float(k), "margin": margin, "flip": float(estimate), "error": estimate.error})
    return rows


def quantiles(values: Any, at: Any = (0.05, 0.25, 0.5, 0.75, 0.95)) -> dict[float, float]:
    """Quantiles of planned values over a log, by level in [0, 1]; infinities count as the largest values."""
    column, levels = np.sort(floats(values, "values").reshape(-1)), floats(at, "at").reshape(-1)
    if column.size == 0 or np.isnan(column).any():
        raise InvalidInput("values", "must be at least one number, none of them NaN", column.size)
    for level in levels.tolist():
        if not 0.0 <= level <= 1.0:
            raise InvalidInput("at", "must be levels in [0, 1]", level)
    # The order statistic at or above the level: no arithmetic with infinities.
    places = np.maximum(np.ceil(levels * column.size).astype(np.int64) - 1, 0)
    return dict(zip(levels.tolist(), column[places].tolist(), strict=True))


def slate_anchor_weight(slates: Any, sigma: Any, *, max_flip: float, seed: int = 0, threads: int | None = None) -> Any:
    """The smallest anchor weight that keeps Pr[the ordered slate changes] at or below ``max_flip``, estimate plus three errors.

    ``slates`` is a certificate or a slate, which gives a number; or a ``SlateBatch`` or a sequence of them, which gives an array
    (``quantiles`` sums it up: the weight at level .95 keeps 95 % of the slates).

    Scope: stability only; prospective.
    """
    target = fraction(max_flip, "max_flip")

    def plan(certificate: Certificate) -> float:
        def good(weight: float) -> bool:
            estimate = certificate.flip_probability(sigma, anchor_weight=weight, seed=seed)
            return estimate + 3.0 * estimate.error <= target

        return _smallest_weight(good, SLATE_HALVINGS)

    return _each_slate(slates, plan, threads)


def slate_sigma(slates: Any, *, max_flip: float, anchor_weight: float = 0.0, seed: int = 0, threads: int | None = None) -> Any:
    """The largest sigma that keeps Pr[the ordered slate changes] at or below ``max_flip``, estimate plus three errors.

    ``slates`` as in ``slate_anchor_weight``; over many, the sigma at level .05 of ``quantiles`` keeps 95 % of the slates.

    Scope: stability only; prospective.
    """
    target, share = fraction(max_flip, "max_flip"), share_of_noise(anchor_weight)

    def plan(certificate: Certificate) -> float:
        if np.isinf(certificate.radius) or share == 0.0:
            return float("inf")
        if certificate.radius == 0.0:
            return 0.0

        def good(deviation: float) -> bool:
            estimate = certificate.flip_probability(deviation, anchor_weight=anchor_weight, seed=seed)
            return estimate + 3.0 * estimate.error <= target

        return _largest_sigma(good, certificate.radius, SLATE_HALVINGS)

    return _each_slate(slates, plan, threads)


def _each_slate(slates: Any, plan: Callable[[Certificate], float], threads: int | None) -> Any:
    """One number for one slate or certificate, an array for many."""
    if isinstance(slates, (Slate, Certificate)):
        return plan(stepwise_certificates([slates])[0]())
    makers = stepwise_certificates(slates)
    out = np.empty(len(makers))

    def one(place: int) -> None:
        out[place] = plan(makers[place]())

    on_threads(one, len(makers), threads)
    return out


def _smallest_weight(good: Callable[[float], bool], halvings: int = HALVINGS) -> float:
    """The smallest good weight in [0, 1], from above; goodness only grows with the weight, and 1 is good."""
    if good(0.0):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _largest_sigma(good: Callable[[float], bool], unit: float, halvings: int = HALVINGS) -> float:
    """The largest good sigma, from below, searched on a scale that starts at ``unit``; 0 where none is good, inf where all are."""
    high = unit
    while good(high):
        high *= 2.0
        if high > LARGEST_SIGMA * unit:
            return float("inf")
    low = high
    while not good(low):
        low *= 0.5
        if low < unit / LARGEST_SIGMA:
            return 0.0
    high = min(high, 2.0 * low)
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if good(middle) else (low, middle)
    return low


def _each(pool: Any, plan: Callable[[Floats], float]) -> Any:
    pools, single = _pools(pool)
    values = [plan(_scores(one)) for one in pools]
    return values[0] if single else np.array(values)


def _pools(pool: Any) -> tuple[Sequence[Any], bool]:
    """Pools as a sequence, and whether one alone was given."""
    if isinstance(pool, Pool):
        return [pool], True
    if isinstance(pool, (list, tuple)) and pool and all(isinstance(one, Pool) for one in pool):
        return pool, False
    table, single = score_rows(pool)
    return list(table), single


def _scores(pool: Any) -> Floats:
    """Scores in id order, so that ties go to the smallest id."""
    return pool.scores[pool.order] if isinstance(pool, Pool) else pool
