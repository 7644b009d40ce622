"""What SCPO refuses, by field, rule, value and place."""

from __future__ import annotations

import numpy as np
import pytest

from slateproof.errors import InvalidInput
from slateproof.select.scpo import choose_set
from slateproof.types import Levers, Pool, Rule

RULE = Rule("window", target_gain=0.0)


def refused(pool, levers, rule=RULE):
    with pytest.raises(InvalidInput) as caught:
        choose_set(pool, rule, levers, 0.5)
    return caught.value


def test_pool_without_targets():
    error = refused(Pool(["a"], [1.0]), Levers(size=1))
    assert error.field == "targets"
    assert "needs a target value" in str(error)


def test_size_above_the_pool():
    error = refused(Pool(["a"], [1.0], [0.5]), Levers(size=2))
    assert (error.field, error.rule, error.value) == ("levers.size", "must be at most the pool's size (1)", 2)


def test_sum_that_could_overflow_names_the_largest_score():
    error = refused(Pool(["a", "b", "c"], [1.0, 1.5e308, 0.5], [0.5] * 3), Levers(size=2))
    assert (error.field, error.rule, error.value, error.where) == ("scores", "the objective must stay finite", 1.5e308, "b")


def test_overflow_between_equals_names_the_smallest_id():
    error = refused(Pool(["c", "b", "a"], [1.5e308, -1.5e308, 1.5e308], [0.5] * 3), Levers(size=2))
    assert error.where == "a"


def test_overflow_outside_the_window_is_no_matter():
    pool = Pool(["a", "b", "c"], [1.0, 1.5e308, 0.5], [0.5, 1.0, 0.5])
    assert sorted(choose_set(pool, RULE, Levers(size=2), 0.5).chosen.tolist()) == [0, 2]


def test_shaped_score_that_overflows_names_the_smallest_id():
    pool = Pool(["c", "b", "a"], [1.7e308, 0.0, 1.7e308], [0.5] * 3, widths=[1e308] * 3)
    error = refused(pool, Levers(exploration=1.0, size=1))
    assert (error.field, error.value, error.where) == ("scores", np.inf, "a")


@pytest.mark.parametrize("diversity", [0.0, 0.5, 0.9, 1.0 - 2.0**-53, 1.0])
@pytest.mark.parametrize("extreme", [np.finfo(np.float64).max, -np.finfo(np.float64).max])
def test_the_largest_similarities_do_not_overflow(diversity, extreme):
    pool = Pool(range(4), [4.4e307] * 4, [0.5] * 4, similarity=np.full((4, 4), extreme))
    choice = choose_set(pool, RULE, Levers(diversity=diversity, size=2), 0.5)
    assert (choice.chosen.tolist(), choice.runner_up.tolist(), choice.proved) == ([0, 1], [0, 2], True)
    assert choice.value == choice.bound == (1.0 - diversity) * 8.8e307 - diversity * extreme
    assert np.isfinite(choice.value)


def test_large_but_finite_scores_are_served():
    pool = Pool(range(4), [1e307, -1e307, 2e307, 0.0], [0.5] * 4)
    choice = choose_set(pool, RULE, Levers(diversity=0.5, size=2), 0.5)
    assert (choice.chosen.tolist(), choice.value) == ([2, 0], 1.5e307)
