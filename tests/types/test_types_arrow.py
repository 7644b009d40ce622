"""Arrow tables of pools and of items: every layout of lists and ids that writers choose, and what is refused in plain words."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slateproof as sp
from slateproof.types import LeverBatch, StateBatch
from slateproof.types.row import BadRows

IDS, SCORES = [["b", "a"], ["c", "a"]], [[1.0, 2.0], [3.0, 4.0]]
VECTORS = [[[1.0, 0.0], [0.0, 1.0]], [[0.6, 0.8], [1.0, 0.0]]]
LEVERS = sp.Levers(diversity=0.5, size=2)
RAW = sp.GreedySelector(target_gain=0.0)


def typed(values: Any, kind: Any) -> Any:
    return pa.array(values, kind)


def coded(large: bool) -> Any:
    ids = pa.array(["b", "a", "c", "a"]).dictionary_encode()
    kind = pa.LargeListArray if large else pa.ListArray
    return kind.from_arrays(pa.array([0, 2, 4], pa.int64() if large else pa.int32()), ids)


@pytest.mark.parametrize(
    "columns",
    [
        {"ids": typed(IDS, pa.large_list(pa.large_string())), "scores": typed(SCORES, pa.large_list(pa.float64()))},
        {"ids": typed(IDS, pa.list_(pa.string(), 2)), "scores": typed(SCORES, pa.list_(pa.float32(), 2))},
        {"ids": typed(IDS, pa.list_(pa.string_view())), "scores": typed(SCORES, pa.list_(pa.int64()))},
        {"ids": coded(False)},
        {"ids": coded(True)},
        {"vectors": typed(VECTORS, pa.large_list(pa.large_list(pa.float64())))},
        {"vectors": typed(VECTORS, pa.list_(pa.large_list(pa.float64())))},
        {"vectors": typed(VECTORS, pa.list_(pa.list_(pa.float64(), 2), 2))},
        {"vectors": typed(VECTORS, pa.large_list(pa.list_(pa.float64(), 2)))},
    ],
)
@pytest.mark.parametrize("cut", [False, True])
def test_every_layout_of_lists_means_the_same(columns: dict[str, Any], cut: bool) -> None:
    plain = pa.table({"ids": IDS, "scores": SCORES, "vectors": VECTORS})
    other = pa.table({**{name: plain[name] for name in plain.column_names}, **columns})
    if cut:  # a slice keeps the values of its neighbours behind its offsets
        plain, other = (pa.concat_tables([t, t, t]).combine_chunks().slice(3, 2) for t in (plain, other))
    one, two = (RAW.select_batch(sp.PoolBatch.from_arrow(table), LEVERS) for table in (plain, other))
    assert one.to_arrow().to_pylist() == two.to_arrow().to_pylist()


@pytest.mark.parametrize(
    "vector",
    [
        pa.array([[1, 0], [0, 1], [1, 0]]),
        pa.array([[1, 0], [0, 1], [1, 0]], pa.list_(pa.int8(), 2)),
        pa.array([[1, 0], [0, 1], [1, 0]], pa.large_list(pa.float64())),
        pa.array([[1, 0], [0, 1], [1, 0]], pa.list_(pa.float32())),
    ],
)
def test_every_layout_of_catalogue_vectors_means_the_same(vector: Any) -> None:
    ids = pa.array(["a", "b", "c"]).dictionary_encode()
    catalog = sp.Catalog.from_arrow(pa.table({"id": ids, "target": [0.1, 0.2, 0.3], "vector": vector}))
    assert catalog.similarity.vectors.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert catalog.ids == ("a", "b", "c")


CATALOG = {"id": [1, 2], "target": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({**CATALOG, "vectors": [[1.0], [1.0]]}, "vectors: is no column of a catalogue; vector is"),
        ({**CATALOG, "tag": [[1], [1]]}, "tag: is no column of a catalogue; tags is"),
        ({**CATALOG, "similarity": [[1.0], [1.0]]}, "similarity: is no column of a catalogue; vector or tags is"),
        ({**CATALOG, "ids": [1, 2]}, "ids: is no column of a catalogue; id is"),
        ({**CATALOG, "vector": [[1.0], None]}, "vector: must not be null (at row 1)"),
        ({**CATALOG, "vector": [[1.0, 0.0], [1.0]]}, "vector: must have 2 entries (got 1 at row 1)"),
        ({**CATALOG, "vector": [[1.0, 0.0], [None, 1.0]]}, "vector: must not hold nulls (at row 1)"),
        ({**CATALOG, "vector": [["1"], ["1"]]}, "vector: must hold numbers (got 'string')"),
        ({**CATALOG, "target": ["0.1", "0.2"]}, "targets: must be a column of numbers (of type str)"),
        ({**CATALOG, "tags": [[1], None]}, "tags: must not be null (at row 1)"),
        ({**CATALOG, "tags": [["x"], ["y"]]}, "a tag must be a 64-bit integer"),
        ({"id": pa.array([], pa.int64()), "target": pa.array([], pa.float64())}, "id: a catalogue needs at least one item"),
        (
            {"id": pa.array([], pa.int64()), "target": pa.array([], pa.float64()), "vector": pa.array([], pa.list_(pa.float64()))},
            "id: a catalogue needs at least one item",
        ),
    ],
)
def test_a_table_of_items_refuses(table: dict[str, Any], said: str) -> None:
    with pytest.raises(sp.InvalidInput) as caught:
        sp.Catalog.from_arrow(pa.table(table))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vector": [[1.0], [1.0]]}, "vector: is no column of a table of pools; vectors is"),
        ({"width": [[1.0], [1.0]]}, "width: is no column of a table of pools; widths is"),
        ({"target": [[1.0], [1.0]]}, "target: is no column of a table of pools; targets is"),
        ({"tags": [[[1], None], [[1], [2]]]}, "tags: must not be null (at row 0)"),
        ({"tags": [[[1], [2]], [[1], [None]]]}, "tags: must not be null (at row 1)"),
        ({"tags": [[["x"], ["y"]], [["x"], ["y"]]]}, "tags: a tag must be a 64-bit integer (got 'string')"),
        ({"tags": [[[1.0], [2.0]], [[1.0], [2.0]]]}, "tags: a tag must be a 64-bit integer (got 'double')"),
        (
            {"tags": pa.array([[[1], [2]], [[1], [2**63]]], pa.list_(pa.list_(pa.uint64())))},
            "tags: a tag must be a 64-bit integer (got 9223372036854775808 at row 1, id 'a')",
        ),
        ({"vectors": [[[1.0], None], [[1.0], [1.0]]]}, "vectors: must not be null (at row 0)"),
        ({"vectors": [[[1.0], [None]], [[1.0], [1.0]]]}, "vectors: must not be null (at row 0)"),
        ({"vectors": [[1.0, 1.0], [1.0, 1.0]]}, "vectors: must be a column of lists of vectors (got 'double')"),
        ({"ids": pa.array([[1, 2], [3, 2**63]], pa.list_(pa.uint64()))}, "ids: an integer id must fit in 64 bits"),
        ({"ids": [[1.5, 2.0], [3.0, 1.0]]}, "ids: must be integers or strings (got 'double')"),
        ({"scores": [["1", "2"], ["3", "4"]]}, "scores: must hold numbers (got 'string')"),
        ({"scores": [[True, False], [True, False]]}, "scores: must hold numbers (got 'bool')"),
        ({"scores": [1.0, 2.0]}, "scores: must be a column of lists, one per pool (got 'double')"),
        ({"similarity": [[1.0, None, None, 1.0], [1.0] * 4]}, "similarity: must not be null (at row 0)"),
    ],
)
def test_a_table_of_pools_refuses(change: dict[str, Any], said: str) -> None:
    with pytest.raises(sp.InvalidInput) as caught:
        sp.PoolBatch.from_arrow(pa.table({"ids": IDS, "scores": SCORES, **change}))
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["targets", "vectors", "similarity", "tags"])
def test_facts_beside_a_catalogue_are_refused(name: str) -> None:
    catalog = sp.Catalog(["a", "b", "c"], [0.1, 0.2, 0.3])
    facts = {"targets": SCORES, "vectors": VECTORS, "similarity": [[1.0] * 4] * 2, "tags": [[[1], [2]]] * 2}
    with pytest.raises(sp.InvalidInput, match=f"{name}: stands in the catalogue"):
        sp.PoolBatch.from_arrow(pa.table({"ids": IDS, "scores": SCORES, name: facts[name]}), catalog)


def test_all_bad_rows_of_a_check_come_together_and_survive_a_process_border() -> None:
    table = pa.table({"ids": [["a"], ["b"], ["c"], ["d"]], "scores": [[np.nan], [1.0], [np.inf], [2.0]]})
    with pytest.raises(BadRows) as caught:
        sp.PoolBatch.from_arrow(table)
    again = pickle.loads(pickle.dumps(caught.value))
    for error in (caught.value, again):
        assert [str(row) for row in error.rows] == [
            "scores: must be finite (got nan at row 0, id 'a')", "scores: must be finite (got inf at row 2, id 'c')",
        ]  # fmt: skip
        assert str(error) == str(error.rows[0])


def test_scpo_overflow_in_a_batch_names_every_row() -> None:
    table = pa.table({"ids": [[1], [2], [3]], "scores": [[1.0], [1.7e308], [-1.7e308]], "targets": [[0.5]] * 3})
    for threads in (1, 2):
        with pytest.raises(BadRows) as caught:
            sp.WindowSelector().select_batch(sp.PoolBatch.from_arrow(table), sp.Levers(size=1), threads=threads)
        assert [str(error).split("(")[1] for error in caught.value.rows] == [
            "got 1.7e+308 at row 1, id 2)", "got -1.7e+308 at row 2, id 3)",
        ]  # fmt: skip


def test_nulls_in_the_state_are_neutral_and_other_rows_keep_theirs() -> None:
    table = pa.table({"knowledge": [0.2, None], "engagement": pa.nulls(2), "shown": [None, ["a"]], "uncertainty": [1, None]})
    states = StateBatch.of(table, 2)
    assert [states[b] for b in range(2)] == [sp.State(0.2, uncertainty=1.0), sp.State(shown=("a",))]


@pytest.mark.parametrize("column", [["0.5", "0.6"], np.array(["0.5", "0.6"], object), [True, False], pa.array(["0.5", None])])
def test_text_and_truth_are_no_states(column: Any) -> None:
    with pytest.raises(sp.InvalidInput, match="knowledge: must be a column of numbers"):
        StateBatch.of({"knowledge": column}, 2)


def test_columns_of_a_batch_are_private_and_frozen() -> None:
    given = {name: np.full(2, 0.5) for name in ("target_shift", "exploration", "diversity", "knowledge")}
    given["size"] = np.array([1, 2])
    levers, states = LeverBatch.of(given, 2), StateBatch.of({"knowledge": given["knowledge"]}, 2)
    for column in given.values():
        column[:] = 0
    assert [levers[b] for b in range(2)] == [sp.Levers(0.5, 0.5, 0.5, 1), sp.Levers(0.5, 0.5, 0.5, 2)]
    assert states[0].knowledge == 0.5
    made = [levers, LeverBatch.of(sp.Levers(), 2), LeverBatch.of([sp.Levers()] * 2, 2)]
    made += [states, StateBatch.of(sp.State(), 2), StateBatch.of([sp.State()] * 2, 2)]
    for batch in made:
        for name in batch.__dataclass_fields__:
            if name != "shown":
                with pytest.raises(ValueError, match="read-only"):
                    getattr(batch, name)[0] = 1


def test_a_catalogue_of_integers_and_strings() -> None:
    """Arrow has no column of both: in columns all ids become strings, in slates they stay what they are."""
    catalog = sp.Catalog([2, "b", 1, "a"], [0.1, 0.2, 0.3, 0.4])
    pools = [catalog.pool([1, "a", 2], [3.0, 2.0, 1.0]), catalog.pool([1, 2], [2.0, 1.0])]
    slates = sp.TopKSelector().select_batch(sp.PoolBatch.of(pools), sp.Levers(size=2))
    assert slates[0].ids == (1, "a")
    assert slates.ids.to_pylist() == [["1", "a"], ["1", "2"]]
    assert slates.to_arrow()["runners_up"].to_pylist() == [["a", "2"], ["2", None]]


def test_a_batch_is_asked_for_one_slate_at_a_time() -> None:
    batch = sp.PoolBatch.of([sp.Pool([1, 2], [0.0, 1.0], [0.5, 0.5])] * 2)
    slates = sp.TopKSelector().select_batch(batch, sp.Levers(size=1))
    assert slates[-1] == slates[np.int64(1)]
    for value in (slates, batch):
        for place in (slice(0, 1), 0.0, True, None):
            with pytest.raises(sp.InvalidInput, match="place: must be one whole number"):
                value[place]
        with pytest.raises(IndexError):
            value[2]


def test_a_slate_of_a_batch_does_not_depend_on_its_neighbours() -> None:
    """Matrices of very different size beside each other: same bounds, same similarities asked for, same trace."""
    rng = np.random.default_rng(3)
    rows = []
    for scale in (1.0, 1e6, 1e-6):
        half = rng.uniform(-scale, scale, (30, 30))
        rows.append({"ids": list(range(30)), "scores": rng.normal(size=30), "similarity": ((half + half.T) / 2).reshape(-1)})
    table = pa.Table.from_pylist(rows)
    levers = sp.Levers(diversity=0.4, size=6)
    together = RAW.select_batch(sp.PoolBatch.from_arrow(table), levers)
    for b in range(3):
        alone = RAW.select_batch(sp.PoolBatch.from_arrow(table.slice(b, 1)), levers)[0]
        matrix = np.reshape(rows[b]["similarity"], (30, 30))
        single = RAW.select(sp.Pool(rows[b]["ids"], rows[b]["scores"], similarity=matrix), levers)
        assert together[b].trace.to_dict() == alone.trace.to_dict() == single.trace.to_dict()
        assert together[b].steps.places.tobytes() == single.steps.places.tobytes()
