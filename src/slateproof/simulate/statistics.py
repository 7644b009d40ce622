"""Paired statistics, for simulated sessions or anybody's own paired results.

Scope: none; what the numbers mean is said where they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats, finite_scalar

__all__ = ["Interval", "SettingRow", "SignTest", "by_setting", "paired_bootstrap", "sign_test"]

RESAMPLES, SEED, LEVEL = 10_000, 42, 0.95
"""The paper's bootstrap."""

CELLS = 1 << 22
"""Resampled values held at once."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference with a percentile interval; ``pairs`` used, ``dropped`` where a value was missing.

    Scope: none.
    """

    mean: float
    low: float
    high: float
    pairs: int
    dropped: int

    def to_dict(self) -> dict[str, float | int]:
        """By name, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SignTest:
    """Exact two-sided sign test: ``positive`` and ``negative`` differences, ``ties`` left out, and the ``p`` value.

    Exploratory: nothing here corrects for many comparisons.

    Scope: none.
    """

    positive: int
    negative: int
    ties: int
    p: float


@dataclass(frozen=True, slots=True)
class SettingRow:
    """Differences within one response model and profile: mean, standard deviation (n - 1), smallest.

    Scope: none.
    """

    model: str
    profile: str
    sessions: int
    mean: float
    sd: float
    smallest: float


def paired_bootstrap(after: Any, before: Any, *, resamples: int = RESAMPLES, seed: int = SEED, level: float = LEVEL) -> Interval:
    """Mean of ``after - before`` over pairs, with the percentile interval of resampled pairs (numpy's default generator, ``seed``).

    NaN marks a value that is missing; its pair is dropped and counted. Quantiles interpolate linearly between order statistics.
    """
    difference, dropped = _differences(after, before)
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 1:
        raise InvalidInput("resamples", "must be a whole number, at least 1", resamples)
    tail = (1.0 - finite_scalar(level, "level", 0.0, 1.0)) / 2.0
    rng, size = np.random.default_rng(seed), difference.size
    rows = max(1, CELLS // size)
    means = [
        difference[rng.integers(0, size, (min(rows, resamples - first), size))].mean(axis=1) for first in range(0, resamples, rows)
    ]
    low, high = np.quantile(np.concatenate(means), (tail, 1.0 - tail))
    return Interval(float(difference.mean()), float(low), float(high), size, dropped)


def sign_test(after: Any, before: Any) -> SignTest:
    """P(as many signs on the rarer side, or fewer, or as many on the other) under fair signs."""
    difference, _ = _differences(after, before)
    up, down = int((difference > 0.0).sum()), int((difference < 0.0).sum())
    if up + down == 0:
        return SignTest(0, 0, difference.size, 1.0)
    p = min(1.0, 2.0 * float(stats.binom.cdf(min(up, down), up + down, 0.5)))
    return SignTest(up, down, difference.size - up - down, p)


def by_setting(after: Any, before: Any, models: Sequence[str], profiles: Sequence[str]) -> list[SettingRow]:
    """The response-model by profile table of differences, in order of first appearance; NaN pairs are left out."""
    one, two = _columns(after, before)
    difference = one - two
    if len(models) != difference.size or len(profiles) != difference.size:
        raise InvalidInput("models", f"and profiles must have one entry per pair ({difference.size})", (len(models), len(profiles)))
    rows = []
    for model, profile in dict.fromkeys(zip(models, profiles, strict=True)):
        mine = difference[[(m, p) == (model, profile) for m, p in zip(models, profiles, strict=True)]]
        mine = mine[~np.isnan(mine)]
        if mine.size:
            sd = float(mine.std(ddof=1)) if mine.size > 1 else 0.0
            rows.append(SettingRow(model, profile, mine.size, float(mine.mean()), sd, float(mine.min())))
    return rows


def _columns(after: Any, before: Any) -> tuple[Floats, Floats]:
    one, two = (np.asarray(value, np.float64) for value in (after, before))
    if one.ndim != 1 or one.shape != two.shape:
        raise InvalidInput("before", f"must have one value per value of after {one.shape}", two.shape)
    for name, column in (("after", one), ("before", two)):
        if np.isinf(column).any():
            raise InvalidInput(name, "must be finite, or NaN where missing", where=int(np.argmax(np.isinf(column))))
    return one, two


def _differences(after: Any, before: Any) -> tuple[Floats, int]:
    one, two = _columns(after, before)
    difference = one - two
    there = ~np.isnan(difference)
    if not there.any():
        raise InvalidInput("after", "must have at least one pair without a missing value", difference.size)
    return difference[there], int((~there).sum())
