"""What every selector owes its users; each one's tests inherit this class."""

from __future__ import annotations

import json
import pickle
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slateproof as sp
from slateproof.select import selector_of
from slateproof.select.base import BaseSelector
from tests.strategies import levers_for, pools, states_for

INHERITED = settings(
    max_examples=50, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.differing_executors]
)
"""Inherited tests run once per class by design; derandomised and without a database, no example passes from one to another."""


class SelectorConformance(ABC):
    """Give ``selector``; inherit the rest."""

    @staticmethod
    @abstractmethod
    def selector() -> BaseSelector:
        """The selector under test."""

    @given(st.data())
    @INHERITED
    def test_a_slate_is_k_different_candidates(self, data: Any) -> None:
        pool = data.draw(pools(targets=True))
        levers = data.draw(levers_for(pool.size))
        slate = self.selector().select(pool, levers, data.draw(states_for(pool)))
        assert len(slate) == len(set(slate.ids)) == levers.size
        assert set(slate.ids) <= set(pool.ids)
        assert slate.ids == tuple(pool.ids[i] for i in slate.indices)
        assert slate.margin == slate.margins.min() >= 0.0

    @given(st.data())
    @INHERITED
    def test_the_order_of_the_input_leaves_no_mark(self, data: Any) -> None:
        n = data.draw(st.integers(1, 10))
        scores = data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=n, max_size=n))
        order = data.draw(st.permutations(range(n)))
        rng = np.random.default_rng(n)
        vectors, targets = sp.unit(rng.normal(size=(n, 3))), np.round(rng.uniform(size=n), 1)
        one = sp.Pool(range(n), scores, targets, vectors=vectors)
        two = sp.Pool(order, np.array(scores)[order], targets[order], vectors=vectors[order])
        levers = data.draw(levers_for(n))
        first, second = (self.selector().select(pool, levers) for pool in (one, two))
        assert first == second
        assert first.trace.to_dict() == second.trace.to_dict()

    @given(st.data())
    @INHERITED
    def test_a_batch_is_its_slates_on_any_number_of_threads(self, data: Any) -> None:
        pool = data.draw(pools(targets=True))
        levers, state = data.draw(levers_for(pool.size)), data.draw(states_for(pool))
        batch = sp.PoolBatch.of([pool] * 3)
        slate = self.selector().select(pool, levers, state)
        for threads in (1, 2):
            slates = self.selector().select_batch(batch, levers, state, threads=threads)
            assert [slates[b] for b in range(3)] == [slate] * 3

    @given(st.data())
    @INHERITED
    def test_below_the_radius_nothing_changes(self, data: Any) -> None:
        pool = data.draw(pools(targets=True, min_size=2))
        levers = data.draw(levers_for(pool.size))
        slate = self.selector().select(pool, levers)
        certificate = sp.certify(slate)
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        reach = min(certificate.radius, 1.0) * 0.999
        other = pool.scores + reach * rng.choice([-1.0, 1.0], pool.size)
        if certificate.holds(other):
            assert self.selector().select(pool.with_scores(other), levers).ids == slate.ids

    def test_equal_candidates_go_by_id(self) -> None:
        pool = sp.Pool(["b", 2, "a", 1], [0.5] * 4, [0.5] * 4)
        assert set(self.selector().select(pool, sp.Levers(size=3)).ids) == {1, 2, "a"}
        assert self.selector().select(pool, sp.Levers(size=3)).ids[0] == 1

    def test_the_rule_describes_the_selector(self) -> None:
        pool = sp.Pool(range(8), np.linspace(0, 1, 8), np.linspace(0, 1, 8))
        levers = sp.Levers(0.1, 0.0, 0.2, 3)
        twin = selector_of(self.selector().rule)
        assert twin.rule == self.selector().rule
        assert twin.select(pool, levers) == self.selector().select(pool, levers)

    def test_the_trace_is_plain_and_whole(self) -> None:
        pool = sp.Pool(["x", "y"], [1.0, 0.5], [0.5, 0.4])
        slate = self.selector().select(pool, sp.Levers(size=1))
        told = json.loads(json.dumps(slate.trace.to_dict()))
        assert told["chosen"] == list(slate.ids)
        assert told["rule"]["kind"] == slate.rule.kind
        assert pickle.loads(pickle.dumps(slate)) == slate
        assert slate.explain().to_text()

    def test_a_size_above_the_pool_is_refused_alone_and_in_a_batch(self) -> None:
        pool = sp.Pool(["x"], [1.0], [0.5])
        with pytest.raises(sp.InvalidInput, match=r"levers.size: must not exceed the pool's 1 candidates \(got 2\)"):
            self.selector().select(pool, sp.Levers(size=2))
        with pytest.raises(sp.InvalidInput, match="got 2 at row 0"):
            self.selector().select_batch(sp.PoolBatch.of([pool]), sp.Levers(size=2))

    def test_a_policys_box_is_kept(self) -> None:
        bounded = self.selector().within(sp.LeverBounds(size=(2, 3)), "digest")
        pool = sp.Pool(range(4), [0.0] * 4, [0.5] * 4)
        assert bounded.select(pool, sp.Levers(size=2)).policy_digest == "digest"
        with pytest.raises(sp.InvalidInput, match=r"the policy allows \[2, 3\]"):
            bounded.select(pool, sp.Levers(size=1))
