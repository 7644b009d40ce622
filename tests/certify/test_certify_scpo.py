"""Certificates of SCPO slates: the set's margin, movement per exchanged item, and the order."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from certify_builders import random_pool, random_slate, rational_similarity, window_slate
from hypothesis import given, settings
from hypothesis import strategies as st

from slateproof.certify import SetCertificate, certify
from slateproof.certify.certificate import Certificate
from slateproof.certify.setbounds import feasible_of, largest_search
from slateproof.errors import InvalidInput
from slateproof.select.scpo import choose_set
from slateproof.types import Levers, Pool, Rule, Slate, State, unit


def again(slate, scores):
    return choose_set(slate.pool.with_scores(scores), slate.rule, slate.levers, slate.target).chosen.tolist()


def hand_slate():
    """lambda 1/2, no similarity, shaped = scores 8, 4, 3, 1 / 4: sets of two are worth half their sum."""
    pool = Pool(ids=["a", "b", "c", "d"], scores=[2.0, 1.0, 0.75, 0.25], targets=[0.5] * 4)
    rule, levers = Rule("window", target_gain=0.0), Levers(diversity=0.5, size=2)
    return Slate(pool, levers, State(), rule, 0.5, choose_set(pool, rule, levers, 0.5))


def test_hand_computed():
    cert = certify(hand_slate())
    # {a, b} = 1.5 over {a, c} = 1.375; up to two items exchanged; neighbours a, b lie 1 apart.
    assert isinstance(cert, SetCertificate)
    assert cert.margin == pytest.approx(0.125, rel=1e-12)
    assert cert.exchanges == 2
    # One item exchanged: at least .125 below. Two: {c, d} is worth .5, that is 1 below: 1 / (2 * 2 * .5) is the larger.
    assert cert.set_radius == pytest.approx(0.125 / (2 * 1 * 0.5), rel=1e-12)
    assert cert.order_radius == pytest.approx(0.5, rel=1e-12)
    assert cert.radius == cert.set_radius
    assert cert.radius_l2 == pytest.approx(0.125 / (0.5 * math.sqrt(2.0)), rel=1e-12)
    assert cert.item_radii("a").down == pytest.approx(0.125 / 0.5, rel=1e-12)
    assert cert.item_radii("c").down == math.inf
    # M = r (1-lambda) ||d mu||
    assert cert.movement([2.0, 1.0, 0.75, 0.3125]) == pytest.approx(2 * 0.5 * 0.0625)
    assert cert.movement(hand_slate().pool.scores) == 0.0
    assert cert.flip_bound(0.02) == pytest.approx(8 * math.exp(-(0.125**2) / (2 * 0.02**2)), rel=1e-9)
    # The norm check with its worst case of two exchanges would stop at .0625; the radius does not.
    assert cert.holds([2.1, 1.1, 0.65, 0.15])
    assert not cert.holds([1.9, 0.87, 0.88, 0.35])


@pytest.mark.parametrize("seed", range(25))
def test_margin_is_best_minus_second_best_by_enumeration(seed):
    slate = window_slate(seed, n=9, k=3)
    steps, lam = slate.steps, slate.levers.diversity
    vectors = slate.pool.similarity.vectors
    sims = vectors @ vectors.T
    inside = np.flatnonzero(np.abs(slate.pool.targets - slate.target) <= steps.window)
    values = sorted(
        (1 - lam) * steps.shaped[list(s)].sum() - lam * max(sims[i, j] for i, j in itertools.combinations(s, 2))
        for s in itertools.combinations(inside.tolist(), 3)
    )
    cert = certify(slate)
    if len(values) == 1:
        assert cert.margin == math.inf
        assert cert.exchanges == 0
    else:
        assert cert.margin == pytest.approx(values[-1] - values[-2], abs=1e-12)
        assert cert.exchanges == min(3, inside.size - 3)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("diversity", [0.0, 0.3, 0.7, 1.0])
def test_below_the_radius_nothing_changes_and_the_witness_does(seed, diversity):
    slate = window_slate(seed, n=9, diversity=diversity, window=(0.3, 0.02)[seed % 2])
    cert, rng = certify(slate), np.random.default_rng(seed)
    scores = slate.pool.scores
    signs = np.sign(rng.standard_normal((30, scores.size)))
    # All mass where it hurts most: chosen items down, all others up.
    signs[0] = 1.0
    signs[0, slate.indices] = -1.0
    for row in signs:
        other = scores + row * cert.radius * 0.999999
        assert again(slate, other) == slate.indices.tolist()
        if math.isfinite(cert.set_radius):
            assert sorted(again(slate, scores + row * cert.set_radius * 0.999999)) == sorted(slate.indices.tolist())
    if math.isfinite(cert.radius):
        witness = cert.witness()
        assert np.abs(witness).max() >= cert.radius
        assert again(slate, scores + witness) != slate.indices.tolist()
        assert not cert.exact(scores + witness)


@pytest.mark.parametrize("seed", range(10))
def test_holds_implies_exact(seed):
    slate = window_slate(seed, n=9)
    cert = certify(slate)
    xi = np.random.default_rng(seed).normal(0, cert.radius, (100, 9))
    xi *= np.random.default_rng(seed).choice([0.1, 0.4, 1.0], (100, 1))
    holds, exact = cert.holds(slate.pool.scores + xi), cert.exact(slate.pool.scores + xi)
    assert (exact | ~holds).all()
    assert holds.any()
    assert exact.tolist() == [again(slate, slate.pool.scores + row) == slate.indices.tolist() for row in xi]


@pytest.mark.parametrize("seed", range(10))
def test_item_radii_are_safe(seed):
    slate = window_slate(seed, n=9)
    cert = certify(slate)
    for place, item in enumerate(slate.pool.ids):
        for sign, reach in zip((1.0, -1.0), cert.item_radii(item), strict=True):
            moved = slate.pool.scores.copy()
            moved[place] += sign * (10.0 if math.isinf(reach) else reach * 0.99999)
            assert again(slate, moved) == slate.indices.tolist()


@pytest.mark.parametrize("diversity", [0.3, 1.0])
def test_a_search_cut_short_certifies_nothing(diversity):
    slate = window_slate(1, n=30, k=8, diversity=diversity, window=1.0, node_budget=1)
    assert not slate.steps.proved
    cert = certify(slate)
    assert (cert.margin, cert.set_radius, cert.radius, cert.radius_l2) == (0.0, 0.0, 0.0, 0.0)
    assert not cert.budget_free
    assert not cert.holds(slate.pool.scores)
    assert not cert.holds(slate.pool.scores + 1e-9)
    assert {cert.item_radii(item) for item in slate.pool.ids} == {(0.0, 0.0)}
    with pytest.raises(InvalidInput, match="radius"):
        cert.witness()


def tight_slate(seed, n=16):
    """An SCPO slate whose budget is just enough to prove it: other scores may need more."""
    rng = np.random.default_rng(seed)
    pool, levers = random_pool(rng, n), Levers(0.1, 0.4, 0.9, 4)
    nodes = choose_set(pool, Rule("window", window=0.5), levers, 0.6).nodes
    rule = Rule("window", window=0.5, node_budget=max(1, nodes))
    return Slate(pool, levers, State(), rule, 0.6, choose_set(pool, rule, levers, 0.6))


def test_other_scores_that_exhaust_the_budget_are_not_certified():
    """The reference needs 34 nodes and has 34; scores within the radius need more, and the search stops at another set."""
    slate = tight_slate(387)
    cert, scores = certify(slate), slate.pool.scores
    assert slate.rule.node_budget == slate.steps.nodes == 34
    assert slate.steps.proved
    change = np.random.default_rng(387).uniform(-1, 1, (40, 16))[8] * cert.radius * 0.99
    assert again(slate, scores + change) != slate.indices.tolist()
    assert not cert.budget_free
    assert not cert.completes(scores + change)
    assert not cert.holds(scores + change)
    assert cert.holds(scores)


def test_tight_budgets_hold_only_what_stays():
    """What ``holds`` says is true, and what the radius says is true of every slate that is marked proved."""
    held = refused = 0
    for seed in range(60):
        slate = tight_slate(seed)
        cert, scores = certify(slate), slate.pool.scores
        if cert.budget_free or cert.radius in (0.0, math.inf):
            continue
        others = scores + np.random.default_rng(seed).uniform(-1, 1, (20, scores.size)) * cert.radius * 0.99
        holds, exact, completes = cert.holds(others), cert.exact(others), cert.completes(others)
        assert (exact | ~holds).all()
        assert (exact | ~completes).all()
        assert (holds <= completes).all()
        assert not cert.holds(others[0], bonuses=np.full(scores.size, 1e-9))
        held, refused = held + int(holds.sum()), refused + int((~completes).sum())
    assert held > 100
    assert refused > 20


@pytest.mark.parametrize(("n", "k"), [(5, 1), (6, 2), (7, 3), (8, 4), (9, 8), (9, 3), (6, 6)])
def test_no_search_counts_more_nodes_than_the_bound(n, k):
    """Equal scores and similarities leave nothing to prune: the bound is met to within the sets that tie."""
    most = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        scores = np.round(rng.random(n) * (seed % 4), 1)
        source = {} if seed % 2 else {"vectors": unit(rng.standard_normal((n, 3)))}
        pool = Pool(ids=rng.permutation(n).tolist(), scores=scores, targets=[0.5] * n, **source)
        levers = Levers(diversity=(0.0, 0.5, 1.0)[seed % 3], size=k)
        most = max(most, choose_set(pool, Rule("window", window=1.0), levers, 0.5).nodes)
    assert most <= largest_search(n, k)
    assert largest_search(n, k) == (0 if n == k else sum(math.comb(n - k + r, r) for r in range(1, k + 1)))


def test_budget_free_is_decided_by_size_alone():
    slate = window_slate(3, n=12, k=3)
    inside = int((np.abs(slate.pool.targets - slate.target) <= slate.steps.window).sum())
    enough = largest_search(inside, 3)
    for budget, free in ((enough, True), (enough - 1, False)):
        cert = certify(window_slate(3, n=12, k=3, node_budget=budget))
        assert cert.slate.steps.proved
        assert cert.budget_free is free
        assert cert.radius == certify(slate).radius
    # At lambda = 1 the search does not look at scores: that it completed once is enough.
    slate = window_slate(3, n=12, k=3, diversity=1.0)
    slate = window_slate(3, n=12, k=3, diversity=1.0, node_budget=slate.steps.nodes + 1)
    assert slate.steps.proved
    assert certify(slate).budget_free


def test_flip_bound_of_a_set_names_its_own_rule():
    slate = window_slate(2, n=9)
    cert = certify(slate)
    assert cert.flip_bound(0.02, anchor_weight=0.5) == pytest.approx(cert.flip_bound(0.01), rel=1e-12)
    assert cert.flip_bound(0.02, anchor_weight=1.0) == 0.0
    with pytest.raises(InvalidInput, match="margin: the bound assumes that the best set is proved"):
        certify(window_slate(1, n=30, k=8, window=1.0, node_budget=1)).flip_bound(0.1)
    with pytest.raises(InvalidInput, match="diversity: the bound assumes lambda < 1"):
        certify(window_slate(1, diversity=1.0)).flip_bound(0.1)


@pytest.mark.parametrize(
    "call", [lambda c: c.flip_union(1.0), lambda c: c.flip_probability(1.0), lambda c: c.set_flip_probability(1.0)]
)
def test_stepwise_figures_are_refused(call):
    with pytest.raises(InvalidInput, match="slate: SCPO makes one choice among sets"):
        call(certify(window_slate(1)))


def test_the_wrong_certificate_is_refused():
    with pytest.raises(InvalidInput, match="was built step by step"):
        SetCertificate.of(random_slate(1))
    with pytest.raises(InvalidInput, match="its certificate is SetCertificate"):
        Certificate.of(window_slate(1))
    with pytest.raises(InvalidInput, match="novelty: does not enter a window slate"):
        certify(window_slate(1)).movement([0.0] * 12, novelty=[0.0] * 12)


def rational_choice(slate, scores):
    """The SCPO slate with every operation exact, by enumeration; feasibility as the selector decides it."""
    pool, rule, levers = slate.pool, slate.rule, slate.levers
    gain, window, lam, m = Fraction(rule.target_gain), Fraction(rule.window), Fraction(levers.diversity), Fraction(slate.target)
    shaped = {}
    for i in feasible_of(slate).tolist():
        prox = 1 - min(Fraction(1), ((Fraction(float(pool.targets[i])) - m) / window) ** 2)
        shaped[i] = Fraction(float(scores[i])) + gain * prox + Fraction(levers.exploration) * Fraction(float(pool.widths[i]))

    def value(chosen):
        alike = [rational_similarity(pool, i, j) for i, j in itertools.combinations(chosen, 2)]
        return (1 - lam) * sum(shaped[i] for i in chosen) - lam * max(alike, default=Fraction(0))

    sets = itertools.combinations(sorted(shaped, key=lambda i: pool.rank[i]), levers.size)
    best = max(sets, key=lambda chosen: (value(chosen), [-int(pool.rank[i]) for i in chosen]))
    return tuple(pool.ids[i] for i in sorted(best, key=lambda i: (-shaped[i], pool.rank[i])))


@settings(max_examples=120)
@given(
    seed=st.integers(0, 10_000), diversity=st.sampled_from([0.0, 0.3, 0.9]), steps=st.integers(-3, 3), adversarial=st.booleans(),
    size=st.sampled_from([0.5, 1.0]), shift=st.sampled_from([0.0, 1e6]),
)  # fmt: skip
def test_holds_is_never_true_by_rounding(seed, diversity, steps, adversarial, size, shift):
    slate = window_slate(seed, n=7, k=3, diversity=diversity)
    if shift:
        pool = slate.pool.with_scores(slate.pool.scores + shift)
        slate = Slate(pool, slate.levers, State(), slate.rule, 0.6, choose_set(pool, slate.rule, slate.levers, 0.6))
    cert, scores = certify(slate), slate.pool.scores
    if cert.radius in (0.0, math.inf):
        return
    direction = np.sign(np.random.default_rng(seed).standard_normal(7))
    if adversarial:
        direction = np.full(7, 1.0)
        direction[slate.indices] = -1.0
    radius = size * cert.radius
    for _ in range(abs(steps)):
        radius = np.nextafter(radius, np.inf if steps > 0 else -np.inf)
    other = scores + direction * radius
    moved = max(abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(other, scores, strict=True))
    if cert.holds(other) or moved < Fraction(cert.radius):
        assert rational_choice(slate, scores) == slate.ids
        assert rational_choice(slate, other) == slate.ids
        assert again(slate, other) == slate.indices.tolist()


def test_the_rational_oracle_can_tell_sets_apart():
    slate = window_slate(5, n=7, k=3)
    cert = certify(slate)
    assert rational_choice(slate, slate.pool.scores) == slate.ids
    assert rational_choice(slate, slate.pool.scores + cert.witness()) != slate.ids
