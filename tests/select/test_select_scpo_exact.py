"""SCPO against the enumeration of all feasible sets: values bit for bit, sets, runner-up, realised width, tie rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slateproof.select import scpo, scpo_kernel
from slateproof.select.scpo import choose_set
from slateproof.types import Levers, Pool, Rule, unit
from tests.select.scpo_oracle import all_sets, shaped_scores, window_of

LEVELS = (0.1, 0.2, 0.3, -0.1)


@st.composite
def problems(draw, largest=10):
    """Small pools in which ties, duplicates, negative similarities and relaxed windows are common."""
    n = draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scores = draw(st.sampled_from(("normal", "levels", "integers", "close", "zero")))
    table = {
        "normal": rng.normal(size=n),
        "levels": rng.choice(LEVELS, n),
        "integers": rng.integers(-1, 2, n),
        "close": 1.0 + rng.integers(0, 4, n) * 2.0**-52,
        "zero": np.zeros(n),
    }
    names = rng.permutation(4 * n)[:n].tolist()
    columns = {
        "ids": [f"q{x}" if draw_string else x for x, draw_string in zip(names, rng.random(n) < 0.3, strict=True)],
        "scores": table[scores],
        "targets": rng.choice([0.0, 0.2, 0.4, 0.5, 0.9, 1.0], n),
        "widths": rng.choice([0.0, 0.1, 0.25], n) if draw(st.booleans()) else None,
    }
    kind = draw(st.sampled_from(("none", "vectors", "float32", "duplicates", "levels", "matrix", "tags")))
    if kind in ("vectors", "float32", "duplicates"):
        vectors = unit(rng.normal(size=(n, draw(st.integers(1, 5)))))
        if kind == "duplicates":
            vectors = vectors[rng.integers(0, max(1, n // 2), n)]
        columns["vectors"] = vectors.astype(np.float32) if kind == "float32" else vectors
    elif kind in ("levels", "matrix"):
        matrix = rng.choice([-1.0, -0.5, 0.0, 0.25], (n, n)) if kind == "levels" else rng.normal(size=(n, n))
        columns["similarity"] = (matrix + matrix.T) / 2
    elif kind == "tags":
        columns["tags"] = [set(rng.integers(0, 4, rng.integers(0, 4)).tolist()) for _ in range(n)]
    levers = Levers(
        0.0, draw(st.sampled_from((0.0, 0.3))), draw(st.sampled_from((0.0, 0.25, 0.3, 0.6, 0.95, 1.0))), draw(st.integers(1, n))
    )
    rule = Rule("window", draw(st.sampled_from((0.0, 0.2))), draw(st.sampled_from((0.05, 0.3, 1.0))))
    target = draw(st.sampled_from((0.0, 0.5, 0.7, 1.0)))
    return columns, rule, levers, target


def ids_of(pool, positions):
    return tuple(pool.ids[int(i)] for i in positions)


@settings(max_examples=1500)
@given(problems())
def test_equals_enumeration(problem):
    columns, rule, levers, target = problem
    pool = Pool(**columns)
    choice = choose_set(pool, rule, levers, target)
    best, *rest = all_sets(pool, rule, levers, target)
    assert choice.proved
    assert choice.value == best.value
    assert set(ids_of(pool, choice.chosen)) == set(best.ids)
    assert choice.similarity == best.similarity
    assert choice.window == window_of(pool, rule, levers.size, target)
    if rest:
        assert choice.runner_value == choice.bound == rest[0].value
        assert ids_of(pool, choice.runner_up) == rest[0].ids
        assert choice.runner_similarity == rest[0].similarity
    else:
        assert choice.runner_value == choice.bound == -np.inf
        assert choice.runner_up.size == 0


@pytest.fixture(scope="module")
def impatient():
    """The search with the bound by classes in force from the first node (interpreted, so that the constant can be changed)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scpo_kernel, "PATIENCE", 0)
        patch.setattr(scpo_kernel, "explore", getattr(scpo_kernel.explore, "py_func", scpo_kernel.explore))
        patch.setattr(scpo, "search", getattr(scpo_kernel.search, "py_func", scpo_kernel.search))
        yield


@settings(max_examples=1500)
@given(problems())
def test_bound_by_classes_loses_nothing(impatient, problem):
    columns, rule, levers, target = problem
    pool = Pool(**columns)
    choice = choose_set(pool, rule, levers, target)
    best, *rest = all_sets(pool, rule, levers, target)
    assert choice.proved
    assert (choice.value, set(ids_of(pool, choice.chosen))) == (best.value, set(best.ids))
    assert (choice.runner_value, ids_of(pool, choice.runner_up)) == ((rest[0].value, rest[0].ids) if rest else (-np.inf, ()))


