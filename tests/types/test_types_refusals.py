"""Everything a pool, a catalogue or levers refuse, with the field, the rule and the offender."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slateproof as sp

GOOD: dict[str, Any] = {"ids": ["b", "a"], "scores": [1.0, 2.0], "targets": [0.1, 0.9], "widths": [0.0, 0.3]}


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"ids": []}, "ids", "at least one candidate"),
        ({"ids": ["a", "a"]}, "ids", "must not repeat an id (got 'a' at 1)"),
        ({"ids": [1, True]}, "ids", "must be an integer or a string (got True at 1)"),
        ({"ids": [1, 2.0]}, "ids", "must be an integer or a string (got 2.0 at 1)"),
        ({"ids": [1, None]}, "ids", "must be an integer or a string (at 1)"),
        ({"ids": [1, 2**63]}, "ids", "must fit in 64 bits"),
        ({"ids": "ab"}, "ids", "not one string"),
        ({"ids": None}, "ids", "must be a sequence of ids (got 'NoneType')"),
        ({"ids": 5}, "ids", "must be a sequence of ids (got 'int')"),
        ({"ids": np.array(5)}, "ids", "must be a sequence of ids (got 'ndarray')"),
        ({"ids": ["a", "\ud800"]}, "ids", "must be text that UTF-8 can hold (got '\\ud800' at 1)"),
        ({"ids": [1, "\udc00"]}, "ids", "must be text that UTF-8 can hold"),
        ({"scores": [1.0, float("nan")]}, "scores", "must be finite (got nan at 'a')"),
        ({"scores": [float("-inf"), 1.0]}, "scores", "must be finite (got -inf at 'b')"),
        ({"scores": [1.0]}, "scores", "must have one value per id (2) (got 1)"),
        ({"scores": [[1.0, 2.0]]}, "scores", "one dimension"),
        ({"scores": ["x", "y"]}, "scores", "column of numbers"),
        ({"scores": ["1.5", "2.5"]}, "scores", "column of numbers (of type <U3)"),
        ({"scores": np.array(["1.5", "2.5"], object)}, "scores", "column of numbers (of type str)"),
        ({"scores": [True, False]}, "scores", "column of numbers (of type bool)"),
        ({"scores": [1.5, True]}, "scores", "column of numbers (of type bool)"),
        ({"scores": [10**400, 1.0]}, "scores", "column of numbers (int too large"),
        ({"scores": np.ma.array([1.0, 2.0], mask=[0, 1])}, "scores", "column of numbers (with masked entries)"),
        ({"vectors": [[1.0, False], [True, 0.0]]}, "vectors", "table of numbers (of type bool)"),
        ({"tags": [None, [1]]}, "tags", "must be a sequence (got 'NoneType' at 'b')"),
        ({"tags": [1, 2]}, "tags", "must be a sequence (got 'int' at 'b')"),
        ({"tags": 3}, "tags", "must be a sequence (got 'int')"),
        ({"tags": ["ab", [1]]}, "tags", "must be a sequence (got 'str' at 'b')"),
        ({"tags": [[[1]], [1]]}, "tags", "a tag must be a 64-bit integer (got [1] at 'b')"),
        ({"scores": [1j, 2.0]}, "scores", "column of numbers (of type complex128)"),
        ({"scores": np.array(["2024-01-01", "2024-01-02"], "M8[D]")}, "scores", "column of numbers"),
        ({"vectors": [["1", "0"], ["0", "1"]]}, "vectors", "table of numbers"),
        ({"targets": [0.1, 1.0000001]}, "targets", "must lie in [0, 1] (got 1.0000001 at 'a')"),
        ({"widths": [0.1, -1e-300]}, "widths", "must be at least 0 (got -1e-300 at 'a')"),
        ({"vectors": [[1.0, 0.0], [0.9, 0.0]]}, "vectors", "unit vectors (norm within 1e-09 of 1; see sp.unit) (got 0.9 at 'a')"),
        ({"vectors": [[1.0, 0.0], [float("nan"), 0.0]]}, "vectors", "finite unit vectors"),
        ({"vectors": [[1.0, 0.0]]}, "vectors", "one row per id (2)"),
        ({"vectors": [[], []]}, "vectors", "at least one dimension"),
        (
            {"similarity": [[1.0, 0.5], [0.4, 1.0]]},
            "similarity",
            "must be exactly symmetric; (S + S.T) / 2 is (got (0.5, 0.4) at ('b', 'a'))",
        ),
        ({"similarity": [[1.0, float("inf")], [float("inf"), 1.0]]}, "similarity", "must be finite"),
        ({"similarity": [[1.0]]}, "similarity", "square with one row per id (2)"),
        ({"tags": [[1], ["x"]]}, "tags", "a tag must be a 64-bit integer (got 'x' at 'a')"),
        ({"tags": [[1]]}, "tags", "one set of tags per id (2)"),
        ({"tags": [[1], [2]], "similarity": np.eye(2)}, "tags", "one similarity source"),
    ],
)
def test_a_pool_refuses(change: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(sp.InvalidInput) as caught:
        sp.Pool(**{**GOOD, **change})
    assert caught.value.field == field
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("levers", "field"),
    [
        ({"target_shift": 1.1}, "target_shift"),
        ({"exploration": -0.1}, "exploration"),
        ({"exploration": float("inf")}, "exploration"),
        ({"exploration": 10**400}, "exploration"),
        ({"diversity": 1.5}, "diversity"),
        ({"diversity": "much"}, "diversity"),
        ({"size": 0}, "size"),
        ({"size": 2.5}, "size"),
        ({"size": True}, "size"),
    ],
)
def test_levers_refuse(levers: dict[str, Any], field: str) -> None:
    with pytest.raises(sp.InvalidInput) as caught:
        sp.Levers(**levers)
    assert caught.value.field == field


def test_a_pool_keeps_private_copies_that_cannot_be_written() -> None:
    scores = np.array([1.0, 2.0])
    pool = sp.Pool(ids=[1, 2], scores=scores)
    scores[0] = 9.0
    assert pool.scores.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        pool.scores[0] = 5.0
    with pytest.raises(AttributeError, match="immutable"):
        pool.scores = scores


def test_integers_come_before_strings_and_strings_by_code_point() -> None:
    pool = sp.Pool(ids=["b", 10, "B", -1, "é", "a"], scores=[0.0] * 6)
    assert [pool.ids[i] for i in pool.order] == [-1, 10, "B", "a", "b", "é"]
    assert sp.TopKSelector().select(pool, sp.Levers(size=3)).ids == (-1, 10, "B")


def test_catalogue_pools_are_the_pools_they_stand_for() -> None:
    rng = np.random.default_rng(0)
    vectors = sp.unit(rng.normal(size=(5, 3)))
    catalog = sp.Catalog(["e", "d", "c", "b", "a"], [0.5, 0.4, 0.3, 0.2, 0.1], vectors=vectors)
    pool = catalog.pool(["b", "e", "a"], [1.0, 2.0, 3.0], widths=[0.1, 0.2, 0.3])
    plain = sp.Pool(["b", "e", "a"], [1.0, 2.0, 3.0], [0.2, 0.5, 0.1], [0.1, 0.2, 0.3], vectors=vectors[[3, 0, 4]])
    levers = sp.Levers(0.1, 0.5, 0.5, 3)
    one, two = (sp.GreedySelector().select(p, levers) for p in (pool, plain))
    assert one == two
    assert pool.ids == ("b", "e", "a")
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_catalogue_digest_names_the_facts_and_nothing_else() -> None:
    facts = {"a": 0.1, "b": 0.2, "c": 0.3}
    forward = sp.Catalog(list(facts), list(facts.values()))
    backward = sp.Catalog(list(facts)[::-1], list(facts.values())[::-1])
    other = sp.Catalog(list(facts), [0.1, 0.2, np.nextafter(0.3, 1)])
    assert forward.digest == backward.digest != other.digest
    assert pickle.loads(pickle.dumps(forward)).digest == forward.digest


@pytest.mark.parametrize(
    ("ids", "scores", "widths", "field", "said"),
    [
        (["a", "x"], [1, 2], None, "ids", "is not in the catalogue (got 'x' at 1)"),
        (["a", "a"], [1, 2], None, "ids", "must not repeat an id (got 'a' at 1)"),
        (["a", "b"], [1, np.nan], None, "scores", "must be finite (got nan at 'b')"),
        (["a", "b"], [1, 2], [0, -1], "widths", "must be at least 0 (got -1.0 at 'b')"),
        (["a", "b"], [1], None, "scores", "one value per id (2)"),
        (["a", "b"], ["1", "2"], None, "scores", "column of numbers (of type <U1)"),
        (["a", "b"], [True, False], None, "scores", "column of numbers (of type bool)"),
        (None, [1], None, "ids", "must be a sequence of ids (got 'NoneType')"),
        ([], [], None, "ids", "at least one candidate"),
    ],
)
def test_a_catalogue_refuses(ids: Any, scores: Any, widths: Any, field: str, said: str) -> None:
    catalog = sp.Catalog(["a", "b"], [0.1, 0.2])
    with pytest.raises(sp.InvalidInput) as caught:
        catalog.pool(ids, scores, widths)
    assert caught.value.field == field
    assert said in str(caught.value)


def test_unit_scales_rows_and_refuses_rows_without_a_direction() -> None:
    huge = sp.unit([[3e200, 4e200], [1e-200, 0.0]])
    assert np.allclose(huge, [[0.6, 0.8], [1.0, 0.0]], rtol=1e-15)
    for rows in ([[0.0, 0.0]], [[np.inf, 1.0]], [[np.nan, 1.0]]):
        with pytest.raises(sp.InvalidInput, match="must be finite and not zero"):
            sp.unit(rows)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda p: sp.GreedySelector().select(p, sp.Levers(size=3)), "levers.size"),
        (lambda p: sp.GreedySelector().select([1, 2], sp.Levers(size=1)), "pool"),
        (lambda p: sp.GreedySelector().select(p, {"size": 1}), "levers"),
        (lambda p: sp.GreedySelector().select(p, sp.Levers(size=1), (0.5, 0.5)), "state"),
        (lambda p: sp.GreedySelector().select(sp.Pool([1], [0.0]), sp.Levers(size=1)), "targets"),
        (lambda p: sp.WindowSelector().select(sp.Pool([1], [0.0]), sp.Levers(size=1)), "targets"),
        (lambda p: sp.GreedySelector(window=0.0), "window"),
        (lambda p: sp.GreedySelector(novelty=-0.1), "novelty"),
        (lambda p: sp.GreedySelector(target_gain=float("nan")), "target_gain"),
        (lambda p: sp.GreedySelector(dissimilarity="median"), "dissimilarity"),
        (lambda p: sp.WindowSelector(node_budget=0), "node_budget"),
        (lambda p: sp.LeverMap.preset("ml-25m"), "preset"),
        (lambda p: sp.LeverMap.preset(["oulad"]), "preset"),
        (lambda p: sp.GreedySelector().within("x"), "bounds"),
        (lambda p: sp.LeverBounds(size=3), "bounds.size"),
        (lambda p: sp.LeverBounds(exploration=("a", "b")), "bounds.exploration"),
        (lambda p: sp.LeverBounds(diversity=(0.5, float("nan"))), "bounds.diversity"),
        (lambda p: sp.PoolBatch.of(None), "pools"),
        (lambda p: sp.PoolBatch.of([None]), "pools"),
        (lambda p: sp.PoolBatch.from_arrow(pa.table({"ids": [[1]], "scores": [[0.0]]}), catalog="x"), "catalog"),
        (lambda p: sp.State(shown=None), "shown"),
        (lambda p: sp.State(shown=["\ud800"]), "shown"),
    ],
)
def test_a_selector_refuses(call: Any, field: str) -> None:
    with pytest.raises(sp.InvalidInput) as caught:
        call(sp.Pool(**GOOD))
    assert caught.value.field == field


def test_an_error_survives_the_border_between_processes() -> None:
    error = sp.InvalidInput("scores", "must be finite", 1.0, where="a")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.field, again.rule, again.value, again.where) == ("scores", "must be finite", 1.0, "a")
