"""Paired statistics against plain Python and against scipy, and their coverage."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from slateproof.errors import InvalidInput
from slateproof.simulate import by_setting, paired_bootstrap, sign_test


def test_the_interval_is_that_of_resampled_pairs_in_plain_python() -> None:
    """Another generator, loops: the same percentiles up to Monte Carlo error."""
    rng = np.random.default_rng(1)
    before = rng.normal(size=60)
    after = before + rng.normal(0.2, 0.5, size=60)
    found = paired_bootstrap(after, before)
    difference = (after - before).tolist()
    dice = random.Random(7)
    means = sorted(sum(dice.choices(difference, k=60)) / 60 for _ in range(10_000))
    assert found.mean == pytest.approx(sum(difference) / 60, abs=1e-12)
    assert found.low == pytest.approx(means[250], abs=0.01)
    assert found.high == pytest.approx(means[9750], abs=0.01)
    assert (found.pairs, found.dropped) == (60, 0)


def test_the_interval_is_scipy_s_percentile_interval() -> None:
    rng = np.random.default_rng(2)
    difference = rng.exponential(size=80)
    found = paired_bootstrap(difference, np.zeros(80), resamples=20_000)
    other = stats.bootstrap((difference,), np.mean, method="percentile", n_resamples=20_000, rng=5).confidence_interval
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=0.015)


def test_it_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(300):
        found = paired_bootstrap(rng.normal(0.3, 1.0, 100), np.zeros(100), resamples=400)
        hits += found.low <= 0.3 <= found.high
    assert abs(hits / 300 - 0.945) < 4 * math.sqrt(0.05 * 0.95 / 300)


def test_one_seed_one_interval_and_missing_pairs_are_dropped() -> None:
    rng = np.random.default_rng(5)
    after, before = rng.normal(size=(2, 300))
    assert paired_bootstrap(after, before) == paired_bootstrap(after, before)
    assert paired_bootstrap(after, before, seed=1) != paired_bootstrap(after, before)
    holes = after.copy()
    holes[:5] = np.nan
    found = paired_bootstrap(holes, before)
    assert (found.pairs, found.dropped) == (295, 5)
    assert found == paired_bootstrap(after[5:], before[5:]).__class__(**found.to_dict())  # type: ignore[arg-type]
    assert found.mean == pytest.approx(float(np.mean(after[5:] - before[5:])))
    constant = paired_bootstrap([2.0] * 4, [1.0] * 4)
    assert (constant.mean, constant.low, constant.high) == (1.0, 1.0, 1.0)


def test_pairing_matters() -> None:
    """Sessions differ much, the difference little: paired it is found, and permuting one side loses it."""
    rng = np.random.default_rng(6)
    level = rng.normal(0.0, 10.0, 100)
    after = level + 0.5 + rng.normal(0.0, 0.1, 100)
    assert paired_bootstrap(after, level).low > 0.4
    assert paired_bootstrap(rng.permutation(after), level).low < 0.0


@given(st.lists(st.sampled_from([-1.0, 0.0, 2.5]), min_size=1, max_size=40))
def test_the_sign_test_is_exact(values: list[float]) -> None:
    found = sign_test(values, [0.0] * len(values))
    up, down = sum(v > 0 for v in values), sum(v < 0 for v in values)
    n = up + down
    tail = sum(math.comb(n, k) for k in range(min(up, down) + 1)) / 2**n
    assert (found.positive, found.negative, found.ties) == (up, down, len(values) - n)
    assert found.p == pytest.approx(min(1.0, 2.0 * tail), abs=1e-12)
    if n:
        assert found.p == pytest.approx(stats.binomtest(up, n).pvalue, abs=1e-12)


def test_the_table_by_model_and_profile() -> None:
    after, before = [1.0, 3.0, 2.0, np.nan, 9.0], [0.0, 0.0, 0.0, 0.0, 8.0]
    rows = by_setting(after, before, ["irt", "irt", "zpd", "zpd", "mirt"], ["a", "a", "a", "a", "b"])
    assert [(r.model, r.profile, r.sessions, r.mean, r.sd, r.smallest) for r in rows] == [
        ("irt", "a", 2, 2.0, pytest.approx(math.sqrt(2.0)), 1.0),
        ("zpd", "a", 1, 2.0, 0.0, 2.0),
        ("mirt", "b", 1, 1.0, 0.0, 1.0),
    ]


def test_refusals_name_the_side() -> None:
    with pytest.raises(InvalidInput, match=r"before: must have one value per value of after \(2,\)"):
        paired_bootstrap([1.0, 2.0], [1.0])
    with pytest.raises(InvalidInput, match="after: must be finite, or NaN where missing"):
        sign_test([np.inf], [0.0])
    with pytest.raises(InvalidInput, match="after: must have at least one pair without a missing value"):
        paired_bootstrap([np.nan], [0.0])
    with pytest.raises(InvalidInput, match="resamples: must be a whole number"):
        paired_bootstrap([1.0], [0.0], resamples=0)
    with pytest.raises(InvalidInput, match="level"):
        paired_bootstrap([1.0], [0.0], level=1.5)
    with pytest.raises(InvalidInput, match=r"models: and profiles must have one entry per pair \(1\)"):
        by_setting([1.0], [0.0], [], [])