def test_bound_by_classes_keeps_ties(impatient):
    """Scores and similarities on a coarse grid: sets tie exactly, and the winner of a tie may be found last (seeds 8 and 32)."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(7, 11))
        upper = np.triu(rng.choice([0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 3.0], (n, n)), 1)
        pool = Pool(rng.permutation(n), rng.integers(0, 5, n) * rng.choice([0.25, 0.5, 1.0]), [0.5] * n, similarity=upper + upper.T)
        levers = Levers(diversity=float(rng.choice([0.5, 0.75, 1.0])), size=int(rng.integers(3, 6)))
        choice = choose_set(pool, RULE, levers, 0.5)
        best, second, *_ = all_sets(pool, RULE, levers, 0.5)
        assert (choice.value, choice.runner_value) == (best.value, second.value)
        assert tuple(sorted(ids_of(pool, choice.chosen))) == best.ids
        assert ids_of(pool, choice.runner_up) == second.ids


@settings(max_examples=200)
@given(problems(), st.randoms(use_true_random=False))
def test_order_of_input_does_not_matter(problem, random):
    columns, rule, levers, target = problem
    n = len(columns["ids"])
    order = list(range(n))
    random.shuffle(order)
    moved = {key: None if value is None else [value[i] for i in order] for key, value in columns.items()}
    if "similarity" in columns:
        moved["similarity"] = columns["similarity"][np.ix_(order, order)]
    if "vectors" in columns:
        moved["vectors"] = columns["vectors"][order]
    pool, other = Pool(**columns), Pool(**moved)
    one, two = choose_set(pool, rule, levers, target), choose_set(other, rule, levers, target)
    assert ids_of(pool, one.chosen) == ids_of(other, two.chosen)
    assert ids_of(pool, one.runner_up) == ids_of(other, two.runner_up)
    for field in ("value", "runner_value", "similarity", "runner_similarity", "window", "nodes", "bound"):
        assert getattr(one, field) == getattr(two, field), field


@settings(max_examples=200)
@given(problems())
def test_chosen_in_slate_order_and_inside_the_window(problem):
    columns, rule, levers, target = problem
    pool = Pool(**columns)
    choice = choose_set(pool, rule, levers, target)
    shaped = shaped_scores(pool, rule, levers, target)
    assert [float(x) for x in choice.shaped] == [shaped[item] for item in pool.ids]
    keys = [(-shaped[pool.ids[int(i)]], int(pool.rank[i])) for i in choice.chosen]
    assert keys == sorted(keys)
    for positions in (choice.chosen, choice.runner_up):
        assert all(abs(float(pool.targets[i]) - target) <= choice.window for i in positions)
        assert len(set(positions.tolist())) in (0, levers.size)


@pytest.mark.parametrize("diversity", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("scores", ["normal", "close", "levels", "zero"])
@pytest.mark.parametrize("kind", ["clusters", "vectors", "matrix", "tags"])
def test_long_searches_equal_enumeration(kind, scores, diversity):
    """Pools on which the search passes the nodes after which classes of similar items enter the bound."""
    rng = np.random.default_rng(7)
    for n, size in ((16, 5), (18, 4), (14, 7)):
        columns = {"ids": rng.permutation(n), "targets": rng.random(n), "scores": 0.02 * rng.normal(size=n)}
        if scores != "normal":
            columns["scores"] = {
                "close": 1.0 + rng.integers(0, 4, n) * 2.0**-52,
                "levels": rng.choice(LEVELS, n),
                "zero": np.zeros(n),
            }[scores]
        if kind == "clusters":
            columns["vectors"] = unit(rng.normal(size=(4, 8))[rng.integers(0, 4, n)] + 0.2 * rng.normal(size=(n, 8)))
        elif kind == "vectors":
            columns["vectors"] = unit(rng.normal(size=(n, 8)))
        elif kind == "matrix":
            matrix = rng.uniform(-1.0, 1.0, (n, n))
            columns["similarity"] = (matrix + matrix.T) / 2
        else:
            columns["tags"] = [set(rng.integers(0, 9, 3).tolist()) for _ in range(n)]
        pool, rule, levers = Pool(**columns), Rule("window", 0.0, 1.0), Levers(0.0, 0.0, diversity, size)
        choice = choose_set(pool, rule, levers, 0.5)
        best, second, *_ = all_sets(pool, rule, levers, 0.5)
        assert choice.proved
        assert (choice.value, choice.runner_value) == (best.value, second.value)
        assert sorted(ids_of(pool, choice.chosen)) == list(best.ids)
        assert ids_of(pool, choice.runner_up) == second.ids


def pool_of(scores, similarity=None, targets=None, **columns):
    n = len(scores)
    return Pool(range(n), scores, [0.5] * n if targets is None else targets, similarity=similarity, **columns)


RULE = Rule("window", target_gain=0.0, window=0.3)


def test_diversity_trades_a_score_against_a_near_duplicate():
    sim = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.0], [0.1, 0.0, 1.0]])
    pool = pool_of([1.0, 0.9, 0.5], sim)
    assert choose_set(pool, RULE, Levers(diversity=0.25, size=2), 0.5).chosen.tolist() == [0, 1]  # .75*1.9-.225 > .75*1.5-.025
    other = choose_set(pool, RULE, Levers(diversity=0.5, size=2), 0.5)  # .95-.45 = .5 < .75-.05 = .7; {1,2}: .7-0 = .7
    assert other.chosen.tolist() == [0, 2]
    assert other.value == pytest.approx(0.7, abs=1e-12)


def test_one_item_pays_no_penalty():
    choice = choose_set(pool_of([0.2, 0.4], -np.eye(2)), RULE, Levers(diversity=0.5, size=1), 0.5)
    assert (choice.chosen.tolist(), choice.runner_up.tolist()) == ([1], [0])
    assert (choice.value, choice.runner_value, choice.similarity, choice.runner_similarity) == (0.2, 0.1, 0.0, 0.0)


def test_window_excludes_the_better_score_and_relaxes_only_when_it_must():
    pool = pool_of([9.0, 1.0, 2.0, 3.0], targets=[1.0, 0.5, 0.6, 0.1])
    kept = choose_set(pool, RULE, Levers(size=2), 0.5)
    assert (sorted(kept.chosen.tolist()), kept.window, kept.runner_up.size) == ([1, 2], 0.3, 0)
    relaxed = choose_set(pool, RULE, Levers(size=3), 0.5)
    assert (relaxed.chosen.tolist(), relaxed.window) == ([3, 2, 1], 0.4)


def test_relaxed_width_admits_every_candidate_at_that_distance():
    pool = pool_of([0.0, 1.0, 2.0], targets=[0.5, 0.0, 1.0])
    choice = choose_set(pool, RULE, Levers(size=2), 0.5)
    assert (choice.chosen.tolist(), choice.runner_up.tolist(), choice.window) == ([2, 1], [0, 2], 0.5)
    assert choice.value == 3.0


@pytest.mark.parametrize("level", [0.0, 0.1, -0.1, 1e-300])
def test_total_ties_go_to_the_smallest_ids_at_once(level):
    pool = Pool([f"i{k:03d}" for k in range(99, -1, -1)], [level] * 100, [0.5] * 100)
    choice = choose_set(pool, RULE, Levers(diversity=0.3, size=8), 0.5)
    assert ids_of(pool, choice.chosen) == tuple(f"i{k:03d}" for k in range(8))
    assert ids_of(pool, choice.runner_up) == tuple(f"i{k:03d}" for k in (0, 1, 2, 3, 4, 5, 6, 8))
    assert choice.proved
    assert choice.nodes < 100


def test_exact_sums_let_two_level_pools_be_proved_at_once():
    pool = Pool(range(100), [1.5] * 10 + [-0.25] * 90, [0.5] * 100)
    choice = choose_set(pool, RULE, Levers(diversity=0.0, size=20), 0.5)
    assert sorted(choice.chosen.tolist()) == list(range(20))
    assert choice.runner_up.tolist() == [*range(19), 20]
    assert choice.proved
    assert choice.nodes < 1000


def test_value_is_summed_in_slate_order():
    scores = [0.1, 0.2, 0.3]
    pool = Pool([1, 2, 3], scores, [0.5] * 3)
    choice = choose_set(pool, RULE, Levers(diversity=0.0, size=3), 0.5)
    assert choice.value == (0.3 + 0.2) + 0.1 != (0.1 + 0.2) + 0.3


def test_many_equal_inexact_scores_are_proved_quickly():
    scores = np.random.default_rng(3).choice([0.1, 0.2, 0.3], 100)
    choice = choose_set(Pool(range(100), scores, [0.5] * 100), RULE, Levers(diversity=0.0, size=8), 0.5)
    assert choice.proved
    assert choice.nodes < 100


def test_catalogue_pools_use_catalogue_rows():
    from slateproof.types import Catalog

    rng = np.random.default_rng(3)
    vectors, targets = unit(rng.normal(size=(40, 6))), rng.random(40)
    catalog = Catalog(range(100, 140), targets=targets, vectors=vectors)
    ids = rng.permutation(40)[:12]
    scores = rng.normal(size=12)
    levers, rule = Levers(exploration=0.2, diversity=0.5, size=4), Rule("window")
    one = choose_set(catalog.pool((ids + 100).tolist(), scores), rule, levers, 0.4)
    two = choose_set(Pool(ids + 100, scores, targets[ids], vectors=vectors[ids]), rule, levers, 0.4)
    assert (one.value, one.chosen.tolist(), one.runner_up.tolist()) == (two.value, two.chosen.tolist(), two.runner_up.tolist())
