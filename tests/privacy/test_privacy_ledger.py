"""The ledger against closed forms, quadrature, the published check values, and its own refusals."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from slateproof import privacy as pv
from slateproof.errors import InvalidInput, SlateproofWarning

DELTA = 1e-5
TIERS = [(0.020, 1.2), (0.015, 2.0), (0.010, 3.0)]


def gaussian_epsilon(mu: float, delta: float = DELTA) -> float:
    """Independent oracle: Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2) = δ, the exact curve of a Gaussian with sensitivity/noise = μ."""

    def excess(epsilon: float) -> float:
        return norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon + norm.logcdf(-epsilon / mu - mu / 2)) - delta

    return float(brentq(excess, 0.0, mu**2 / 2 + 40 * mu, xtol=1e-12)) if excess(0.0) > 0 else 0.0


def sampled_delta(epsilon: float, rate: float, noise: float) -> float:
    """Independent oracle: hockey-stick divergences of N(0, s²) and its mixture, by brute quadrature; the larger direction."""
    x = np.linspace(-12 * noise, 1 + 12 * noise, 400_001)
    base = norm.pdf(x, 0, noise)
    mixed = (1 - rate) * base + rate * norm.pdf(x, 1, noise)
    both = (np.maximum(mixed - math.exp(epsilon) * base, 0), np.maximum(base - math.exp(epsilon) * mixed, 0))
    return float(max(np.trapezoid(one, x) for one in both))


def poisson(rate: float, noise: float, count: int, **kwargs: object) -> pv.Ledger:
    ledger = pv.Ledger(**kwargs)  # type: ignore[arg-type]
    ledger.record_poisson_gaussian(sampling_rate=rate, noise_multiplier=noise, count=count)
    return ledger


@pytest.mark.parametrize(("tier", "pld", "rdp"), list(zip(TIERS, (0.530, 0.139, 0.0496), (0.909, 0.247, 0.111), strict=True)))
def test_check_values_at_twenty_updates(tier: tuple[float, float], pld: float, rdp: float) -> None:
    ledger = poisson(*tier, 20)
    assert ledger.epsilon(DELTA) == pytest.approx(pld, rel=0.01)
    assert ledger.epsilon(DELTA, "rdp") == pytest.approx(rdp, rel=0.01)


@pytest.mark.parametrize(("noise", "once", "twenty"), [(1.2, 3.55, 22.2), (2.0, 1.99, 11.5), (3.0, 1.27, 7.0)])
def test_check_values_without_sampling(noise: float, once: float, twenty: float) -> None:
    stream, user = pv.Ledger(), pv.Ledger(unit="user")
    for step in range(1000):
        stream.record_streaming(noise_multiplier=noise, span=(4 * step, 4 * step + 4))
    user.record_gaussian(noise_multiplier=noise, count=20)
    assert stream.epsilon(DELTA) == pytest.approx(once, rel=0.01)
    assert user.epsilon(DELTA) == pytest.approx(twenty, rel=0.01)


@given(
    noises=st.lists(st.tuples(st.floats(0.3, 20), st.integers(1, 50)), min_size=1, max_size=4),
    delta=st.sampled_from([1e-3, 1e-5, 1e-8]),
)
def test_unsampled_releases_equal_the_exact_curve(noises: list[tuple[float, int]], delta: float) -> None:
    ledger = pv.Ledger()
    for noise, count in noises:
        ledger.record_gaussian(noise_multiplier=noise, count=count)
    mu = math.sqrt(sum(count / noise**2 for noise, count in noises))
    assert ledger.epsilon(delta) == pytest.approx(gaussian_epsilon(mu, delta), rel=1e-6, abs=1e-9)
    assert ledger.epsilon(delta, "rdp") >= ledger.epsilon(delta)


@pytest.mark.parametrize(("rate", "noise"), [*TIERS, (0.3, 0.8), (0.9, 1.0)])
@pytest.mark.parametrize("delta", [1e-3, 1e-5])
def test_one_sampled_release_bounds_the_divergence_tightly(rate: float, noise: float, delta: float) -> None:
    epsilon = poisson(rate, noise, 1).epsilon(delta)
    assert sampled_delta(epsilon, rate, noise) <= delta * (1 + 1e-6)
    if epsilon > 1e-3:
        assert sampled_delta(epsilon - 1e-3, rate, noise) > delta


def test_sampling_with_rate_one_is_no_sampling() -> None:
    assert poisson(1.0, 1.2, 3).epsilon(DELTA) == pytest.approx(gaussian_epsilon(math.sqrt(3) / 1.2), rel=1e-6)


def test_heterogeneous_releases_cost_more_than_each_part_and_do_not_depend_on_order() -> None:
    one, two = poisson(0.02, 1.2, 20), pv.Ledger()
    one.record_gaussian(noise_multiplier=5.0)
    two.record_gaussian(noise_multiplier=5.0)
    two.record_poisson_gaussian(sampling_rate=0.02, noise_multiplier=1.2, count=20)
    assert one.epsilon(DELTA) == two.epsilon(DELTA)
    assert one.epsilon(DELTA) > max(poisson(0.02, 1.2, 20).epsilon(DELTA), gaussian_epsilon(0.2))
    assert one.epsilon(DELTA) < poisson(0.02, 1.2, 20).epsilon(DELTA / 2) + gaussian_epsilon(0.2, DELTA / 2)


def test_the_grid_never_makes_the_bound_smaller() -> None:
    import dp_accounting as dp
    from dp_accounting import pld

    for rate, noise, count in ((0.02, 0.3, 80), (0.02, 0.6, 80)):
        fine = pld.PLDAccountant(value_discretization_interval=1e-4)
        fine.compose(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise)), count)
        exact = fine.get_epsilon(DELTA)
        assert exact * (1 - 1e-6) <= poisson(rate, noise, count).epsilon(DELTA) <= exact * 1.002


def test_little_noise_stays_cheap_and_bounded() -> None:
    assert 1000 < poisson(0.02, 0.02, 20).epsilon(DELTA) < 1e5


@pytest.mark.parametrize("noise", [1e-9, 1e-4, 1e-3, 1e4, 1e9])
@pytest.mark.parametrize("count", [1, 20])
def test_extreme_noise_has_a_bound_that_holds(noise: float, count: int) -> None:
    """Sampling costs no more than none, and no less than one draw of the unit that is sampled with its rate."""
    ledger, plain = poisson(0.02, noise, count), pv.Ledger()
    plain.record_gaussian(noise_multiplier=noise, count=count)
    assert 0.0 <= ledger.epsilon(DELTA) <= plain.epsilon(DELTA) * (1 + 1e-9)
    assert ledger.epsilon(DELTA) >= (1000 if noise < 1 else 0)
    assert math.isfinite(plain.epsilon(DELTA, "rdp"))


def test_conditions_come_with_the_release_and_stay() -> None:
    ledger = pv.Ledger()
    ledger.record_gaussian(noise_multiplier=1.0)
    assert ledger.conditions == ()
    old = ledger.to_dict()
    assert set(old) == {"format", "unit", "neighbouring", "population", "releases"}, "ledgers written before stay what they were"
    assert pv.Ledger.from_dict(old).digest == ledger.digest
    before = ledger.digest
    ledger.record_poisson_gaussian(sampling_rate=0.1, noise_multiplier=1.0, given=["state"])
    ledger.record_streaming(noise_multiplier=1.0, span=(0, 1), given=("history", "state"))
    ledger.record_gaussian(noise_multiplier=1.0)
    assert ledger.conditions == ("history", "state")
    assert "given history, state" in repr(ledger)
    free = pv.Ledger.from_dict({key: value for key, value in ledger.to_dict().items() if key != "conditions"})
    assert len({before, ledger.digest, free.digest}) == 3


def test_a_refused_release_conditions_nothing() -> None:
    ledger = pv.Ledger()
    ledger.record_streaming(noise_multiplier=1.0, span=(0, 5))
    for bad in ({"span": (2, 3), "given": ("state",)}, {"span": (5, 6), "given": "state"}, {"span": (5, 6), "given": ("",)}):
        with pytest.raises(InvalidInput):
            ledger.record_streaming(noise_multiplier=1.0, **bad)  # type: ignore[arg-type]
    assert (ledger.conditions, len(ledger)) == ((), 1)


def test_ledgers_about_different_records_do_not_merge() -> None:
    rows, days = pv.Ledger(record="five rows of one user"), pv.Ledger(record="a fortnight of one user")
    assert rows.merge(pv.Ledger()).record == pv.Ledger().merge(rows).record == "five rows of one user"
    assert pv.Ledger.from_dict(rows.to_dict()).record == rows.record
    with pytest.raises(InvalidInput, match="must be that of the first ledger") as caught:
        rows.merge(days)
    assert caught.value.field == "record"
    for other in (None, {}, "ledger"):
        with pytest.raises(InvalidInput, match="must be a Ledger"):
            rows.merge(other)  # type: ignore[arg-type]


def test_a_stream_costs_its_noisiest_use_only_and_streams_add_up() -> None:
    ledger = pv.Ledger()
    for step, noise in enumerate((3.0, 1.2, 2.0)):
        ledger.record_streaming(noise_multiplier=noise, span=(10 * step, 10 * step + 10), stream="learner")
    assert ledger.epsilon(DELTA) == pytest.approx(gaussian_epsilon(1 / 1.2), rel=1e-6)
    ledger.record_streaming(noise_multiplier=4.0, span=(0, 30), stream="difficulty")
    assert ledger.epsilon(DELTA) == pytest.approx(gaussian_epsilon(math.hypot(1 / 1.2, 1 / 4)), rel=1e-6)
    ledger.record_gaussian(noise_multiplier=5.0)
    assert ledger.epsilon(DELTA) == pytest.approx(gaussian_epsilon(math.hypot(1 / 1.2, 1 / 4, 1 / 5)), rel=1e-6)


@pytest.mark.parametrize("span", [(9, 12), (0, 5), (9, 10)])
def test_a_unit_is_used_once_per_stream(span: tuple[int, int]) -> None:
    ledger = pv.Ledger()
    ledger.record_streaming(noise_multiplier=1.0, span=(0, 10))
    before = ledger.digest
    with pytest.raises(InvalidInput, match="was used already") as caught:
        ledger.record_streaming(noise_multiplier=2.0, span=span)
    assert (caught.value.field, caught.value.where, ledger.digest) == ("span", "stream", before)
    ledger.record_streaming(noise_multiplier=2.0, span=(10, 12))


def test_interleaved_streams_stay_small_and_stay_strict_after_a_round_trip() -> None:
    ledger = pv.Ledger()
    for step in range(50):
        ledger.record_streaming(noise_multiplier=1.0, span=(2 * step, 2 * step + 1), stream="learner")
        ledger.record_streaming(noise_multiplier=4.0, span=(step, step + 1), stream="difficulty")
        ledger.record_poisson_gaussian(sampling_rate=0.01, noise_multiplier=9.0)
    assert len(ledger.releases) == 3
    assert len(ledger) == 150
    again = pv.Ledger.from_dict(ledger.to_dict())
    again.record_streaming(noise_multiplier=2.0, span=(99, 100), stream="learner")
    with pytest.raises(InvalidInput, match="stands at 100"):
        again.record_streaming(noise_multiplier=1.0, span=(99, 101), stream="learner")
    with pytest.raises(InvalidInput, match="stands at 50"):
        again.record_streaming(noise_multiplier=4.0, span=(49, 51), stream="difficulty")


def test_nothing_recorded_costs_nothing() -> None:
    ledger = pv.Ledger()
    assert (ledger.epsilon(DELTA), ledger.epsilon(DELTA, "rdp"), len(ledger)) == (0.0, 0.0, 0)


def test_a_non_private_release_is_never_forgotten() -> None:
    ledger = poisson(0.02, 1.2, 5)
    ledger.record_non_private("training step with the noise off")
    ledger.record_poisson_gaussian(sampling_rate=0.02, noise_multiplier=100.0)
    again = pv.Ledger.from_dict(json.loads(json.dumps(ledger.to_dict())))
    for one in (ledger, again, pv.Ledger().merge(again)):
        assert one.epsilon(DELTA) == one.epsilon(DELTA, "rdp") == math.inf
        assert one.non_private == "training step with the noise off"


def test_recording_after_reading_is_not_lost_to_a_cache() -> None:
    ledger = pv.Ledger()
    seen = []
    for _ in range(4):
        ledger.record_gaussian(noise_multiplier=2.0)
        seen.append(ledger.epsilon(DELTA))
    assert seen == sorted(set(seen))
    assert len(ledger.releases) == 1
    assert len(ledger) == 4


def test_replacing_a_unit_costs_as_much_as_half_the_noise() -> None:
    ledger = pv.Ledger(neighbouring="replace-one")
    ledger.record_gaussian(noise_multiplier=2.4, count=3)
    assert ledger.epsilon(DELTA) == pytest.approx(gaussian_epsilon(math.sqrt(3) / 1.2), rel=1e-6)
    assert ledger.epsilon(DELTA, "rdp") >= ledger.epsilon(DELTA)
    ledger.record_poisson_gaussian(sampling_rate=0.02, noise_multiplier=2.0)
    assert ledger.epsilon(DELTA) > gaussian_epsilon(math.sqrt(3) / 1.2)
    with pytest.raises(InvalidInput, match="use pld"):
        ledger.epsilon(DELTA, "rdp")


def test_the_event_handed_out_costs_the_same_elsewhere() -> None:
    from dp_accounting import pld

    ledger = poisson(0.02, 1.2, 20)
    ledger.record_streaming(noise_multiplier=4.0, span=(0, 3))
    ledger.record_streaming(noise_multiplier=3.0, span=(3, 6))
    ledger.record_gaussian(noise_multiplier=6.0, count=2)
    other = pld.PLDAccountant()
    other.compose(ledger.dp_event())
    assert ledger.epsilon(DELTA) == pytest.approx(other.get_epsilon(DELTA), rel=1e-3)
    ledger.record_non_private("noise off")
    other.compose(ledger.dp_event())
    assert other.get_epsilon(DELTA) == math.inf


events = st.one_of(
    st.tuples(st.just("gaussian"), st.floats(0.1, 50), st.integers(1, 9)),
    st.tuples(st.just("poisson"), st.floats(0.1, 50), st.integers(1, 9)),
    st.tuples(st.just("streaming"), st.floats(0.1, 50), st.integers(1, 9)),
    st.tuples(st.just("non-private"), st.just(0.0), st.integers(1, 9)),
)


@settings(max_examples=60)
@given(st.lists(events, max_size=12), st.sampled_from(["round", "user"]), st.sampled_from([None, 1000]))
def test_json_round_trip_keeps_everything(recorded: list[tuple[str, float, int]], unit: str, population: int | None) -> None:
    ledger, at, total = pv.Ledger(unit=unit, population=population), 0, 0
    for kind, noise, count in recorded:
        if kind == "gaussian":
            ledger.record_gaussian(noise_multiplier=noise, count=count)
        elif kind == "poisson":
            ledger.record_poisson_gaussian(sampling_rate=1 / (1 + noise), noise_multiplier=noise, count=count)
        elif kind == "streaming":
            ledger.record_streaming(noise_multiplier=noise, span=(at, at + count))
            at, count = at + count + 1, 1
        else:
            ledger.record_non_private("off", count)
        total += count
    again = pv.Ledger.from_dict(json.loads(json.dumps(ledger.to_dict())))
    assert again.to_dict() == ledger.to_dict()
    assert again.digest == ledger.digest
    assert again.releases == ledger.releases
    assert len(ledger) == len(again) == total


def test_the_digest_sees_every_parameter() -> None:
    ledgers = [pv.Ledger(), pv.Ledger(unit="user"), pv.Ledger(neighbouring="replace-one"), pv.Ledger(population=5)]
    ledgers += [poisson(0.02, 1.2, 20), poisson(0.02, 1.2, 21), poisson(0.02, 1.3, 20), poisson(0.03, 1.2, 20)]
    assert len({one.digest for one in ledgers}) == len(ledgers)


def test_merging_composes_both() -> None:
    merged = poisson(0.02, 1.2, 8).merge(poisson(0.02, 1.2, 12, population=10**4))
    assert merged.epsilon(DELTA) == poisson(0.02, 1.2, 20).epsilon(DELTA)
    assert merged.population == 10**4


def test_merging_streams_needs_disjoint_spans() -> None:
    one, two, three = pv.Ledger(), pv.Ledger(), pv.Ledger()
    one.record_streaming(noise_multiplier=1.0, span=(0, 10))
    two.record_streaming(noise_multiplier=1.0, span=(10, 20))
    three.record_streaming(noise_multiplier=1.0, span=(5, 15))
    assert two.merge(one).epsilon(DELTA) == one.epsilon(DELTA)
    with pytest.raises(InvalidInput, match="was used already"):
        one.merge(three)


@pytest.mark.parametrize(
    ("other", "field"),
    [
        (pv.Ledger(unit="user"), "unit"),
        (pv.Ledger(neighbouring="replace-one"), "neighbouring"),
        (pv.Ledger(population=7), "population"),
    ],
)
def test_merging_refuses_another_meaning(other: pv.Ledger, field: str) -> None:
    with pytest.raises(InvalidInput, match="must be that of the first ledger") as caught:
        pv.Ledger(population=8).merge(other)
    assert caught.value.field == field


def test_a_delta_above_one_over_population_warns() -> None:
    with pytest.warns(SlateproofWarning, match="larger than 1/population"):
        poisson(0.02, 1.2, 1, population=1000).epsilon(1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        poisson(0.02, 1.2, 1, population=1000).epsilon(1e-3)
        poisson(0.02, 1.2, 1).epsilon(1e-2)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda one: one.record_gaussian(noise_multiplier=0.0), "noise_multiplier"),
        (lambda one: one.record_gaussian(noise_multiplier=-1.0), "noise_multiplier"),
        (lambda one: one.record_gaussian(noise_multiplier=math.nan), "noise_multiplier"),
        (lambda one: one.record_gaussian(noise_multiplier=1e-200), "noise_multiplier"),
        (lambda one: one.record_gaussian(noise_multiplier=1e200), "noise_multiplier"),
        (lambda one: one.record_gaussian(noise_multiplier=1.0, given="state"), "conditions"),
        (lambda one: one.record_gaussian(noise_multiplier=1.0, count=0), "count"),
        (lambda one: one.record_gaussian(noise_multiplier=1.0, count=2.0), "count"),
        (lambda one: one.record_gaussian(noise_multiplier=1.0, count=True), "count"),
        (lambda one: one.record_poisson_gaussian(sampling_rate=0.0, noise_multiplier=1.0), "sampling_rate"),
        (lambda one: one.record_poisson_gaussian(sampling_rate=1.1, noise_multiplier=1.0), "sampling_rate"),
        (lambda one: one.record_poisson_gaussian(sampling_rate=0.1, noise_multiplier=0.0), "noise_multiplier"),
        (lambda one: one.record_streaming(noise_multiplier=1.0, span=(3, 3)), "span"),
        (lambda one: one.record_streaming(noise_multiplier=1.0, span=(-1, 3)), "span"),
        (lambda one: one.record_streaming(noise_multiplier=1.0, span=5), "span"),
        (lambda one: one.record_streaming(noise_multiplier=1.0, span=(0, 1), stream=""), "stream"),
        (lambda one: one.record_non_private(""), "reason"),
        (lambda one: one.epsilon(0.0), "delta"),
        (lambda one: one.epsilon(1.0), "delta"),
        (lambda one: one.epsilon("small"), "delta"),
        (lambda one: one.epsilon(1e-5, "prv"), "accountant"),
    ],
)
def test_refusals_change_nothing(call: object, field: str) -> None:
    ledger = poisson(0.02, 1.2, 3)
    before = ledger.digest
    with pytest.raises(InvalidInput) as caught:
        call(ledger)  # type: ignore[operator]
    assert caught.value.field == field
    assert ledger.digest == before


@pytest.mark.parametrize(
    ("kwargs", "field"),
    [({"unit": "item"}, "unit"), ({"neighbouring": "zero-out"}, "neighbouring"), ({"population": 0}, "population")],
)
def test_unknown_units_and_relations_are_refused(kwargs: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        pv.Ledger(**kwargs)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_damaged_json_is_refused_by_name() -> None:
    good = poisson(0.02, 1.2, 3).to_dict()
    line = good["releases"][0]
    for bad, field in [
        ({**good, "format": "other"}, "ledger"),
        ({**good, "extra": 1}, "ledger"),
        ({key: value for key, value in good.items() if key != "unit"}, "ledger"),
        ({**good, "releases": {}}, "releases"),
        ({**good, "releases": [{**line, "kind": "laplace"}]}, "releases"),
        ({**good, "releases": [{**line, "kind": ["a"]}]}, "releases"),
        ({**good, "conditions": "state"}, "conditions"),
        ({**good, "record": 3}, "record"),
        ({**good, "unit": ["round"]}, "unit"),
        ({**good, 7: 1}, "ledger"),
        ({**good, "releases": [{**line, "clip": 1.0}]}, "releases"),
        ({**good, "releases": [{"kind": "gaussian", "count": 1}]}, "releases"),
        ({**good, "releases": [{**line, "noise_multiplier": 0.0}]}, "noise_multiplier"),
    ]:
        with pytest.raises(InvalidInput) as caught:
            pv.Ledger.from_dict(bad)
        assert caught.value.field == field
