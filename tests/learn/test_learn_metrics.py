"""Metrics against scikit-learn, row by row, and the bootstrap against what it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from slateproof.errors import InvalidInput
from slateproof.learn.metrics import auc, auc_by_user, auc_statistic, bootstrap, log_loss, mean, ndcg_by_user

ROWS = st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 5)), min_size=1, max_size=60)


def columns(rows: Any) -> tuple[Any, Any, Any]:
    user, positive, score = (np.array(column) for column in zip(*rows, strict=True))
    return user, positive.astype(bool), score / 7.0


@given(ROWS, st.randoms())
def test_auc_is_scikit_learns_with_ties_and_weights(rows: Any, random: Any) -> None:
    _, y, s = columns(rows)
    w = np.array([random.choice([0.5, 1.0, 3.0]) for _ in rows])
    if y.all() or not y.any():
        with pytest.raises(InvalidInput, match="positive"):
            auc(y, s)
        return
    assert auc(y, s) == pytest.approx(sk.roc_auc_score(y, s), abs=1e-12)
    assert auc(y, s, w) == pytest.approx(sk.roc_auc_score(y, s, sample_weight=w), abs=1e-12)
    assert auc_statistic(y, s)(w) == auc(y, s, w)


@given(ROWS)
def test_auc_by_user_is_scikit_learns_for_each_user(rows: Any) -> None:
    user, y, s = columns(rows)
    users, values = auc_by_user(user, y, s)
    expected = {
        u: sk.roc_auc_score(y[user == u], s[user == u]) for u in np.unique(user) if 0 < y[user == u].sum() < (user == u).sum()
    }
    assert users.tolist() == sorted(expected)
    np.testing.assert_allclose(values, [expected[u] for u in users.tolist()], atol=1e-12)


@given(ROWS, st.integers(1, 8))
def test_ndcg_is_scikit_learns_for_each_user(rows: Any, k: int) -> None:
    user, y, s = columns(rows)
    users, values = ndcg_by_user(user, y, s, k)
    assert users.tolist() == [u for u in np.unique(user).tolist() if y[user == u].any()]
    for u, value in zip(users.tolist(), values, strict=True):
        mine = user == u
        expected = sk.ndcg_score([y[mine]], [s[mine]], k=k) if mine.sum() > 1 else 1.0
        assert value == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.tuples(st.booleans(), st.floats(0.001, 0.999)), min_size=1, max_size=40))
def test_log_loss_is_scikit_learns(rows: Any) -> None:
    y, p = (np.array(column) for column in zip(*rows, strict=True))
    assert log_loss(y, p) == pytest.approx(sk.log_loss(y, p, labels=[False, True]), rel=1e-9)


def test_a_certain_mistake_costs_a_finite_amount() -> None:
    assert log_loss([True], [0.0]) == pytest.approx(-np.log(1e-15))
    assert log_loss([False, True], [0.0, 1.0]) == pytest.approx(0.0, abs=1e-14)
    with pytest.raises(InvalidInput, match="probabilities"):
        log_loss([True], [1.5])


@given(ROWS, st.randoms(use_true_random=False))
def test_row_order_does_not_matter(rows: Any, random: Any) -> None:
    mixed = list(rows)
    random.shuffle(mixed)
    for metric in (auc_by_user, ndcg_by_user):
        one, other = metric(*columns(rows)), metric(*columns(mixed))
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_allclose(one[1], other[1], atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused(bad: float) -> None:
    for call in (lambda: auc([True, False], [0.0, bad]), lambda: ndcg_by_user([0, 0], [True, False], [0.0, bad])):
        with pytest.raises(InvalidInput, match="scores: must be finite"):
            call()
    with pytest.raises(InvalidInput, match="scores"):
        auc([True, False], [0.0])
    with pytest.raises(InvalidInput, match="k"):
        ndcg_by_user([0], [True], [0.0], 0)
    with pytest.raises(InvalidInput, match="values"):
        mean([])


def test_the_bootstrap_draws_users_not_rows() -> None:
    """100 users with 50 equal rows each: the standard error is that of 100 values, seven times that of 5,000."""
    rng = np.random.default_rng(0)
    value = rng.normal(0.0, 1.0, 100)
    user, rows = np.repeat(np.arange(100), 50), np.repeat(value, 50)
    interval = bootstrap(user, lambda w: mean(rows, w), np.random.default_rng(1), resamples=2000)
    half = 1.96 * value.std() / 10.0
    assert interval.value == pytest.approx(value.mean())
    assert interval.high - interval.low == pytest.approx(2.0 * half, rel=0.08)
    again = bootstrap(user, lambda w: mean(rows, w), np.random.default_rng(1), resamples=2000)
    assert again == interval


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        value = rng.normal(0.0, 1.0, 60)
        interval = bootstrap(np.arange(60), lambda w, v=value: mean(v, w), rng, resamples=200, level=0.9)
        hits += interval.low <= 0.0 <= interval.high
    assert 165 <= hits <= 193  # 180 expected; 4.24 is the binomial standard deviation


def test_draws_on_which_a_statistic_is_not_defined_are_left_out() -> None:
    """Of two users one has only successes and one only failures: half of all draws hold one of them twice, and no AUC."""
    user, y, s = np.array([0, 0, 1, 1]), np.array([True, True, False, False]), np.array([0.9, 0.8, 0.7, 0.85])
    interval = bootstrap(user, auc_statistic(y, s), np.random.default_rng(0), resamples=50)
    assert (interval.low, interval.value, interval.high) == (0.75, 0.75, 0.75)
    with pytest.raises(InvalidInput, match="positive"):
        bootstrap(user, auc_statistic(np.ones(4, bool), s), np.random.default_rng(0))
