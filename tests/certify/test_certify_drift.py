"""Lemma "Selector-side target-value drift": envelope by hand, eta of the running mean, the check over real rounds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from certify_builders import random_pool, random_slate, top_slate
from hypothesis import given
from hypothesis import strategies as st

from slateproof.certify import drift
from slateproof.errors import InvalidInput
from slateproof.select.greedy import GreedySelector
from slateproof.select.scpo import choose_set
from slateproof.types import Levers, Rule, Slate, State


def rounds(kind, seed, count=6, window=0.3):
    """Consecutive rounds of one user whose state follows from answers."""
    rng = np.random.default_rng(seed)
    history, attempts, slates = [], [], []
    for _ in range(count):
        attempts.append(sum(attempted for _, attempted, _ in history))
        pool, state = random_pool(rng, 15), State.from_history(history)
        levers = Levers(float(rng.uniform(0.06, 0.22)), 0.4, 0.3, 3)
        target = min(1.0, max(0.0, state.knowledge + levers.target_shift))
        if kind == "window":
            rule = Rule("window", window=window)
            slate = Slate(pool, levers, state, rule, target, choose_set(pool, rule, levers, target))
        else:
            slate = GreedySelector(window=window).select(pool, levers, state)
        slates.append(slate)
        history.append((slate.ids, bool(rng.random() < 0.8), bool(rng.random() < 0.5)))
    return slates, attempts


def test_lemma_drift_by_hand():
    assert drift.envelope(0.25, 0.125, 0.25, 0.5) == pytest.approx(0.25 + 0.25 + 0.75)
    assert drift.envelope(0.25, 0.125, 0.25) == pytest.approx(0.25 + 0.25 + 0.5)
    assert drift.envelope(0.25, 0.125, 0.25) >= 1.0
    assert drift.realised_envelope(0.5, 0.625, 0.25, 0.5) == pytest.approx(0.875)


def test_eta_by_hand():
    assert drift.running_mean_step(0) == 0.5
    assert [drift.running_mean_step(n) for n in (1, 2, 9)] == pytest.approx([0.5, 1 / 3, 0.1])
    assert Fraction(drift.running_mean_step(9)) >= Fraction(1, 10)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_eta_bounds_every_running_mean(answers):
    history = []
    for n, answer in enumerate(answers):
        before = State.from_history(history).knowledge
        history.append(((n,), True, answer))
        assert abs(State.from_history(history).knowledge - before) <= drift.running_mean_step(n) + 1e-15


@given(n=st.integers(1, 200))
def test_eta_is_attained(n):
    """After n right answers one wrong answer moves the mean by exactly 1/(n+1)."""
    assert 1 - Fraction(n, n + 1) == Fraction(1, n + 1) <= Fraction(drift.running_mean_step(n))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("window", [0.3, 0.01])
def test_scpo_keeps_the_envelope_on_every_pair(seed, window):
    slates, attempts = rounds("window", seed, window=window)
    rows = drift.check(slates, attempts=attempts, max_shift=0.22)
    assert len(rows) == len(slates) - 1
    for row, now, then in zip(rows, slates, slates[1:], strict=False):
        assert row.applies
        assert row.within is True
        assert row.jump <= row.realised <= row.envelope + 1e-12
        assert row.window == now.steps.window >= window
        assert row.envelope == pytest.approx(drift.running_mean_step(attempts[row.round]) + 0.44 + row.window + row.next_window)
        assert row.jump == pytest.approx(abs(then.pool.targets[then.indices].mean() - now.pool.targets[now.indices].mean()))


@pytest.mark.parametrize("seed", range(10))
def test_soft_window_only_on_the_event(seed):
    slates, _ = rounds("greedy", seed, window=0.15)
    rows = drift.check(slates)
    for row, now, then in zip(rows, slates, slates[1:], strict=False):
        kept = all((np.abs(s.pool.targets[s.indices] - s.target) <= 0.15).all() for s in (now, then))
        assert row.applies == kept
        assert row.within is (True if kept else None)
        assert row.envelope is None
        assert row.eta is None


def test_the_event_happens_and_fails_to_happen():
    seen = {row.applies for seed in range(10) for row in drift.check(rounds("greedy", seed, window=0.4)[0])}
    assert seen == {True, False}


def test_accepted_items_only():
    slates, _ = rounds("greedy", 1)
    one = [[slate.ids[0]] for slate in slates]
    rows = drift.check(slates, accepted=one)
    first, second = slates[0], slates[1]
    want = abs(second.pool.targets[second.indices[0]] - first.pool.targets[first.indices[0]])
    assert rows[0].jump == pytest.approx(want)
    assert drift.mean_target(first, first.ids[:2]) == pytest.approx(first.pool.targets[first.indices[:2]].mean())


def leap(slates):
    """The same rounds with one state and lever, and targets at both ends."""
    state = slates[0].state
    return [replace(slate, state=state, levers=slates[0].levers, target=float(t % 2)) for t, slate in enumerate(slates)]


def test_missing_premises_are_refused():
    slates, attempts = rounds("window", 2)
    false_attempts = [n + 50 for n in attempts]
    cases = [
        (lambda: drift.check(slates[:1]), "slates"),
        (lambda: drift.check(slates[0]), "slates"),
        (lambda: drift.check([slates[0], "x"]), "slates"),
        # Knowledge and levers keep their bounds, and yet the target does not follow from them.
        (lambda: drift.check(leap(slates), attempts=[9] * len(slates), max_shift=0.22), "target"),
        (lambda: drift.check(slates, attempts=attempts), "attempts"),
        (lambda: drift.check(slates, max_shift=0.2), "attempts"),
        (lambda: drift.check(slates, attempts=attempts[:2], max_shift=0.22), "attempts"),
        (lambda: drift.check(slates, attempts=attempts, max_shift=0.01), "max_shift"),
        (lambda: drift.check(slates, attempts=false_attempts, max_shift=0.22), "attempts"),
        (lambda: drift.check(slates, accepted=[[]] * len(slates)), "accepted"),
        (lambda: drift.check(slates, accepted=[["nobody"]] * len(slates)), "accepted"),
        (lambda: drift.check([top_slate([1.0, 0.0], 1)] * 2), "slate"),
        (lambda: drift.mean_target(top_slate([1.0, 0.0], 1)), "targets"),
        (lambda: drift.envelope(-0.1, 0.1, 0.1), "eta"),
        (lambda: drift.envelope(0.1, 1.1, 0.1), "max_shift"),
        (lambda: drift.envelope(0.1, 0.1, -0.1), "window"),
        (lambda: drift.envelope(0.1, 0.1, 0.1, math.nan), "next_window"),
        (lambda: drift.realised_envelope(1.5, 0.5, 0.1, 0.1), "target"),
        (lambda: drift.running_mean_step(-1), "attempts"),
    ]
    for call, field in cases:
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.field == field


def test_a_greedy_slate_s_window_is_the_rule_s():
    assert drift.window_of(random_slate(1)) == 0.3
