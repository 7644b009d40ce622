"""Margin, radius, movement and the checks: hand-computed cases, oracles, and both sides of the radius."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from certify_builders import random_pool, random_slate, rational_slate, select_again, top_slate
from hypothesis import given, settings
from hypothesis import strategies as st

from slateproof.certify import certify, radii
from slateproof.errors import InvalidInput
from slateproof.select.greedy import GreedySelector, TopKSelector
from slateproof.types import Catalog, Levers, Pool, State, unit

SLATES = [(seed, kind, dis) for seed in range(4) for kind in ("vectors", "matrix", "tags", "none") for dis in ("max", "mean")]


def two_step_slate():
    """Hand-computed: lambda 1/4, similarity 1/2 between a and b, scores 1, 3/4, 1/2."""
    table = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    pool = Pool(ids=["a", "b", "c"], scores=[1.0, 0.75, 0.5], similarity=table)
    return GreedySelector(target_gain=0.0, novelty=0.0).select(pool, Levers(diversity=0.25, size=2))


def test_theorem_hand_computed_margins_and_radius():
    # Step 1: .75, .5625, .375 -> a by .1875.  Step 2: b .5625 - .125 = .4375, c .375 -> b by .0625.
    cert = certify(two_step_slate())
    assert cert.margin == pytest.approx(0.0625, rel=1e-12)
    assert cert.margin <= 0.0625
    assert cert.radius == pytest.approx(0.0625 / 1.5, rel=1e-12)
    assert cert.radius < Fraction(1, 24)
    assert cert.radius_l2 == pytest.approx(0.0625 / (0.75 * math.sqrt(2.0)), rel=1e-12)
    assert cert.gaps.gap[0].tolist() == [math.inf, 0.1875, 0.375]
    assert cert.gaps.gap[1].tolist() == [math.inf, math.inf, 0.0625]


def test_item_radii_hand_computed():
    cert = certify(two_step_slate())
    up, down = cert.item_radii("a")
    assert up == math.inf
    assert down == pytest.approx(0.1875 / 0.75)
    up, down = cert.item_radii("b")
    assert (up, down) == (pytest.approx(0.1875 / 0.75), pytest.approx(0.0625 / 0.75))
    up, down = cert.item_radii("c")
    assert up == pytest.approx(0.0625 / 0.75)
    assert down == math.inf


def test_proposition_greedy_stability_movement_hand_computed():
    slate = two_step_slate()
    cert = certify(slate)
    other = [1.0, 0.8125, 0.5]
    assert cert.movement(other) == pytest.approx(0.75 * 0.0625)
    assert cert.movement(other) >= Fraction(3, 64)
    # (1-lambda)(||d mu|| + ||d b||) + ||d n||
    assert cert.movement(other, bonuses=[0.0, 0.0, 0.25], novelty=[0.0, 0.125, 0.0]) == pytest.approx(0.75 * 0.3125 + 0.125)
    assert cert.movement(slate.pool.scores) == 0.0
    assert cert.movement(slate.pool.scores, bonuses=[0.0] * 3, novelty=[0.0] * 3) == 0.0
    assert cert.movement(np.array([other, slate.pool.scores])).tolist() == [cert.movement(other), 0.0]


def test_movement_knows_the_slate_s_own_bonuses():
    slate = random_slate(3)
    pool, rule = slate.pool, slate.rule
    prox = 1 - np.minimum(1, (pool.targets - slate.target) ** 2 / rule.window**2)
    own = rule.target_gain * prox + slate.levers.exploration * pool.widths
    novel = np.array([0.0 if i in slate.state.shown_set else rule.novelty for i in pool.ids])
    cert = certify(slate)
    assert cert.movement(pool.scores, bonuses=own, novelty=novel) < 1e-14
    assert cert.movement(pool.scores, bonuses=own + 0.1) == pytest.approx(0.7 * 0.1)


@pytest.mark.parametrize(("seed", "kind", "dis"), SLATES)
def test_gap_table_equals_the_selector_s_margins(seed, kind, dis):
    slate = random_slate(seed, kind=kind, dissimilarity=dis)
    cert = certify(slate)
    assert cert.gaps.gap.min(axis=1).tobytes() == slate.margins.tobytes()
    assert 0.0 <= cert.margin <= slate.margin
    assert cert.margin == pytest.approx(slate.margin, abs=1e-13)


@pytest.mark.parametrize(("seed", "kind", "dis"), SLATES)
def test_radius_is_exact_below_nothing_above_the_witness(seed, kind, dis):
    slate = random_slate(seed, kind=kind, dissimilarity=dis)
    cert, scores = certify(slate), slate.pool.scores
    signs = np.sign(np.random.default_rng(seed).standard_normal((200, scores.size)))
    inside = scores + signs * cert.radius * 0.999999
    assert cert.exact(inside).all()
    witness = cert.witness()
    assert np.abs(witness).max() == pytest.approx(cert.radius, rel=1e-9)
    assert np.abs(witness).max() > cert.radius
    assert select_again(slate, scores + witness).ids != slate.ids
    assert not cert.exact(scores + witness)
    just_inside = scores + witness * (cert.radius * 0.999999 / np.abs(witness).max())
    assert select_again(slate, just_inside).ids == slate.ids
    assert select_again(slate, scores + cert.witness(cert.radius * 3.0)).ids != slate.ids


@pytest.mark.parametrize(("seed", "kind", "dis"), SLATES)
def test_item_radii_are_tight(seed, kind, dis):
    slate = random_slate(seed, n=8, k=3, kind=kind, dissimilarity=dis)
    cert = certify(slate)
    for place, item in enumerate(slate.pool.ids):
        for sign, reach in zip((1.0, -1.0), cert.item_radii(item), strict=True):
            moved = slate.pool.scores.copy()
            moved[place] += sign * (50.0 if math.isinf(reach) else reach * 0.99999)
            assert select_again(slate, moved).ids == slate.ids
            if math.isfinite(reach):
                moved[place] = slate.pool.scores[place] + sign * (reach * 1.00001 + 1e-12)
                assert select_again(slate, moved).ids != slate.ids


@pytest.mark.parametrize("seed", range(6))
def test_euclidean_radius_both_sides(seed):
    slate = random_slate(seed)
    cert, rng = certify(slate), np.random.default_rng(seed)
    directions = rng.standard_normal((200, slate.pool.size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert cert.exact(slate.pool.scores + directions * cert.radius_l2 * 0.999999).all()
    witness = cert.witness()
    towards = witness / np.linalg.norm(witness)
    assert not cert.exact(slate.pool.scores + towards * cert.radius_l2 * 1.000001)


@settings(max_examples=300)
@given(
    seed=st.integers(0, 10_000), kind=st.sampled_from(["vectors", "matrix", "tags", "none"]), dis=st.sampled_from(["max", "mean"]),
    size=st.floats(0.2, 3.0), grid=st.sampled_from([None, 0.25]),
)  # fmt: skip
def test_exact_is_if_and_only_if(seed, kind, dis, size, grid):
    slate = random_slate(seed, kind=kind, dissimilarity=dis, grid=grid)
    cert = certify(slate)
    noise = np.random.default_rng(seed + 1).uniform(-1, 1, slate.pool.size) * (cert.radius + 1e-9) * size
    other = slate.pool.scores + noise
    if grid is not None and seed % 2:
        other = np.round(other / grid) * grid
    same = select_again(slate, other).ids == slate.ids
    assert cert.exact(other) == same
    if cert.holds(other):
        assert same


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10_000), kind=st.sampled_from(["vectors", "matrix", "tags", "none"]), dis=st.sampled_from(["max", "mean"]),
    steps=st.integers(-3, 3), adversarial=st.booleans(), shift=st.sampled_from([0.0, 1e6]),
)  # fmt: skip
def test_holds_is_never_true_by_rounding(seed, kind, dis, steps, adversarial, shift):
    """Perturbations a few floats around the radius: certified only where rational and float slates both stay."""
    slate = random_slate(seed, n=7, k=3, kind=kind, dissimilarity=dis)
    if shift:
        slate = select_again(slate, slate.pool.scores + shift)
    cert = certify(slate)
    if adversarial:
        direction = cert.witness()
        direction = direction / np.abs(direction).max()
    else:
        direction = np.sign(np.random.default_rng(seed).standard_normal(slate.pool.size))
    radius = cert.radius
    for _ in range(abs(steps)):
        radius = np.nextafter(radius, np.inf if steps > 0 else -np.inf)
    for size in (radius, slate.margin / (2.0 * (1.0 - slate.levers.diversity))):
        other = slate.pool.scores + direction * max(size, 0.0)
        if cert.holds(other):
            assert rational_slate(slate, slate.pool.scores) == slate.ids
            assert rational_slate(slate, other) == slate.ids
            assert select_again(slate, other).ids == slate.ids


def test_rational_oracle_can_tell_slates_apart():
    slate = random_slate(5, n=7, k=3)
    cert = certify(slate)
    assert rational_slate(slate, slate.pool.scores) == slate.ids
    assert rational_slate(slate, slate.pool.scores + cert.witness()) != slate.ids


def test_near_the_radius_the_norm_check_is_not_vacuous():
    slate = random_slate(1)
    cert = certify(slate)
    direction = np.sign(cert.witness() - 0.1)
    assert cert.holds(slate.pool.scores + direction * cert.radius * (1 - 1e-9))
    assert not cert.holds(slate.pool.scores + direction * cert.radius * (1 + 1e-9))


def test_top_k_ignores_diversity_and_is_exact():
    cert = certify(top_slate([3.0, 2.0, 1.0, 0.0], 2))
    assert (cert.margin, cert.radius) == (1.0, 0.5)
    assert 0.25 < cert.movement([3.25, 2.0, 1.0, 0.0]) < 0.25 + 1e-15
    assert cert.holds([2.75, 2.25, 1.25, 0.0])
    assert not cert.holds([2.5, 2.5, 1.0, 0.0])
    with pytest.raises(InvalidInput, match="bonuses: a top-K slate has none"):
        cert.movement([0.0] * 4, bonuses=[0.0] * 4)
    with pytest.raises(InvalidInput, match="novelty: does not enter a top-k slate"):
        cert.movement([0.0] * 4, novelty=[0.0] * 4)


def test_nothing_else_to_choose_means_an_infinite_radius():
    cert = certify(top_slate([1.0], 1))
    assert (cert.margin, cert.radius, cert.radius_l2) == (math.inf, math.inf, math.inf)
    assert cert.holds([-100.0])
    assert cert.item_radii(0) == (math.inf, math.inf)
    with pytest.raises(InvalidInput, match="radius: is infinite"):
        cert.witness()


def test_at_full_diversity_scores_have_no_influence():
    slate = random_slate(2, diversity=1.0)
    cert = certify(slate)
    assert cert.radius == math.inf
    wild = np.random.default_rng(0).normal(0, 100, (50, slate.pool.size))
    assert cert.exact(wild).all()
    assert (cert.movement(wild) == 0.0).all()
    assert cert.flip_probability(5.0) == 0.0
    assert cert.flip_union(5.0) == 0.0
    with pytest.raises(InvalidInput, match="diversity: the corollary assumes lambda < 1"):
        cert.flip_bound(1.0)


def test_a_tie_certifies_nothing_and_has_a_witness():
    slate = top_slate([1.0, 1.0, 0.0], 1)
    cert = certify(slate)
    assert (cert.margin, cert.radius) == (0.0, 0.0)
    assert not cert.holds(slate.pool.scores)
    assert cert.exact(slate.pool.scores)
    assert select_again(slate, slate.pool.scores + cert.witness()).ids == (1,)
    with pytest.raises(InvalidInput, match="margin: the corollary assumes a positive margin"):
        cert.flip_bound(1.0)


def test_rates_stand_side_by_side():
    slate = random_slate(4)
    cert = certify(slate)
    noise = np.random.default_rng(0).normal(0, cert.radius * 0.6, (2000, slate.pool.size))
    rates = cert.rates(slate.pool.scores + noise)
    assert rates["trials"] == 2000
    assert rates["norm"] < rates["exact"] <= 1.0


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda c: c.movement([0.0]), "other_scores"),
        (lambda c: c.movement([math.nan] * 12), "other_scores"),
        (lambda c: c.exact("x"), "other_scores"),
        (lambda c: c.exact([1j] * 12), "other_scores"),
        (lambda c: c.rates("x"), "others"),
        (lambda c: c.holds([0.0] * 12, bonuses=[1.0]), "bonuses"),
        (lambda c: c.holds([0.0] * 12, novelty=[math.inf] * 12), "novelty"),
        (lambda c: c.witness(0.0), "radius"),
        (lambda c: c.witness(c.radius * 0.5), "radius"),
        (lambda c: c.witness("x"), "radius"),
        (lambda c: c.witness(True), "radius"),
        (lambda c: c.witness(math.nan), "radius"),
        (lambda c: c.item_radii("nobody"), "id"),
        (lambda c: c.item_radii([1]), "id"),
        (lambda c: c.item_radii(True), "id"),
        (lambda c: c.flip_bound(1.0, anchor_weight=2.0), "anchor_weight"),
        (lambda c: c.set_flip_probability(1.0, tolerance=-1.0), "tolerance"),
        (lambda c: c.flip_bound(0.0), "sigma"),
        (lambda c: c.flip_union(-1.0), "sigma"),
        (lambda c: c.flip_union([1.0]), "sigma"),
        (lambda c: c.flip_union(1.0, anchor_weight=1.5), "anchor_weight"),
        (lambda c: c.flip_probability(1.0, points=3), "points"),
        (lambda c: c.flip_probability(1.0, seed=-1), "seed"),
        (lambda c: c.flip_probability(1.0, tolerance=0.0), "tolerance"),
        (lambda c: c.set_flip_probability(math.nan), "sigma"),
    ],
)
def test_refusals_name_the_field(call, field):
    with pytest.raises(InvalidInput) as caught:
        call(certify(random_slate(1)))
    assert caught.value.field == field


def test_certify_refuses_what_is_no_slate():
    with pytest.raises(InvalidInput, match="slate: must be a Slate"):
        certify("a slate")


def test_columns_are_never_above_the_certificate_s_truth():
    slates = [random_slate(seed, diversity=(0.0, 0.3, 0.6, 1.0)[seed % 4]) for seed in range(40)]
    magnitude = [np.abs(s.pool.scores).max() + 0.2 + 0.4 * s.pool.widths.max() for s in slates]
    margins, reach = radii(
        np.array([s.margins for s in slates]), [s.levers.diversity for s in slates], magnitude, novelty=0.1,
        similarity=1.0 + 1e-8, similarity_error=4 * 1.2e-16,
    )  # fmt: skip
    for slate, margin, radius in zip(slates, margins, reach, strict=True):
        cert = certify(slate)
        assert margin <= slate.margin
        assert margin == pytest.approx(cert.margin, abs=1e-14)
        assert radius == pytest.approx(cert.radius, abs=1e-13)
        if math.isfinite(radius):
            assert Fraction(radius) < Fraction(slate.margin) / (2 * (1 - Fraction(slate.levers.diversity)))


@pytest.mark.parametrize(
    ("margins", "diversity", "magnitude", "field"),
    [
        (1.0, 0.1, 1.0, "margins"),
        ([math.nan], 0.1, 1.0, "margins"),
        ([1.0], 1.1, 1.0, "diversity"),
        ([1.0], 0.1, -1.0, "magnitude"),
        ([1.0], [0.1, 0.1], 1.0, "diversity"),
        ([1.0], 0.1, "large", "magnitude"),
        (["1"], 0.1, 1.0, "margins"),
    ],
)
def test_columns_refuse(margins, diversity, magnitude, field):
    with pytest.raises(InvalidInput) as caught:
        radii(margins, diversity, magnitude)
    assert caught.value.field == field


def test_columns_infinities():
    margins, reach = radii([math.inf, 0.0, 1.0], [0.5, 0.5, 1.0], 1.0)
    assert margins.tolist()[:2] == [math.inf, 0.0]
    assert reach.tolist() == [math.inf, 0.0, math.inf]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_catalogue_pools_and_single_precision(dtype):
    rng = np.random.default_rng(0)
    vectors = unit(rng.standard_normal((40, 6))).astype(dtype)
    catalog = Catalog(list(range(40)), targets=rng.random(40), vectors=vectors)
    places = rng.permutation(40)[:15]
    pool = catalog.pool(places.tolist(), rng.normal(0, 0.5, 15), widths=rng.random(15))
    slate = GreedySelector().select(pool, Levers(0.1, 0.4, 0.3, 4), State(shown=(3, 4)))
    cert = certify(slate)
    assert cert.gaps.gap.min(axis=1).tobytes() == slate.margins.tobytes()
    assert select_again(slate, pool.scores + cert.witness()).ids != slate.ids
    assert rational_slate(slate, pool.scores + cert.witness() * 0.999) == slate.ids


def test_a_certificate_travels():
    cert = certify(random_slate(1))
    cert.flip_union(0.1)
    copy = pickle.loads(pickle.dumps(cert))
    assert (copy.margin, copy.radius, copy.slate) == (cert.margin, cert.radius, cert.slate)


def test_a_replayed_selector_gives_the_same_certificate():
    pool = Pool(ids=[3, 1, 2], scores=[0.1, 0.5, 0.3])
    first = certify(TopKSelector().select(pool, Levers(size=2), State()))
    second = certify(TopKSelector().select(Pool(ids=[1, 2, 3], scores=[0.5, 0.3, 0.1]), Levers(size=2), State()))
    assert (first.margin, first.radius) == (second.margin, second.radius)


@settings(max_examples=200)
@given(
    seed=st.integers(0, 10_000), kind=st.sampled_from(["vectors", "matrix", "tags", "none"]), dis=st.sampled_from(["max", "mean"]),
    parts=st.tuples(*[st.floats(-1.0, 1.0)] * 3), size=st.floats(0.0, 1.2), shown=st.integers(0, 4),
)  # fmt: skip
def test_what_holds_with_moving_bonuses_and_novelty_stays(seed, kind, dis, parts, size, shown):
    """Scores, target value, exploration and memory move together: certified only where float and rational slates both stay."""
    slate, selector = clear_slate(seed, kind, dis)
    cert, pool, rng = certify(slate), slate.pool, np.random.default_rng(seed + 1)
    reach = size * cert.radius
    state = State(knowledge=0.5 + 0.3 * reach * parts[0], shown=tuple(pool.ids[:shown]))
    levers = Levers(0.1, 0.4 + 0.3 * reach * parts[1], slate.levers.diversity, slate.levers.size)
    other = pool.scores + rng.uniform(-1, 1, pool.size) * reach * abs(parts[2])
    moved = selector.select(pool.with_scores(other), levers, state)
    bonuses, novelty = bonuses_of(moved)
    if cert.holds(other, bonuses=bonuses, novelty=novelty):
        assert moved.ids == slate.ids
        assert rational_slate(moved, other) == slate.ids


def clear_slate(seed, kind, dis):
    """Scores far enough apart that bonuses and novelty may move within the margin."""
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, 7, kind)
    pool = pool.with_scores(rng.permutation(np.linspace(0.0, 4.0, 7)) + rng.normal(0, 0.05, 7))
    selector = GreedySelector(target_gain=0.2, window=0.3, novelty=0.02, dissimilarity=dis)
    return selector.select(pool, Levers(0.1, 0.4, 0.2, 3), State(knowledge=0.5, shown=tuple(pool.ids[:2]))), selector


def bonuses_of(slate):
    """(b, n) of a slate, as a caller would compute them."""
    pool, rule = slate.pool, slate.rule
    prox = 1 - np.minimum(1, (pool.targets - slate.target) ** 2 / rule.window**2)
    novel = np.array([0.0 if i in slate.state.shown_set else rule.novelty for i in pool.ids])
    return rule.target_gain * prox + slate.levers.exploration * pool.widths, novel


def test_moving_bonuses_are_certified_often_enough_to_matter():
    held = changed = 0
    for seed in range(60):
        slate, selector = clear_slate(seed, "vectors", "max")
        cert, pool = certify(slate), slate.pool
        for size in (0.3, 20.0):
            state = State(knowledge=min(1.0, 0.5 + 0.3 * size * cert.radius), shown=tuple(pool.ids[:3]))
            moved = selector.select(pool, Levers(0.1, 0.4 + size * cert.radius, 0.2, 3), state)
            bonuses, novelty = bonuses_of(moved)
            held += bool(cert.holds(pool.scores, bonuses=bonuses, novelty=novelty))
            changed += moved.ids != slate.ids
    assert held > 20
    assert changed > 5


@settings(max_examples=150)
@given(seed=st.integers(0, 10_000), steps=st.integers(-3, 3), adversarial=st.booleans(), shift=st.sampled_from([0.0, 1e6]))
def test_top_k_holds_only_what_stays_in_rational_arithmetic(seed, steps, adversarial, shift):
    scores = np.random.default_rng(seed).normal(0.0, 0.5, 7) + shift
    slate = top_slate(scores, 3)
    cert = certify(slate)
    direction = np.sign(np.random.default_rng(seed + 1).standard_normal(7))
    if adversarial:
        direction = np.sign(cert.witness())
    radius = cert.radius
    for _ in range(abs(steps)):
        radius = np.nextafter(radius, np.inf if steps > 0 else -np.inf)
    other = scores + direction * radius
    moved = max(abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(other, scores, strict=True))
    same = tuple(sorted(range(7), key=lambda i: (-Fraction(float(other[i])), i))[:3]) == slate.ids
    assert same == (select_again(slate, other).ids == slate.ids) == cert.exact(other)
    if cert.holds(other) or moved < Fraction(cert.radius):
        assert same
