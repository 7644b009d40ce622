"""The compiled kernels equal the plain-Python oracle bit for bit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slateproof.select import GreedySelector, TopKSelector, target_of
from slateproof.select.base import BaseSelector
from slateproof.select.oracle import plain_greedy, plain_shaped, plain_similarity
from slateproof.types import Levers, Pool, Rule, Slate, State, Steps, unit
from tests.strategies import levers_for, pools, states_for


def selectors() -> Any:
    constants = st.tuples(st.sampled_from([0.0, 0.2, 1.0]), st.sampled_from([0.1, 0.3]), st.sampled_from([0.0, 0.1]))
    return st.builds(lambda c, kind: GreedySelector(*c, dissimilarity=kind), constants, st.sampled_from(["max", "mean"]))


@st.composite
def selections(draw: Any) -> tuple[Pool, Levers, State, BaseSelector]:
    selector = draw(selectors())
    pool = draw(pools(targets=True if selector.rule.target_gain else None))
    return pool, draw(levers_for(pool.size)), draw(states_for(pool)), selector


def bits(values: Any) -> bytes:
    return np.array(values, np.float64).tobytes()


def check_equal(slate: Slate) -> None:
    """Slate, runner-ups, objectives, similarities, shaped scores and kept similarities, bit for bit."""
    pool, rule, levers, steps = slate.pool, slate.rule, slate.levers, slate.steps
    assert isinstance(steps, Steps)
    plain = plain_greedy(pool, rule, levers, slate.state, target_of(slate.state, levers))
    assert steps.chosen.tolist() == [p.chosen for p in plain]
    assert steps.runners.tolist() == [-1 if p.runner is None else p.runner for p in plain]
    for name in ("chosen_objective", "runner_objective", "chosen_similarity", "runner_similarity"):
        assert bits(getattr(steps, name)) == bits([getattr(p, name) for p in plain]), name
    assert bits(steps.shaped) == bits(plain_shaped(pool, rule, levers, slate.target))
    assert bits(slate.margins) == bits([p.chosen_objective - p.runner_objective for p in plain])
    assert steps.similarities is not None
    for i in range(pool.size):
        for p in range(int(steps.known[i])):
            rows = pool.rows[i], pool.rows[steps.chosen[p]]
            asked = plain_similarity(pool.similarity, *rows) if levers.diversity else 0.0
            assert bits(steps.similarities[i, p]) == bits(asked)


@given(selections())
@settings(max_examples=500)
def test_greedy_equals_the_oracle(case: tuple[Pool, Levers, State, BaseSelector]) -> None:
    pool, levers, state, selector = case
    check_equal(selector.select(pool, levers, state))


@given(pools(), st.data())
def test_top_k_is_the_raw_ranking(pool: Pool, data: Any) -> None:
    levers = data.draw(levers_for(pool.size))
    slate = TopKSelector().select(pool, levers)
    ranking = sorted(range(pool.size), key=lambda i: (-pool.scores[i], pool.rank[i]))
    assert slate.indices.tolist() == ranking[: levers.size]
    gaps = [pool.scores[a] - pool.scores[b] for a, b in pairwise(ranking)]
    assert slate.margins.tolist() == [*gaps, np.inf][: levers.size]


@given(selections(), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_the_order_of_the_input_never_matters(case: tuple[Pool, Levers, State, BaseSelector], random: Any) -> None:
    pool, levers, state, selector = case
    shuffle = list(range(pool.size))
    random.shuffle(shuffle)
    other = permuted(pool, shuffle)
    one, two = selector.select(pool, levers, state), selector.select(other, levers, state)
    assert one == two
    assert one.trace.to_dict() == two.trace.to_dict()


def permuted(pool: Pool, order: list[int]) -> Pool:
    source = pool.similarity.take(np.array(order, np.int64))
    kind = {"vectors": "vectors", "matrix": "similarity"}.get(source.kind)
    facts: dict[str, Any] = {}
    if kind == "vectors":
        facts["vectors"] = source.vectors
    elif kind == "similarity":
        facts["similarity"] = source.matrix
    elif source.kind == "tags":
        ptr = source.tag_ptr
        facts["tags"] = [source.tag_ids[a:b].tolist() for a, b in pairwise(ptr)]
    for name in ("targets", "widths"):
        column = getattr(pool, name)
        facts[name] = None if column is None else column[order]
    return Pool(ids=[pool.ids[i] for i in order], scores=pool.scores[order], **facts)


@pytest.mark.parametrize("dissimilarity", ["max", "mean"])
@pytest.mark.parametrize("source", ["vectors", "tags", "matrix"])
def test_large_pools_equal_the_oracle(source: str, dissimilarity: Any) -> None:
    """Large enough for several blocks of the lazy walk, with a strong diversity term that reaches deep into the pool."""
    rng = np.random.default_rng(7)
    n = 300
    facts: dict[str, Any] = {}
    if source == "vectors":
        facts["vectors"] = unit(rng.normal(size=(n, 5)))
    elif source == "tags":
        facts["tags"] = [set(rng.integers(0, 6, 3).tolist()) for _ in range(n)]
    else:
        half = rng.uniform(-1, 1, (n, n))
        facts["similarity"] = np.triu(half) + np.triu(half, 1).T
    scores = np.round(rng.normal(size=n), 2)
    pool = Pool(ids=rng.permutation(n).tolist(), scores=scores, targets=rng.uniform(size=n), widths=rng.uniform(size=n), **facts)
    for diversity in (0.2, 0.7, 0.95, 1.0):
        slate = GreedySelector(dissimilarity=dissimilarity).select(
            pool, Levers(0.1, 0.2, diversity, 12), State(shown=tuple(range(40)))
        )
        check_equal(slate)


@pytest.mark.parametrize("dissimilarity", ["max", "mean"])
def test_the_sign_of_zero_is_that_of_the_oracle(dissimilarity: Any) -> None:
    pool = Pool(ids=[1, 2, 3], scores=[0.0, 0.0, 0.0], similarity=np.full((3, 3), -0.0))
    check_equal(GreedySelector(target_gain=0.0, dissimilarity=dissimilarity).select(pool, Levers(diversity=0.5, size=3)))


def test_a_rule_that_overflows_is_refused_by_name() -> None:
    pool = Pool(ids=["a", "b"], scores=[1.7e308, 1.0], targets=[0.5, 0.5], widths=[1e308, 0.0])
    with pytest.raises(ValueError, match="objective must stay finite") as caught:
        GreedySelector(target_gain=0.0).select(pool, Levers(exploration=1.0, size=1))
    assert caught.value.field == "scores"  # type: ignore[attr-defined]
    assert caught.value.where == "a"  # type: ignore[attr-defined]


def test_similarities_that_overflow_later_are_refused_too() -> None:
    pool = Pool(ids=[1, 2, 3], scores=[1.7e308, 1.6e308, 1.6e308], similarity=np.full((3, 3), -1.7e308))
    selector = GreedySelector(target_gain=0.0, novelty=1e308)
    assert selector.select(pool, Levers(diversity=0.9, size=1)).ids == (1,)
    with pytest.raises(ValueError, match="objective must stay finite"):
        selector.select(pool, Levers(diversity=0.9, size=2))


def test_rule_of_a_slate_is_that_of_its_selector() -> None:
    slate = TopKSelector().select(Pool(ids=[1], scores=[0.0]), Levers(size=1))
    assert slate.rule == Rule("top-k", 0.0, 1.0, 0.0)
