"""A batch gives the slates that single selections give, bit for bit, whatever its size and the number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slateproof as sp
from slateproof.select.base import BaseSelector
from slateproof.types import LeverBatch, StateBatch, Steps
from tests.strategies import levers_for, pools, states_for


@st.composite
def batches(draw: Any) -> tuple[list[sp.Pool], list[sp.Levers], list[sp.State], BaseSelector]:
    first = draw(pools(targets=True))
    kind, widths = first.similarity.kind, first.widths is not None
    others = draw(st.lists(pools(targets=True), max_size=5))
    alike = [p for p in others if p.similarity.kind == kind and (p.widths is not None) == widths]
    if kind == "vectors":
        alike = [p for p in alike if p.similarity.vectors.shape[1:] == first.similarity.vectors.shape[1:]]
        alike = [p for p in alike if p.similarity.vectors.dtype == first.similarity.vectors.dtype]
    every = [first, *alike]
    selector = draw(
        st.sampled_from([sp.GreedySelector(), sp.GreedySelector(dissimilarity="mean"), sp.TopKSelector(), sp.WindowSelector()])
    )
    return every, [draw(levers_for(p.size)) for p in every], [draw(states_for(p)) for p in every], selector


def check_same(one: sp.Slate, other: sp.Slate) -> None:
    assert one == other
    assert one.trace.to_dict() == other.trace.to_dict()
    if isinstance(one.steps, Steps) and isinstance(other.steps, Steps):
        assert one.steps.places.tobytes() == other.steps.places.tobytes()
        assert one.steps.numbers.tobytes() == other.steps.numbers.tobytes()


@given(batches(), st.booleans(), st.sampled_from([1, 2, 3]))
@settings(max_examples=150)
def test_a_batch_equals_single_selections(
    case: tuple[list[sp.Pool], list[sp.Levers], list[sp.State], BaseSelector], trace: bool, threads: int
) -> None:
    every, levers, states, selector = case
    slates = selector.select_batch(sp.PoolBatch.of(every), levers, states, trace=trace, threads=threads)
    assert len(slates) == len(every)
    for b, pool in enumerate(every):
        check_same(slates[b], selector.select(pool, levers[b], states[b]))
    table = slates.to_arrow()
    assert [[str(i) for i in ids] for ids in table["ids"].to_pylist()] == [[str(i) for i in s.ids] for s in slates]
    assert slates.margin.tolist() == [s.margin for s in slates]


def arrow_of(every: list[sp.Pool]) -> pa.Table:
    columns: dict[str, Any] = {"ids": [list(p.ids) for p in every], "scores": [p.scores.tolist() for p in every]}
    columns["targets"] = [None if p.targets is None else p.targets.tolist() for p in every]
    columns["vectors"] = [p.similarity.vectors.tolist() for p in every]
    return pa.table(columns)


@pytest.mark.parametrize("names", ["integers", "strings"])
def test_pools_from_arrow_equal_pools_made_one_by_one(names: str) -> None:
    rng = np.random.default_rng(1)
    every = []
    for n in (1, 7, 40):
        ids = rng.permutation(200)[:n].tolist()
        ids = ids if names == "integers" else [f"q{i}" for i in ids]
        scores = np.round(rng.normal(size=n), 1)
        every.append(sp.Pool(ids=ids, scores=scores, targets=rng.uniform(size=n), vectors=sp.unit(rng.normal(size=(n, 4)))))
    batch = sp.PoolBatch.from_arrow(arrow_of(every))
    shown = every[2].ids[:5]
    levers, state = sp.Levers(0.1, 0.0, 0.4, 1), sp.State(shown=(*shown, "elsewhere"))
    slates = sp.GreedySelector().select_batch(batch, [sp.Levers(0.1, 0.0, 0.4, min(5, p.size)) for p in every], state)
    for b, pool in enumerate(every):
        check_same(slates[b], sp.GreedySelector().select(pool, slates.levers[b], state))
        assert batch[b].ids == pool.ids
    assert sp.GreedySelector().select_batch(batch, levers, state)[1] == sp.GreedySelector().select(every[1], levers, state)


def test_pools_by_reference_into_a_catalogue() -> None:
    rng = np.random.default_rng(2)
    catalog = sp.Catalog([f"i{k}" for k in range(50)], rng.uniform(size=50), vectors=sp.unit(rng.normal(size=(50, 6))))
    picks = [rng.permutation(50)[:20] for _ in range(9)]
    scores = rng.normal(size=(9, 20))
    table = pa.table({"ids": [[f"i{k}" for k in p] for p in picks], "scores": list(scores)})
    batch = sp.PoolBatch.from_arrow(table, catalog)
    singles = [catalog.pool([f"i{k}" for k in p], s) for p, s in zip(picks, scores, strict=True)]
    assert batch[3].catalog is catalog
    state = sp.State(shown=("i3", "i4", "i5"))
    for source in (batch, sp.PoolBatch.of(singles)):
        slates = sp.GreedySelector().select_batch(source, sp.Levers(diversity=0.5, size=4), state)
        for b, pool in enumerate(singles):
            check_same(slates[b], sp.GreedySelector().select(pool, sp.Levers(diversity=0.5, size=4), state))


def test_many_chunks_and_threads_give_the_same() -> None:
    rng = np.random.default_rng(3)
    catalog = sp.Catalog(range(300), rng.uniform(size=300), vectors=sp.unit(rng.normal(size=(300, 8))))
    every = [catalog.pool(rng.permutation(300)[:30], rng.normal(size=30)) for _ in range(1300)]
    batch = sp.PoolBatch.of(every)
    levers = {
        "target_shift": np.full(1300, 0.1),
        "exploration": np.zeros(1300),
        "diversity": np.full(1300, 0.3),
        "size": np.arange(1300) % 8 + 1,
    }
    one, two = (sp.GreedySelector().select_batch(batch, levers, threads=t) for t in (1, 4))
    assert one.to_arrow().equals(two.to_arrow())
    assert one.queried is not None
    assert two.queried is not None
    assert [p.tobytes() for p in one.queried.parts] == [p.tobytes() for p in two.queried.parts]
    check_same(one[1299], sp.GreedySelector().select(every[1299], one.levers[1299]))


BASE = {"ids": [["a", "b"], ["a", "c"]], "scores": [[1.0, 2.0], [3.0, 4.0]], "targets": [[0.1, 0.2], [0.3, 0.4]]}


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"scores": [[1.0, 2.0], [3.0, float("nan")]]}, "scores", "must be finite (got nan at row 1, id 'c')"),
        ({"scores": [[1.0, 2.0], [3.0]]}, "scores", "must have one value per id (2) (got 1 at row 1)"),
        ({"scores": [[1.0, 2.0], None]}, "scores", "must not be null (at row 1)"),
        ({"scores": [[1.0, None], [1.0, 2.0]]}, "scores", "must not be null (at row 0)"),
        ({"ids": [["a", "a"], ["a", "c"]]}, "ids", "must not repeat an id (got 'a' at row 0)"),
        ({"ids": [["a", "b"], []], "scores": [[1.0, 2.0], []], "targets": [[0.1, 0.2], []]}, "ids", "at row 1"),
        ({"ids": [[1.5, 2.5], [1.0, 2.0]]}, "ids", "must be integers or strings"),
        ({"targets": [[0.1, 1.2], [0.3, 0.4]]}, "targets", "must lie in [0, 1] (got 1.2 at row 0, id 'b')"),
        ({"widths": [[0.1, 0.2], [-0.3, 0.4]]}, "widths", "must be at least 0 (got -0.3 at row 1, id 'a')"),
        ({"vectors": [[[1.0], [1.0]], [[1.0], [0.5]]]}, "vectors", "got 0.5 at row 1, id 'c'"),
        ({"vectors": [[[1.0], [1.0]], [[1.0]]]}, "vectors", "at row 1"),
        (
            {"similarity": [[1.0, 0.2, 0.2, 1.0], [1.0, 0.1, 0.3, 1.0]]},
            "similarity",
            "exactly symmetric (got (0.1, 0.3) at row 1, id 'a')",
        ),
        ({"similarity": [[1.0], [1.0, 0.1, 0.1, 1.0]]}, "similarity", "must have 4 entries (got 1 at row 0)"),
    ],
)
def test_a_bad_row_is_named(change: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(sp.InvalidInput) as caught:
        sp.PoolBatch.from_arrow(pa.table({**BASE, **change}))
    assert caught.value.field == field
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("levers", "said"),
    [
        (sp.Levers(size=3), "levers.size: must not exceed the pool's 2 candidates (got 3 at row 0)"),
        ([sp.Levers(size=1)], "levers: must have one entry per pool (2) (got 1)"),
        (
            {"target_shift": [0, 0], "exploration": [0, -1], "diversity": [0, 0], "size": [1, 1]},
            "exploration: must be finite and at least 0",
        ),
        ({"target_shift": [0, 0], "exploration": [0, 0], "diversity": [0, 0]}, "size: the column is missing"),
        (
            {"target_shift": [0, 0], "exploration": [0, 0], "diversity": [0, 0], "size": [1, 1.5]},
            "size: must be a whole number (got 1.5 at row 1)",
        ),
    ],
)
def test_bad_levers_are_named(levers: Any, said: str) -> None:
    with pytest.raises(sp.InvalidInput) as caught:
        sp.GreedySelector().select_batch(sp.PoolBatch.from_arrow(pa.table(BASE)), levers)
    assert said in str(caught.value)


def test_bounds_hold_for_every_row() -> None:
    bounded = sp.GreedySelector().within(sp.LeverBounds(diversity=(0.05, 0.6)))
    batch = sp.PoolBatch.from_arrow(pa.table(BASE))
    with pytest.raises(sp.InvalidInput, match=r"levers.diversity: the policy allows \[0.05, 0.6\] \(got 0.7 at row 1\)"):
        bounded.select_batch(batch, [sp.Levers(diversity=0.3, size=1), sp.Levers(diversity=0.7, size=1)])
    with pytest.raises(sp.InvalidInput, match="the policy allows"):
        bounded.select(batch[0], sp.Levers(diversity=0.7, size=1))


def test_overflow_in_a_batch_names_row_and_id() -> None:
    table = pa.table({"ids": [[1], [2]], "scores": [[1.0], [1.7e308]], "widths": [[0.0], [1e308]]})
    with pytest.raises(sp.InvalidInput, match=r"objective must stay finite.*at row 1, id 2"):
        sp.GreedySelector(target_gain=0.0).select_batch(sp.PoolBatch.from_arrow(table), sp.Levers(exploration=1.0, size=1))


def test_levers_and_states_of_a_batch_come_back_one_by_one() -> None:
    levers = [sp.Levers(0.1, 0.2, 0.3, 4), sp.Levers(size=2)]
    states = [sp.State(0.1, 0.2, 0.3, ("a",)), sp.State()]
    assert [LeverBatch.of(levers, 2)[b] for b in range(2)] == levers
    assert [StateBatch.of(states, 2)[b] for b in range(2)] == states
    table = pa.table({"knowledge": [0.1, 0.5], "shown": [["a"], None]})
    assert StateBatch.of(table, 2)[0] == sp.State(0.1, shown=("a",))


def test_float32_vectors_are_widened_exactly() -> None:
    rng = np.random.default_rng(5)
    narrow = sp.unit(rng.normal(size=(30, 7))).astype(np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(narrow.reshape(-1)), 7)
    table = pa.table(
        {"ids": [list(range(30))], "scores": [rng.normal(size=30)], "vectors": pa.ListArray.from_arrays([0, 30], vectors)}
    )
    batch = sp.PoolBatch.from_arrow(table)
    assert batch.source.vectors.dtype == np.float32
    levers = sp.Levers(diversity=0.5, size=6)
    single = sp.Pool(ids=range(30), scores=batch.scores, vectors=narrow)
    selector = sp.GreedySelector(target_gain=0.0)
    check_same(selector.select_batch(batch, levers)[0], selector.select(single, levers))
