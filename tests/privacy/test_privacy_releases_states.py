"""Learner state by continual counting: factorisations, sensitivity, noise against T, the ledger entry, refusals."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slateproof as sp
from slateproof import privacy as pv
from slateproof.privacy.releases import shrunk_shares

MAKERS = {"tree": pv.Factorisation.tree, "square-root": pv.Factorisation.square_root}


@pytest.mark.parametrize("name", MAKERS)
@given(ticks=st.integers(1, 70))
def test_the_factors_count_prefixes(name: str, ticks: int) -> None:
    made = MAKERS[name](ticks)
    np.testing.assert_allclose(made.decoder @ made.encoder, np.tri(ticks), atol=1e-12)
    assert (made.ticks, made.name) == (ticks, name)


@given(ticks=st.integers(1, 200))
def test_tree_sensitivity_and_error_are_the_textbook_s(ticks: int) -> None:
    tree = pv.Factorisation.tree(ticks)
    assert tree.sensitivity("round") ** 2 == pytest.approx(math.floor(math.log2(ticks)) + 1)
    assert [(row > 0).sum() for row in tree.decoder] == [t.bit_count() for t in range(1, ticks + 1)]


@pytest.mark.parametrize("ticks", [1, 20, 200])
def test_the_square_root_is_that_of_jax_privacy(ticks: int) -> None:
    toeplitz = pytest.importorskip("jax_privacy.matrix_factorization.toeplitz")
    theirs = toeplitz.optimal_max_error_strategy_coefs(ticks)
    ours = pv.Factorisation.square_root(ticks)
    np.testing.assert_allclose(ours.encoder[:, 0], np.asarray(theirs), rtol=1e-5)
    assert ours.sensitivity("round") ** 2 == pytest.approx(float(toeplitz.sensitivity_squared(theirs)), rel=1e-5)


def test_what_was_checked_cannot_be_written_to() -> None:
    decoder, encoder = np.eye(2), np.tri(2)
    made = pv.Factorisation("mine", decoder, encoder)
    encoder[1, 0] = decoder[0, 0] = 9.0
    assert made.sensitivity("round") == pytest.approx(np.sqrt(2.0))
    with pytest.raises(ValueError, match="read-only"):
        made.encoder[0, 0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        made.decoder[0, 0] = 0.0


def test_square_root_coefficients_are_central_binomials() -> None:
    found = pv.Factorisation.square_root(30).encoder[:, 0]
    np.testing.assert_allclose(found, [math.comb(2 * k, k) / 4**k for k in range(30)], rtol=1e-12)


@pytest.mark.parametrize("name", MAKERS)
@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_no_stream_moves_more_than_its_sensitivity(name: str, ticks: int, seed: int) -> None:
    made, rng = MAKERS[name](ticks), np.random.default_rng(seed)
    right = rng.random((ticks, 2)) * rng.integers(0, 2, (ticks, 1))
    right /= np.maximum(1.0, right.sum(axis=1, keepdims=True))  # right + wrong <= 1
    assert np.linalg.norm(made.encoder @ right) <= made.sensitivity("user") * (1 + 1e-12)
    for tick in range(ticks):
        alone = np.zeros_like(right)
        alone[tick] = right[tick]
        assert np.linalg.norm(made.encoder @ alone) <= made.sensitivity("round") * (1 + 1e-12)
    full = np.zeros((ticks, 2))
    full[:, 0] = 1.0
    assert np.linalg.norm(made.encoder @ full) == pytest.approx(made.sensitivity("user"))


def test_the_square_root_has_less_than_half_of_the_tree_s_worst_noise() -> None:
    for ticks in (20, 50, 200, 1_000):
        root, tree = (make(ticks).deviations("round").max() for make in (MAKERS["square-root"], MAKERS["tree"]))
        assert root < 0.5 * tree
        assert root < 1.07 + math.log(ticks) / math.pi  # grows with log T; independent noise per tick grows with √T


def stream(ledger: pv.Ledger, ticks: int = 4, name: str = "square-root", **changed: Any) -> pv.StateStream:
    arguments: dict[str, Any] = {"subjects": 2, "noise_multiplier": 1.0, "rng": np.random.default_rng(0)}
    return pv.StateStream(MAKERS[name](ticks), **{**arguments, **changed}, ledger=ledger)


@pytest.mark.parametrize("name", MAKERS)
def test_measured_noise_is_the_stated_one(name: str) -> None:
    """Noise too small to shrink anything: e-hat · ticks gives the noisy answers back, k-hat · e-hat · ticks the right ones."""
    ticks, subjects, multiplier = 20, 20_000, 0.01
    made = stream(pv.Ledger(), ticks, name, subjects=subjects, noise_multiplier=multiplier)
    rng, expected = np.random.default_rng(1), made.factorisation.deviations("round") * multiplier
    true = np.zeros((2, subjects))
    for tick in range(ticks):
        tried, correct = (rng.random(subjects) < 0.7).astype(float), rng.uniform(0.3, 0.7, subjects)
        true += [tried, tried * correct]
        found = made.advance(tried, correct)
        if tick >= 9:
            answers = found.engagement * (tick + 1)
            inside = (found.engagement < 1.0) & (true[0] > 2)
            for read, raw, stated in (
                (answers, true[0], math.sqrt(2) * expected[tick]),
                (answers * found.knowledge, true[1], expected[tick]),
            ):
                rest = (read - raw)[inside]
                assert rest.std() == pytest.approx(stated, rel=0.03), tick
                assert abs(rest.mean()) < 6 * stated / math.sqrt(subjects) + 1e-3


@pytest.mark.parametrize("name", MAKERS)
def test_tick_by_tick_equals_the_matrix_form_on_the_same_noise(name: str) -> None:
    made, rng = stream(pv.Ledger(), 7, name, subjects=3), np.random.default_rng(0)
    factors, subjects = made.factorisation, 3
    noise = rng.normal(0.0, factors.sensitivity("round"), (factors.encoder.shape[0], 2 * subjects))
    draw = np.random.default_rng(5)
    tried, right = draw.integers(0, 2, (2, 7, subjects))
    counts = np.stack([tried * right, tried * (1 - right)], axis=2).reshape(7, 2 * subjects)
    noisy = (factors.decoder @ (factors.encoder @ counts + noise)).reshape(7, subjects, 2)
    for tick in range(7):
        found = made.advance(tried[tick], right[tick])
        spread = factors.deviations("round")[tick]
        total = noisy[tick].sum(axis=1)
        share = shrunk_shares(total, np.full(subjects, tick + 1.0), math.sqrt(2) * spread, 0.0)
        known = shrunk_shares(noisy[tick][:, 0], total, spread, math.sqrt(2) * spread, share * (tick + 1))
        np.testing.assert_allclose(found.engagement, share, atol=1e-9)
        np.testing.assert_allclose(found.knowledge, known, atol=1e-9)


def test_with_little_noise_it_is_the_state_of_the_history() -> None:
    made = stream(pv.Ledger(), 6, subjects=1, noise_multiplier=1e-9)
    rounds = [((), True, True), ((), False, False), ((), True, False), ((), True, True), ((), False, True)]
    for n, (_, attempted, correct) in enumerate(rounds, start=1):
        found = made.advance([attempted], [correct]).state(0, uncertainty=0.2, shown=("a",))
        raw = sp.State.from_history(rounds[:n])
        assert (found.knowledge, found.engagement) == pytest.approx((raw.knowledge, raw.engagement), abs=1e-6)
        assert (found.uncertainty, found.shown) == (0.2, ("a",))
    assert made.ticks == 5


def test_one_entry_for_the_whole_stream_before_its_first_tick() -> None:
    ledger = pv.Ledger()
    made = stream(ledger, noise_multiplier=pv.noise_for(epsilon=2.0, delta=1e-5, steps=1, sampling_rate=None))
    assert len(ledger) == 1
    assert 1.999 < ledger.epsilon(1e-5) <= 2.0
    for _ in range(4):
        made.advance([1, 0], [1, 0])
    assert len(ledger) == 1
    with pytest.raises(sp.InvalidInput, match="ticks: the stream was recorded for 4 ticks and has had them all"):
        made.advance([1, 0], [1, 0])


def test_the_noise_follows_the_unit_of_the_ledger() -> None:
    by_round, by_user = stream(pv.Ledger(), 20), stream(pv.Ledger(unit="user"), 20)
    assert by_round.noise == pytest.approx(by_round.factorisation.sensitivity("round"))
    assert by_user.noise == pytest.approx(by_user.factorisation.sensitivity("user"))
    assert by_user.noise > math.sqrt(20) * by_round.noise


def test_a_stream_cannot_be_copied() -> None:
    made = stream(pv.Ledger())
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a copy would be a release that no ledger knows"):
            attempt(made)


@pytest.mark.parametrize(
    ("attempted", "correct", "said"),
    [
        ([1, 2], [1, 1], r"attempted: must lie in \[0, 1\] \(got 2.0 at 1\)"),
        ([1, 0.5], [1, 1], r"attempted: must be 0 or 1 \(got 0.5 at 1\)"),
        ([1, 0], [1, float("nan")], r"correct: must lie in \[0, 1\]"),
        ([1], [1, 0], "attempted: must be one column of 2 numbers"),
    ],
)
def test_refused_ticks_do_not_pass(attempted: list[float], correct: list[float], said: str) -> None:
    made = stream(pv.Ledger())
    with pytest.raises(sp.InvalidInput, match=said):
        made.advance(attempted, correct)
    assert made.ticks == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"subjects": 0}, "subjects: must be at least 1"),
        ({"noise_multiplier": 0.0}, "noise_multiplier: must be positive"),
        ({"noise_multiplier": float("nan")}, "noise_multiplier: must be finite"),
        ({"rng": None}, "rng: must be a numpy.random.Generator"),
    ],
)
def test_refused_streams_record_nothing(changed: dict[str, Any], said: str) -> None:
    ledger = pv.Ledger()
    with pytest.raises(sp.InvalidInput, match=said):
        stream(ledger, **changed)
    assert len(ledger) == 0


def test_factors_that_do_not_fit_are_refused() -> None:
    half, ones = 0.5 * np.eye(3), np.tri(3)
    for decoder, encoder, said in (
        (ones, half, "times encoder must be the lower triangle of ones"),  # would halve the sensitivity
        (2 * ones, half[:2], "must be T x m"),
        (np.ones((2, 1)), np.ones((1, 2)), "times encoder must be"),  # at tick 1 it would need tick 2
        (np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([[1.0, -1.0], [0.0, 1.0]]), "must not be negative"),
    ):
        with pytest.raises(sp.InvalidInput, match=said):
            pv.Factorisation("mine", decoder, encoder)
    with pytest.raises(sp.InvalidInput, match="unit: must be one of round, user"):
        pv.Factorisation.tree(4).sensitivity("rounds")
    with pytest.raises(sp.InvalidInput, match="ticks: must be at least 1"):
        pv.Factorisation.tree(0)
    with pytest.raises(sp.InvalidInput, match="factorisation: must be a Factorisation"):
        pv.StateStream("tree", subjects=1, noise_multiplier=1.0, ledger=pv.Ledger(), rng=np.random.default_rng(0))  # type: ignore[arg-type]
