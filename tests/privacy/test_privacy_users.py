"""User level: the lemma against exact arithmetic, groups against closed forms, calibration against the ledger."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slateproof import privacy as pv
from slateproof.errors import InvalidInput

DELTA = 1e-5


@given(epsilon=st.floats(1e-9, 3), delta=st.floats(1e-12, 1e-3), cap=st.integers(1, 40))
def test_the_lemma_is_the_geometric_sum(epsilon: float, delta: float, cap: int) -> None:
    growth = Fraction(math.exp(epsilon))
    exact = min(1.0, float(Fraction(delta) * sum(growth**k for k in range(cap))))
    lifted = pv.user_level(epsilon=epsilon, delta=delta, max_rounds_per_user=cap)
    assert lifted.epsilon == cap * epsilon
    assert lifted.delta == pytest.approx(exact, rel=1e-10)
    assert lifted.delta <= min(1.0, cap * math.exp((cap - 1) * epsilon) * delta) * (1 + 1e-10)  # the lemma's own estimate


def test_the_limits_of_the_lemma() -> None:
    for epsilon in (0.0, 5e-324, 1e-310):
        assert pv.user_level(epsilon=epsilon, delta=1e-6, max_rounds_per_user=7).delta == pytest.approx(7e-6, rel=1e-12)
    assert pv.user_level(epsilon=1e4, delta=1e-300, max_rounds_per_user=50).delta == 1.0
    assert pv.user_level(epsilon=1e4, delta=0.0, max_rounds_per_user=50).delta == 0.0
    same = pv.user_level(epsilon=0.7, delta=1e-6, max_rounds_per_user=1)
    assert (same.epsilon, same.delta) == (0.7, 1e-6)


@pytest.mark.parametrize(
    ("kwargs", "field"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": 1e308}, "epsilon"),
        ({"delta": 1.5}, "delta"),
        ({"max_rounds_per_user": 0}, "max_rounds_per_user"),
        ({"max_rounds_per_user": 2.5}, "max_rounds_per_user"),
    ],
)
def test_the_lemma_refuses(kwargs: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        pv.user_level(**{"epsilon": 1.0, "delta": 1e-5, "max_rounds_per_user": 20, **kwargs})
    assert caught.value.field == field


def test_a_group_in_unsampled_releases_is_a_gaussian_with_that_many_sensitivities() -> None:
    ledger, grouped = pv.Ledger(), pv.Ledger()
    ledger.record_gaussian(noise_multiplier=20.0, count=3)
    grouped.record_gaussian(noise_multiplier=4.0, count=3)
    level = pv.user_level_at(ledger, delta=DELTA, max_rounds_per_user=5)
    assert level.epsilon == pytest.approx(grouped.epsilon(DELTA), rel=1e-9)


def test_a_group_in_a_stream_is_charged_as_if_all_of_it_met_in_one_release() -> None:
    stream, worst = pv.Ledger(), pv.Ledger()
    stream.record_streaming(noise_multiplier=8.0, span=(0, 4))
    stream.record_streaming(noise_multiplier=8.0, span=(4, 8))
    worst.record_gaussian(noise_multiplier=2.0)
    assert pv.user_level_at(stream, delta=DELTA, max_rounds_per_user=4).epsilon == pytest.approx(worst.epsilon(DELTA), rel=1e-9)


def test_a_group_in_a_mixed_ledger_is_charged_for_both_kinds_of_release() -> None:
    mixed, plain, sampled = pv.Ledger(), pv.Ledger(), pv.Ledger()
    for ledger in (mixed, plain):
        ledger.record_gaussian(noise_multiplier=8.0)
    for ledger in (mixed, sampled):
        ledger.record_poisson_gaussian(sampling_rate=0.01, noise_multiplier=4.0)

    def group(ledger: pv.Ledger, delta: float) -> float:
        return pv.user_level_at(ledger, delta=delta, max_rounds_per_user=4).epsilon

    assert group(mixed, DELTA) >= max(group(plain, DELTA), group(sampled, DELTA))
    assert group(mixed, DELTA) <= group(plain, DELTA / 2) + group(sampled, DELTA / 2)


def test_a_group_under_sampling_stands_between_one_round_and_the_lemma() -> None:
    ledger = pv.Ledger()
    ledger.record_poisson_gaussian(sampling_rate=0.01, noise_multiplier=3.0, count=20)
    one = pv.user_level_at(ledger, delta=DELTA, max_rounds_per_user=1).epsilon
    four = pv.user_level_at(ledger, delta=DELTA, max_rounds_per_user=4)
    assert one == pytest.approx(ledger.epsilon(DELTA), rel=1e-9)
    # The lemma is valid for every point of the round-level curve; none of them may beat the group's own accounting.
    lemma = [pv.user_level(epsilon=ledger.epsilon(d), delta=d, max_rounds_per_user=4) for d in (2e-6, 1e-6, 1e-7, 1e-8)]
    usable = [lifted.epsilon for lifted in lemma if lifted.delta <= DELTA]
    assert usable
    assert one < four.epsilon < min(usable)
    assert four.delta == DELTA


def test_a_group_at_rate_almost_one_is_almost_unsampled() -> None:
    nearly, plain = pv.Ledger(), pv.Ledger()
    nearly.record_poisson_gaussian(sampling_rate=1 - 1e-12, noise_multiplier=6.0)
    plain.record_gaussian(noise_multiplier=6.0)
    bound = pv.user_level_at(plain, delta=DELTA, max_rounds_per_user=3).epsilon
    assert pv.user_level_at(nearly, delta=DELTA, max_rounds_per_user=3).epsilon == pytest.approx(bound, rel=1e-3)


def test_a_user_ledger_needs_no_lift_and_replace_one_has_no_group() -> None:
    user = pv.Ledger(unit="user")
    user.record_gaussian(noise_multiplier=2.0)
    assert pv.user_level_at(user, delta=DELTA, max_rounds_per_user=9) == pv.UserLevel(user.epsilon(DELTA), DELTA, None)
    with pytest.raises(InvalidInput, match="add-or-remove-one only"):
        pv.user_level_at(pv.Ledger(neighbouring="replace-one"), delta=DELTA, max_rounds_per_user=2)


@pytest.mark.parametrize("ledger", [None, {}, 1.0])
def test_a_group_needs_a_ledger(ledger: object) -> None:
    with pytest.raises(InvalidInput, match="must be a Ledger"):
        pv.user_level_at(ledger, delta=DELTA, max_rounds_per_user=2)  # type: ignore[arg-type]


def test_a_target_that_no_noise_meets_has_no_smallest_noise() -> None:
    """Sampled with rate .01, a release in clear is (0, .01)-DP already."""
    with pytest.raises(InvalidInput, match="without noise") as caught:
        pv.noise_for(epsilon=1.0, delta=0.02, steps=1, sampling_rate=0.01)
    assert caught.value.field == "delta"
    assert pv.noise_for(epsilon=1.0, delta=0.009, steps=1, sampling_rate=0.01) > 0


@pytest.mark.parametrize("epsilon", [1e30, 1e-16])
def test_a_target_beyond_every_noise_is_refused_by_name(epsilon: float) -> None:
    with pytest.raises(InvalidInput, match="noise multiplier") as caught:
        pv.noise_for(epsilon=epsilon, delta=1e-20, steps=1, sampling_rate=None)
    assert caught.value.field == "epsilon"


def test_a_group_of_a_non_private_ledger_has_no_budget() -> None:
    ledger = pv.Ledger()
    ledger.record_non_private("noise off")
    assert pv.user_level_at(ledger, delta=DELTA, max_rounds_per_user=2).epsilon == math.inf


@pytest.mark.parametrize(("steps", "needed"), [(1, (3.73, 1.39, 0.60)), (20, (16.68, 6.22, 2.68))])
def test_check_values_of_calibration(steps: int, needed: tuple[float, ...]) -> None:
    for epsilon, noise in zip((1, 3, 8), needed, strict=True):
        found = pv.noise_for(epsilon=epsilon, delta=DELTA, steps=steps, sampling_rate=None)
        assert found == pytest.approx(noise, rel=0.01)


@pytest.mark.parametrize(("epsilon", "steps", "rate"), [(1.0, 20, 0.02), (0.05, 5, 0.01), (3.0, 7, None), (300.0, 1, None)])
def test_calibrated_noise_is_enough_and_little_less_is_not(epsilon: float, steps: int, rate: float | None) -> None:
    def spent(noise: float) -> float:
        ledger = pv.Ledger()
        if rate is None:
            ledger.record_gaussian(noise_multiplier=noise, count=steps)
        else:
            ledger.record_poisson_gaussian(sampling_rate=rate, noise_multiplier=noise, count=steps)
        return ledger.epsilon(DELTA)

    noise = pv.noise_for(epsilon=epsilon, delta=DELTA, steps=steps, sampling_rate=rate)
    assert spent(noise) <= epsilon < spent(noise / 1.001)


@pytest.mark.parametrize(
    ("kwargs", "field"),
    [({"epsilon": 0.0}, "epsilon"), ({"delta": 0.0}, "delta"), ({"steps": 0}, "steps"), ({"sampling_rate": 0.0}, "sampling_rate")],
)
def test_calibration_refuses(kwargs: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        pv.noise_for(**{"epsilon": 1.0, "delta": DELTA, "steps": 1, "sampling_rate": 0.1, **kwargs})  # type: ignore[arg-type]
    assert caught.value.field == field


@pytest.mark.parametrize(("rate", "noise", "label"), [(0.02, 1.2, 0.3632), (0.015, 2.0, 0.1621), (0.01, 3.0, 0.0718)])
def test_the_label_of_the_paper(rate: float, noise: float, label: float) -> None:
    found = pv.nominal_label(sampling_rate=rate, noise_multiplier=noise, steps=20, delta=DELTA)
    assert found == pytest.approx(label, abs=5e-5)
    assert "**not** a bound" in (pv.nominal_label.__doc__ or "")
