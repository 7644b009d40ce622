"""The bounds of docs/numerics.md against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from certify_builders import random_slate, rational_similarity, select_again, top_slate
from hypothesis import given
from hypothesis import strategies as st

from slateproof.certify import certify, from_margins
from slateproof.certify.columns import margin_down, radius_down
from slateproof.certify.movement import largest
from slateproof.certify.rounding import evaluation_error, exp_up, minus_down
from slateproof.errors import InvalidInput
from slateproof.select import GreedySelector
from slateproof.types import Levers, Pool

numbers = st.floats(-1e6, 1e6, allow_nan=False)


def objectives(slate):
    """(as evaluated, exact) objective of every remaining candidate at every step."""
    cert = certify(slate)
    frame, penalty, pool, rule = cert.frame, cert.gaps.penalty, slate.pool, slate.rule
    base, lam = frame.base(pool.scores), slate.levers.diversity
    chosen = slate.indices.tolist()
    for q in range(len(chosen)):
        for j in sorted(set(range(pool.size)) - set(chosen[:q])):
            evaluated = (base[j] - lam * penalty[q, j]) + frame.bonus[j]
            prox = 1 - min(Fraction(1), ((Fraction(float(pool.targets[j])) - Fraction(slate.target)) / Fraction(rule.window)) ** 2)
            shaped = Fraction(float(pool.scores[j])) + Fraction(rule.target_gain) * prox
            shaped += Fraction(slate.levers.exploration) * Fraction(float(pool.widths[j]))
            sims = [rational_similarity(pool, j, i) for i in chosen[:q]]
            sim = Fraction(0)
            if sims:
                sim = max(sims) if rule.dissimilarity == "max" else sum(sims, Fraction(0)) / len(sims)
            exact = (1 - Fraction(lam)) * shaped - Fraction(lam) * sim + Fraction(float(frame.bonus[j]))
            yield evaluated, exact


@pytest.mark.parametrize("kind", ["vectors", "matrix", "tags", "none"])
@pytest.mark.parametrize("dissimilarity", ["max", "mean"])
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_lemma_1_the_rounding_of_the_objective(kind, dissimilarity, scale):
    worst = 0.0
    for seed in range(6):
        slate = random_slate(seed, diversity=(0.1, 0.3, 0.77)[seed % 3], kind=kind, dissimilarity=dissimilarity)
        slate = select_again(slate, slate.pool.scores * scale)
        error = evaluation_error(slate, largest(slate))
        for evaluated, exact in objectives(slate):
            distance = abs(Fraction(float(evaluated)) - exact)
            assert distance <= Fraction(error)
            worst = max(worst, float(distance) / error)
    # The bound is not so wide that nothing could break it.
    assert worst > 0.005


@given(numbers, numbers)
def test_minus_down(a, b):
    low = Fraction(float(minus_down(a, b)))
    exact = Fraction(a) - Fraction(b)
    assert low <= exact
    assert exact - low <= abs(exact) * Fraction(2, 2**52)


def test_minus_down_of_infinity():
    assert minus_down([1.0, 3.0], [-math.inf, 1.0]).tolist() == [math.inf, 2.0]


@given(st.floats(0, 1e3), st.floats(0, 1.0), st.floats(0, 1.0))
def test_margin_and_radius_are_rounded_down(gap, error, rest):
    margin = margin_down(gap, error)
    assert Fraction(margin) <= max(Fraction(0), Fraction(gap) - 2 * Fraction(error))
    radius = radius_down(margin, error, rest)
    if rest > 0.0:
        assert radius >= 0.0
        if radius > 0.0:
            assert Fraction(radius) * 2 * Fraction(rest) <= Fraction(margin) - 2 * Fraction(error)
    else:
        assert radius == math.inf


@given(st.floats(-700, 0))
def test_exp_up(x):
    assert exp_up(x) >= math.exp(x)
    # It pays 32 u of the exponent and 8 u of the value, no more.
    assert exp_up(x) <= math.exp(x) * (1 + (16 + 33 * abs(x)) * 2.0**-53)


def test_set_probability_says_what_it_cannot_hold():
    n = 9000
    pool = Pool(ids=range(n), scores=np.arange(n, 0.0, -1.0), tags=[[1]] * n)
    slate = GreedySelector(target_gain=0.0).select(pool, Levers(diversity=0.3, size=2))
    with pytest.raises(InvalidInput, match="pool: all pairwise similarities"):
        certify(slate).set_flip_probability(1.0)
    assert 0.0 < certify(top_slate(np.arange(n, 0.0, -1.0), 2)).set_flip_probability(1.0, points=64) < 1.0


@pytest.mark.parametrize("gap", [5e-324, 1e-323, 2.0**-1060])
@pytest.mark.parametrize("diversity", [0.0, 0.1])
def test_a_radius_is_never_negative(gap, diversity):
    """Margins among the smallest floats: halving and rounding down stop at 0."""
    assert radius_down(gap, 0.0, 1.0 - diversity) >= 0.0
    top = certify(top_slate([gap, 0.0], 1))
    assert 0.0 <= top.radius <= top.radius_l2
    assert min(top.item_radii(0).down, top.item_radii(1).up) >= 0.0


@pytest.mark.parametrize("dissimilarity", ["max", "mean"])
@pytest.mark.parametrize("size", [1e6, 1e9])
def test_margins_of_a_monitor_log_are_rounded_down_for_large_similarities(dissimilarity, size):
    """Entries a million times the scores: with their bound stated no figure exceeds the real one; the default bound fails."""
    above = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        table = size + rng.uniform(-1, 1, (6, 6))
        pool = Pool(
            ids=range(6), scores=rng.normal(0, 1, 6), targets=rng.random(6), widths=rng.random(6), similarity=table + table.T
        )
        selector = GreedySelector(dissimilarity=dissimilarity)
        slate = selector.select(pool, Levers(0.1, 0.4, float(rng.choice([0.1, 0.3])), 3))
        gaps = [[e for _, e in rows] for rows in by_step(slate)]
        real = min(row[0] - max(row[1:]) for row in gaps)
        lam = slate.levers.diversity
        bounds = {"magnitude": 10.0, "novelty": 0.1, "similarity": 2.1 * size}
        error = 1.01 * 3 * 2.0**-53 * 2.1 * size if dissimilarity == "mean" else 0.0
        row = from_margins([slate.margins], [lam], [6], 0.1, **bounds, similarity_error=error).rows[0]
        assert Fraction(row["margin"]) <= max(real, Fraction(0))
        assert Fraction(row["radius"]) <= max(real, Fraction(0)) / (2 * (1 - Fraction(lam)))
        assert row["margin"] >= 0.9 * slate.margin - 1e-13 * size
        above += Fraction(from_margins([slate.margins], [lam], [6], 0.1).rows[0]["margin"]) > real
    assert above > 5


def by_step(slate):
    """(as evaluated, exact) objectives step by step, the chosen item first."""
    values, sizes = list(objectives(slate)), [slate.pool.size - q for q in range(len(slate))]
    for q, item in enumerate(slate.indices.tolist()):
        rows, values = values[: sizes[q]], values[sizes[q] :]
        left = sorted(set(range(slate.pool.size)) - set(slate.indices[:q].tolist()))
        first = left.index(item)
        yield [rows[first], *rows[:first], *rows[first + 1 :]]
