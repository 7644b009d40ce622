"""AUC, NDCG@K and log loss: pooled or per user, with bootstrap intervals that resample whole users.

Ties are averaged everywhere: a tied pair counts half in AUC, and NDCG takes the mean over all orders of tied items. A metric
therefore never depends on the order of the rows, and a constant score gets what a random order would.

Scope: none; measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats, Ints

__all__ = ["Interval", "auc", "auc_by_user", "auc_statistic", "bootstrap", "log_loss", "mean", "ndcg_by_user"]

Bools = NDArray[np.bool_]

CLIP = 1e-15
"""Probabilities are clipped to [CLIP, 1 - CLIP] before the logarithm, so that one certain mistake costs 34.5, not infinity."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the ends of its percentile interval.

    Scope: none.
    """

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """The same, for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def auc(positive: Any, scores: Any, weights: Any = None) -> float:
    """P(a positive row scores above a negative one) + P(tie)/2, rows weighted by ``weights`` (1 each without).

    Refuses rows without a positive or without a negative: AUC is not defined there.
    """
    y, s = _rows(positive, scores)
    order = np.argsort(s, kind="stable")
    return _sorted_auc(y[order], _ties(s[order]), None if weights is None else np.asarray(weights, np.float64)[order])


def auc_by_user(user: Any, positive: Any, scores: Any) -> tuple[Ints, Floats]:
    """The users with both a positive and a negative row, ascending, and the AUC of each."""
    y, s = _rows(positive, scores)
    users, u = np.unique(np.asarray(user), return_inverse=True)
    order = np.lexsort((s, u))
    y, s, u = y[order], s[order], u[order]
    # Average rank within the user: the mean place of a tie group, counted from the user's first row.
    fresh = np.r_[True, (s[1:] != s[:-1]) | (u[1:] != u[:-1])]
    starts = np.flatnonzero(fresh)
    sizes = np.diff(np.r_[starts, s.size])
    first = np.searchsorted(u, np.arange(users.size))
    rank = np.repeat(starts + (sizes + 1) / 2.0, sizes) - first[u]
    positives = np.bincount(u, weights=y, minlength=users.size)
    negatives = np.bincount(u, minlength=users.size) - positives
    both = (positives > 0) & (negatives > 0)
    wins = np.bincount(u, weights=rank * y, minlength=users.size) - positives * (positives + 1.0) / 2.0
    return users[both], wins[both] / (positives[both] * negatives[both])


def ndcg_by_user(user: Any, positive: Any, scores: Any, k: int = 10) -> tuple[Ints, Floats]:
    """The users with at least one positive row, ascending, and the NDCG@k of each: gain 1, discount 1/log2(place + 1)."""
    if k < 1:
        raise InvalidInput("k", "must be at least 1", k)
    y, s = _rows(positive, scores)
    users, u = np.unique(np.asarray(user), return_inverse=True)
    order = np.lexsort((-s, u))
    y, s, u = y[order], s[order], u[order]
    fresh = np.r_[True, (s[1:] != s[:-1]) | (u[1:] != u[:-1])]
    starts = np.flatnonzero(fresh)
    group = np.cumsum(fresh) - 1
    place = np.arange(s.size) - np.searchsorted(u, np.arange(users.size))[u]
    discount = np.where(place < k, 1.0 / np.log2(place + 2.0), 0.0)
    gain = np.add.reduceat(y, starts) / np.diff(np.r_[starts, s.size])
    dcg = np.bincount(u, weights=gain[group] * discount, minlength=users.size)
    positives = np.bincount(u, weights=y, minlength=users.size).astype(np.int64)
    ideal = np.r_[0.0, np.cumsum(1.0 / np.log2(np.arange(k) + 2.0))][np.minimum(positives, k)]
    some = positives > 0
    return users[some], dcg[some] / ideal[some]


def log_loss(positive: Any, probabilities: Any, weights: Any = None) -> float:
    """Mean of -log P(what happened), in nats; ``probabilities`` of a positive must lie in [0, 1]."""
    y, p = _rows(positive, probabilities)
    if ((p < 0.0) | (p > 1.0)).any():
        raise InvalidInput("probabilities", "must lie in [0, 1]", float(p[(p < 0.0) | (p > 1.0)][0]))
    p = np.clip(p, CLIP, 1.0 - CLIP)
    return mean(-np.where(y > 0.0, np.log(p), np.log1p(-p)), weights)


def mean(values: Any, weights: Any = None) -> float:
    """The (weighted) mean; refuses an empty column."""
    column = np.asarray(values, np.float64)
    if column.size == 0:
        raise InvalidInput("values", "must not be empty")
    return float(column.mean() if weights is None else np.average(column, weights=np.asarray(weights, np.float64)))


def bootstrap(
    user: Any,
    statistic: Callable[[Floats | None], float],
    rng: np.random.Generator,
    *,
    resamples: int = 1000,
    level: float = 0.95,
) -> Interval:
    """Percentile interval of ``statistic`` over resampled users: all rows of a user are drawn together.

    ``statistic`` takes one weight per row (how often the row's user was drawn), or None for the value itself. Draws on which it
    is not defined, such as an AUC where only successes were drawn, are left out.
    """
    if resamples < 1 or not 0.0 < level < 1.0:
        raise InvalidInput("resamples", "must be at least 1, and level strictly between 0 and 1", (resamples, level))
    users, place = np.unique(np.asarray(user), return_inverse=True)
    share = np.full(users.size, 1.0 / users.size)
    value, drawn = statistic(None), []
    for _ in range(resamples):
        weights = rng.multinomial(users.size, share)[place].astype(np.float64)
        try:
            drawn.append(statistic(weights))
        except InvalidInput:
            continue
    low, high = np.quantile(drawn or [value], [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(value, float(low), float(high))


def _rows(positive: Any, scores: Any) -> tuple[Floats, Floats]:
    y, s = np.asarray(positive, np.bool_).astype(np.float64), np.asarray(scores, np.float64)
    if y.ndim != 1 or y.shape != s.shape or y.size == 0:
        raise InvalidInput("scores", f"must be a column, one value per row of positive {y.shape}", s.shape)
    if not np.isfinite(s).all():
        raise InvalidInput("scores", "must be finite", where=int(np.flatnonzero(~np.isfinite(s))[0]))
    return y, s


def _ties(ordered: Floats) -> Ints:
    """Where each group of equal values begins."""
    return np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])


def _sorted_auc(y: Floats, starts: Ints, weights: Floats | None) -> float:
    """AUC of rows in ascending score order: each tie group beats the negatives before it, and half of its own."""
    w = np.ones(y.size) if weights is None else weights
    positive = np.add.reduceat(w * y, starts)
    negative = np.add.reduceat(w * (1.0 - y), starts)
    total = positive.sum() * negative.sum()
    if not total > 0.0:
        raise InvalidInput("positive", "must hold both positive and negative rows")
    before = np.cumsum(negative) - negative
    return float((positive * (before + 0.5 * negative)).sum() / total)


def auc_statistic(positive: Any, scores: Any) -> Callable[[Floats | None], float]:
    """``auc`` of fixed rows as a function of their weights: sorted once, for ``bootstrap``."""
    y, s = _rows(positive, scores)
    order = np.argsort(s, kind="stable")
    y, starts = y[order], _ties(s[order])
    return lambda weights: _sorted_auc(y, starts, None if weights is None else weights[order])
