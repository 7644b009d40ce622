"""Planner and tables: what is planned is kept, and a little more is not."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from certify_builders import random_pool, random_slate, window_slate

from slateproof.certify import certificates, certify, flip_probabilities, from_margins, plan, topk
from slateproof.errors import InvalidInput
from slateproof.select import GreedySelector
from slateproof.types import Levers, Pool, PoolBatch, State


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("target", [0.3, 0.01, 1e-9])
def test_anchor_weight_is_the_smallest(seed, target):
    scores = np.random.default_rng(seed).standard_normal(20)
    w = plan.anchor_weight(scores, 5, 0.2, max_flip=target)
    assert topk.flip_probability(scores, 5, 0.2, w) <= target
    if w > 0.0:
        assert topk.flip_probability(scores, 5, 0.2, w - 1e-6) > target


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("target", [0.3, 0.01, 1e-9])
def test_sigma_is_the_largest(seed, target):
    scores = np.random.default_rng(seed).standard_normal(20)
    sigma = plan.sigma(scores, 5, max_flip=target)
    assert topk.flip_probability(scores, 5, sigma) <= target
    assert topk.flip_probability(scores, 5, sigma * 1.00001) > target
    assert plan.sigma(scores, 5, max_flip=target, anchor_weight=0.5) == pytest.approx(2 * sigma, rel=1e-9)


def test_two_items_have_a_closed_form():
    # Pr = Phi(-gap / (sqrt 2 sigma (1-w))) = .05 at gap / (sqrt 2 sigma (1-w)) = 1.6449
    assert plan.sigma([1.0, 0.0], 1, max_flip=0.05) == pytest.approx(1 / (math.sqrt(2) * 1.6448536269514722))
    assert plan.anchor_weight([1.0, 0.0], 1, 1.0, max_flip=0.05) == pytest.approx(1 - 1 / (math.sqrt(2) * 1.6448536269514722))


def test_extremes():
    assert plan.anchor_weight([1.0, 0.0], 1, 0.01, max_flip=0.05) == 0.0
    assert plan.anchor_weight([1.0, 1.0], 1, 0.01, max_flip=0.05) == 1.0
    assert plan.sigma([1.0, 1.0], 1, max_flip=0.05) == 0.0
    assert plan.sigma([1.0, 0.0], 2, max_flip=0.05) == math.inf
    assert plan.sigma([1.0, 0.0], 1, max_flip=0.6) == math.inf
    assert plan.sigma([1.0, 0.0], 1, max_flip=0.05, anchor_weight=1.0) == math.inf


def test_pools_and_their_order():
    pools = [Pool(ids=[3, 1, 2], scores=[0.2, 0.9, 0.5]), Pool(ids=[1, 2, 3], scores=[0.9, 0.5, 0.2])]
    weights = plan.anchor_weight(pools, 1, 0.3, max_flip=0.05)
    assert weights[0] == weights[1] == plan.anchor_weight(pools[0], 1, 0.3, max_flip=0.05)
    assert plan.sigma(np.array([[1.0, 0.0], [2.0, 0.0]]), 1, max_flip=0.1).shape == (2,)


def test_sizes_show_how_k_matters():
    scores = np.array([3.0, 2.0, 1.9, 0.0])
    rows = plan.sizes(scores, 0.1)
    assert [row["k"] for row in rows] == [1, 2, 3]
    assert [row["gap"] for row in rows] == pytest.approx([1.0, 0.1, 1.9])
    assert rows[1]["flip"] == topk.flip_probability(scores, 2, 0.1)
    assert rows[1]["flip"] > rows[0]["flip"] > rows[2]["flip"]
    many = plan.sizes([Pool(ids=[1, 2], scores=[1.0, 0.0]), Pool(ids=[1, 2, 3], scores=[1.0, 0.9, 0.0])], 0.1, ks=[1])
    assert len(many) == 1


def test_quantiles_live_with_infinity():
    assert plan.quantiles([3.0, 1.0, 2.0, math.inf], (0.0, 0.5, 0.75, 1.0)) == {0.0: 1.0, 0.5: 2.0, 0.75: 3.0, 1.0: math.inf}
    assert plan.quantiles(np.arange(1.0, 21.0), 0.05) == {0.05: 1.0}
    for values, at, field in [
        ([], 0.5, "values"),
        ("x", 0.5, "values"),
        ([1.0], [2.0], "at"),
        ([1.0], "x", "at"),
        ([1.0], [math.nan], "at"),
    ]:
        with pytest.raises(InvalidInput) as caught:
            plan.quantiles(values, at)
        assert caught.value.field == field


def test_slates_are_planned_with_their_estimate():
    cert = certify(random_slate(1))
    sigma = plan.slate_sigma(cert, max_flip=0.05)
    assert cert.flip_probability(sigma) <= 0.05
    assert cert.flip_probability(sigma * 1.02) > 0.05
    w = plan.slate_anchor_weight(cert, sigma * 4, max_flip=0.05)
    assert w == pytest.approx(0.75, abs=1e-4)
    assert plan.slate_sigma(certify(random_slate(1, diversity=1.0)), max_flip=0.05) == math.inf


def test_slate_sizes_are_the_shorter_slates_probabilities():
    slate = random_slate(2, n=15, k=4)
    rows = plan.slate_sizes(certify(slate), 0.02)
    assert [row["k"] for row in rows] == [1, 2, 3, 4]
    for shorter, longer in pairwise(rows):
        assert longer["flip"] > shorter["flip"] - 5 * math.hypot(longer["error"], shorter["error"])
    for row in rows:
        short = random_slate(2, n=15, k=int(row["k"]))
        assert short.ids == slate.ids[: len(short)]
        assert row["margin"] == short.margin
        assert row["flip"] == certify(short).flip_probability(0.02)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: plan.anchor_weight([1.0, 0.0], 1, 0.0, max_flip=0.05), "sigma"),
        (lambda: plan.anchor_weight([1.0, 0.0], 1, 1.0, max_flip=0.0), "max_flip"),
        (lambda: plan.anchor_weight([1.0, 0.0], 1, 1.0, max_flip=1.0), "max_flip"),
        (lambda: plan.anchor_weight([1.0, 0.0], 3, 1.0, max_flip=0.1), "k"),
        (lambda: plan.sigma([1.0, 0.0], 1, max_flip=0.1, anchor_weight=-1.0), "anchor_weight"),
    ],
)
def test_planner_refuses(call, field):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.field == field


def test_table_over_slates():
    slates = [random_slate(seed) for seed in range(5)] + [window_slate(1), random_slate(1, diversity=1.0)]
    table = certificates(slates, 0.01, draws=50)
    assert len(table.rows) == 7
    assert table.summary["rounds"] == 7
    for row, slate in zip(table.rows[:5], slates, strict=False):
        cert = certify(slate)
        assert row["flip_probability"] == cert.flip_probability(0.01)
        assert row["radius"] == cert.radius
        assert row["norm"] <= row["exact"]
    assert table.rows[5]["flip_probability"] is None
    assert table.rows[6]["flip_bound"] == 0.0
    assert any("SCPO" in note for note in table.notes)
    assert json.loads(json.dumps(table.to_dict(), allow_nan=False))["rows"][6]["radius"] is None
    assert "median_radius" in table.to_text()
    assert table.to_svg().count("<path") == 4
    assert "flip_union" in table.to_svg()
    assert "... 4 more rounds" in table.to_text(limit=3)


def test_table_from_margins_says_what_is_missing():
    slates = [random_slate(seed) for seed in range(5)]
    table = from_margins([s.margins for s in slates], [0.3] * 5, [12] * 5, 0.001, anchor_weight=0.5)
    whole = certificates(slates, 0.001, anchor_weight=0.5)
    for row, other in zip(table.rows, whole.rows, strict=True):
        assert row["radius"] == pytest.approx(other["radius"], abs=1e-12)
        assert row["flip_bound"] == pytest.approx(other["flip_bound"], rel=1e-6)
        assert "flip_probability" not in row
    missing = ("flip_union", "flip_probability", "set_flip_probability", "exact check")
    assert tuple(note.split(":")[0] for note in table.notes) == missing
    assert "flip_union" not in table.to_svg()
    with pytest.raises(InvalidInput, match="margins"):
        from_margins([[1.0]], [0.3, 0.3], [12], 0.1)


@pytest.mark.parametrize(
    ("margins", "items", "more", "field"),
    [
        ([[]], [12], {}, "margins"),
        ([["a"]], [12], {}, "margins"),
        ([[math.nan]], [12], {}, "margins"),
        ([1.0], [12], {}, "margins"),
        ([[1.0]], ["a"], {}, "items"),
        ([[1.0]], [-5], {}, "items"),
        ([[1.0, 1.0]], [1], {}, "items"),
        ([[1.0]], [12], {"similarity": -1.0}, "similarity"),
        ([[1.0]], [12], {"similarity_error": math.nan}, "similarity_error"),
        ([[1.0]], [12], {"novelty": [0.1, 0.1]}, "novelty"),
        ([[1.0]], [12], {"max_flip": 1.0}, "max_flip"),
    ],
)
def test_from_margins_refuses(margins, items, more, field):
    with pytest.raises(InvalidInput) as caught:
        from_margins(margins, 0.3, items, 0.1, **more)
    assert caught.value.field == field


def test_the_table_has_the_set_and_the_level_that_were_asked_for():
    slates = [random_slate(seed) for seed in range(6)]
    table = certificates(slates, 0.02, max_flip=0.3, set_flips=lambda place: place != 2)
    for place, (row, slate) in enumerate(zip(table.rows, slates, strict=True)):
        want = None if place == 2 else float(certify(slate).set_flip_probability(0.02))
        assert row["set_flip_probability"] == want
    assert table.summary["max_flip"] == 0.3
    assert table.summary["flip_probability_at_most"] == np.mean([row["flip_probability"] <= 0.3 for row in table.rows])
    assert len(table.to_csv().splitlines()) == 7
    assert table.to_svg().count("<path") == 5


def test_scpo_rounds_that_could_exhaust_the_budget_are_named():
    free, bound = window_slate(1), window_slate(1, node_budget=window_slate(1).steps.nodes)
    assert not any("search under the other scores" in note for note in certificates([free], 0.1).notes)
    assert any("in 1 SCPO rounds they hold where the search" in note for note in certificates([free, bound], 0.1).notes)


def test_an_empty_log_has_an_empty_table():
    assert certificates([], 0.1).summary["rounds"] == 0


def test_many_slates_at_once_are_the_slates_one_by_one():
    pools = [random_pool(np.random.default_rng(s), 12) for s in range(9)]
    batch = GreedySelector().select_batch(PoolBatch.of(pools), Levers(0.1, 0.4, 0.3, 3), State())
    want = [certify(slate).flip_probability(0.02, anchor_weight=0.5) for slate in batch]
    for threads in (1, 3):
        found = flip_probabilities(batch, 0.02, anchor_weight=0.5, threads=threads)
        assert found.probability.tolist() == [float(one) for one in want]
        assert found.error.tolist() == [one.error for one in want]
    listed = flip_probabilities([certify(slate) for slate in batch], [0.01 * (b + 1) for b in range(9)])
    assert listed.probability[4] == certify(batch[4]).flip_probability(0.05)
    assert plan.quantiles(found.probability, 1.0)[1.0] == found.probability.max()


def test_planning_many_slates_keeps_each():
    slates = [random_slate(seed) for seed in range(5)]
    weights = plan.slate_anchor_weight(slates, 0.05, max_flip=0.1)
    assert weights.tolist() == [plan.slate_anchor_weight(certify(slate), 0.05, max_flip=0.1) for slate in slates]
    sigmas = plan.slate_sigma(slates, max_flip=0.1, threads=1)
    assert sigmas.tolist() == [plan.slate_sigma(slate, max_flip=0.1) for slate in slates]
    level = plan.quantiles(weights, 0.8)[0.8]
    assert (flip_probabilities(slates, 0.05, anchor_weight=level).probability <= 0.1).sum() >= 4


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: flip_probabilities([window_slate(1)], 0.1), "slates"),
        (lambda: flip_probabilities([random_slate(1), "x"], 0.1), "slates"),
        (lambda: flip_probabilities(random_slate(1), 0.1), "slates"),
        (lambda: flip_probabilities(3, 0.1), "slates"),
        (lambda: flip_probabilities([random_slate(1)], [0.1, 0.2]), "sigma"),
        (lambda: flip_probabilities([random_slate(1)], np.ones(12)), "sigma"),
        (lambda: flip_probabilities([random_slate(1)], 0.1, threads=0), "threads"),
        (lambda: flip_probabilities([random_slate(1)], 0.1, points=1), "points"),
        (lambda: plan.slate_sigma([window_slate(1)], max_flip=0.1), "slates"),
    ],
)
def test_many_refuse(call, field):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.field == field
