"""Difficulties by the Gaussian mechanism: sensitivity, noise, the ledger entry, and what is refused."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slateproof as sp
from slateproof import privacy as pv
from slateproof.privacy.releases import bounded_counts, shrunk_shares

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4), st.sampled_from([0.0, 0.25, 1.0])), min_size=1, max_size=25
)


def columns(rows: list[tuple[int, int, int, float]]) -> tuple[np.ndarray, ...]:
    kinds = (np.int64, np.int64, np.int64, np.float64)
    return tuple(np.array([row[k] for row in rows], kind) for k, kind in enumerate(kinds))


def plain_counts(rows: list[tuple[int, int, int, float]], clip: float, unit: str) -> np.ndarray:
    """The same table by loops over units."""
    of_unit: dict[Any, np.ndarray] = defaultdict(lambda: np.zeros((5, 2)))
    for user, number, item, correct in rows:
        key = user if unit == "user" else (user, number)
        of_unit[key][item] += (correct, 1.0 - correct)
    return sum((v * min(1.0, clip / math.sqrt((v**2).sum())) for v in of_unit.values()), np.zeros((5, 2)))


@given(ROWS, st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from(["round", "user"]))
def test_counts_are_those_of_a_plain_loop(rows: list[tuple[int, int, int, float]], clip: float, unit: str) -> None:
    found = bounded_counts(*columns(rows), item_count=5, clip=clip, unit=unit)
    np.testing.assert_allclose(found, plain_counts(rows, clip, unit), atol=1e-12)


@given(ROWS, st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from(["round", "user"]), st.integers(0, 24))
def test_a_unit_less_moves_the_table_by_at_most_the_clip(rows: list[Any], clip: float, unit: str, which: int) -> None:
    gone = rows[which % len(rows)]
    size = 1 if unit == "user" else 2
    rest = [row for row in rows if row[:size] != gone[:size]]
    whole = bounded_counts(*columns(rows), item_count=5, clip=clip, unit=unit)
    less = bounded_counts(*columns(rest), item_count=5, clip=clip, unit=unit)
    assert np.linalg.norm(whole - less) <= clip * (1 + 1e-12)


def test_the_bound_is_reached_and_item_level_clipping_would_break_it() -> None:
    """Four items in one round: ‖v‖ = 2. The clip holds for the round, not row by row."""
    rows = [(0, 0, item, 1.0) for item in range(4)]
    assert np.linalg.norm(bounded_counts(*columns(rows), item_count=5, clip=1.0, unit="round")) == pytest.approx(1.0)
    assert np.linalg.norm(bounded_counts(*columns(rows), item_count=5, clip=9.0, unit="round")) == pytest.approx(2.0)
    spread = [(0, n, item, 1.0) for n, item in enumerate(range(4))]
    as_rounds = bounded_counts(*columns(spread), item_count=5, clip=1.0, unit="round")
    as_user = bounded_counts(*columns(spread), item_count=5, clip=1.0, unit="user")
    assert (as_rounds.sum(), np.linalg.norm(as_user)) == (4.0, pytest.approx(1.0))


def release(ledger: pv.Ledger, seed: int = 0, **changed: Any) -> pv.Difficulties:
    arguments: dict[str, Any] = {
        "users": [1, 1, 2],
        "rounds": [1, 2, 1],
        "items": [0, 1, 1],
        "correct": [1.0, 0.0, 1.0],
        "item_count": 2_000,
        "clip": 2.0,
        "noise_multiplier": 1.5,
        "rng": np.random.default_rng(seed),
    }
    return pv.release_difficulties(**{**arguments, **changed}, ledger=ledger)


def test_noise_has_the_stated_size_everywhere() -> None:
    """8,000 counts: the variance of a Gaussian is estimated to 5 standard errors; columns are independent."""
    found = [release(pv.Ledger(), seed) for seed in (1, 2)]
    noise = np.stack([part for one in found for part in (one.right, one.wrong)])
    noise[:, :2] -= np.array([[1, 1], [0, 1]] * 2)
    assert found[0].noise == 3.0
    assert noise.var() == pytest.approx(9.0, abs=5 * 9.0 * math.sqrt(2 / noise.size))
    assert abs(noise.mean()) < 5 * 3.0 / math.sqrt(noise.size)
    assert np.abs(np.corrcoef(noise) - np.eye(4)).max() < 5 / math.sqrt(2_000)


def test_the_entry_is_the_gaussian_that_ran() -> None:
    ledger = pv.Ledger()
    release(ledger)
    assert [str(one) for one in ledger.releases] == ["1 × Gaussian (noise multiplier 1.5)"]
    noise = pv.noise_for(epsilon=1.0, delta=1e-5, steps=1, sampling_rate=None)
    calibrated = pv.Ledger(unit="user")
    one = release(calibrated, noise_multiplier=noise)
    assert 0.999 < calibrated.epsilon(1e-5) <= 1.0
    assert (one.unit, one.noise) == ("user", 2.0 * noise)


def test_an_attack_on_neighbouring_data_stays_below_the_ledger() -> None:
    """The best test for one round more or less, by Neyman-Pearson: its advantage must not exceed what (ε, δ) allows."""
    with_round, trials = {"users": [1, 2], "rounds": [1, 1], "items": [0, 1], "correct": [1.0, 1.0]}, 4_000
    without = {name: column[:1] for name, column in with_round.items()}
    scores = []
    rng = np.random.default_rng(3)
    for data in (with_round, without):
        runs = (release(pv.Ledger(), item_count=2, clip=1.0, noise_multiplier=1.0, rng=rng, **data) for _ in range(trials))
        scores.append(np.array([one.right[1] for one in runs]))
    ledger = pv.Ledger()
    ledger.record_gaussian(noise_multiplier=1.0)
    seen = [((scores[0] > cut).mean(), (scores[1] > cut).mean()) for cut in np.linspace(-1.0, 2.0, 13)]
    slack = 4 * math.sqrt(0.25 / trials)
    for epsilon in (0.0, 0.5, 1.0):
        # The delta that belongs to epsilon, by bisection on the ledger's curve.
        low, high = 1e-9, 1 - 1e-9
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if ledger.epsilon(middle) > epsilon else (low, middle)
        gaps = [hit - math.exp(epsilon) * false for hit, false in seen]
        assert max(gaps) <= high + slack * (1 + math.exp(epsilon))
        assert epsilon > 0.0 or max(gaps) >= high - slack * 2  # and the attack is not a blunt one


def test_values_follow_the_counts() -> None:
    n = 4_000
    found = release(
        pv.Ledger(),
        users=np.arange(n),
        rounds=np.zeros(n, int),
        items=np.zeros(n, int),
        correct=np.arange(n) % 4 == 0,
        item_count=3,
    )
    assert found.values[0] == pytest.approx(0.75, abs=0.01)
    assert np.all((found.values >= 0) & (found.values <= 1))
    assert found.attempts.min() >= 0
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 0.0


def test_shares_are_plain_without_noise_and_the_overall_one_without_data() -> None:
    part, total = np.array([3.0, 1.0, 0.0]), np.array([4.0, 6.0, 0.0])
    assert shrunk_shares(part, total, 0.0, 0.0).tolist() == pytest.approx([0.75, 1 / 6, 0.4])
    far = shrunk_shares(np.array([90.0, -90.0, 30.0]), np.full(3, 10.0), 0.1, 0.0)
    assert far.min() == 0.0
    assert far.max() == 1.0
    assert shrunk_shares(np.array([-5.0]), np.array([-9.0]), 1.0, 1.0).tolist() == [0.5]  # the noise left no data at all


@pytest.mark.parametrize("noise", [1.0, 4.0, 15.0])
def test_shares_are_nearly_as_good_as_if_the_population_were_known(noise: float) -> None:
    """Linear Bayes with the true mean .6 and variance .01 has the error V v/(n² V + v); both kinds of total."""
    rng, rows, n, between = np.random.default_rng(4), 20_000, 20.0, 0.01
    share = np.clip(rng.normal(0.6, 0.1, rows), 0.0, 1.0)
    exact = shrunk_shares(n * share + rng.normal(0, noise, rows), np.full(rows, n), noise, 0.0)
    right, wrong = (n * one + rng.normal(0, noise, rows) for one in (share, 1 - share))
    counted = shrunk_shares(right, right + wrong, noise, math.sqrt(2) * noise, size=np.full(rows, n))
    for found, variance in ((exact, noise**2), (counted, noise**2 * (0.6**2 + 0.4**2))):
        oracle = between * variance / (n**2 * between + variance)
        assert 0.95 * oracle < ((found - share) ** 2).mean() < 1.05 * oracle + 1e-5


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"correct": [1.0, 0.0, 1.1]}, r"correct: must lie in \[0, 1\] \(got 1.1 at 2\)"),
        ({"correct": [1.0, float("nan"), 1.0]}, r"correct: must lie in \[0, 1\] \(got nan at 1\)"),
        ({"correct": [1.0, 0.0]}, "correct: must be one column of 3 numbers"),
        ({"correct": ["a", "b", "c"]}, "correct: must be a column of numbers"),
        ({"items": [0, 1, 2_000]}, r"items: must lie in \[0, 1999\] \(got 2000 at 2\)"),
        ({"items": [0, 1, 1.5]}, "items: must be one column of 3 integers"),
        ({"rounds": [1, 2]}, r"rounds: must have one id per row \(3\) \(got 2\)"),
        ({"users": [0.5, 1.5, 2.5]}, "users: must be one column of integers or of strings"),
        ({"item_count": 0}, "item_count: must be at least 1"),
        ({"clip": 0.0}, "clip: must be positive"),
        ({"clip": float("inf")}, "clip: must be finite"),
        ({"noise_multiplier": 0.0}, "noise_multiplier: must be positive"),
        ({"rng": 42}, "rng: must be a numpy.random.Generator"),
    ],
)
def test_refusals_release_and_record_nothing(changed: dict[str, Any], said: str) -> None:
    ledger = pv.Ledger()
    with pytest.raises(sp.InvalidInput, match=said):
        release(ledger, **changed)
    assert len(ledger) == 0


def test_no_release_without_a_ledger() -> None:
    with pytest.raises(sp.InvalidInput, match="ledger: must be the Ledger that records the release"):
        release(None)  # type: ignore[arg-type]
