"""Item vectors from a column of a table: read in every format, unit length, the source of similarity from then on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slateproof import corpora, learn
from slateproof.errors import InvalidInput
from slateproof.types import PoolBatch

MAP = {"user": "u", "item": "i", "response": "r"}
VECTORS = {"x": [3.0, -4.0], "y": [0.0, 1e200], "z": [1e-200, 0.0]}
ROWS = [{"u": u, "i": i, "r": 1, "v": VECTORS[i], "t": "a"} for u in ("p", "q", "s", "w") for i in "zyx"]


def write(path: Path, rows: list[dict[str, object]], how: str = " ") -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        cells = [{**row, "v": how.join(map(repr, row["v"])) if isinstance(row["v"], list) else row["v"]} for row in rows]
        text = "".join(",".join(f'"{cell}"' for cell in row.values()) + "\n" for row in cells)
        path.write_text("u,i,r,v,t\n" + text, "utf-8")
    return path


@pytest.mark.parametrize(("ending", "how"), [("csv", " "), ("csv", ", "), ("csv", ";"), ("jsonl", ""), ("parquet", "")])
def test_vectors_of_every_format_are_unit_rows(tmp_path: Path, ending: str, how: str) -> None:
    corpus = corpora.load_table(write(tmp_path / f"t.{ending}", ROWS, how), **MAP, vectors="v")
    assert corpus.items.vectors is not None
    np.testing.assert_allclose(corpus.items.vectors, [[0.6, -0.8], [0.0, 1.0], [1.0, 0.0]], atol=1e-15)
    assert "2 numbers per item" in corpus.describe().to_text()
    plain = corpora.load_table(tmp_path / f"t.{ending}", **MAP)
    assert plain.items.vectors is None
    assert plain.digest != corpus.digest
    with pytest.raises(ValueError, match="read-only"):
        corpus.items.vectors[0, 0] = 1.0


@pytest.mark.parametrize("dtype", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.int16(), 2)])
def test_parquet_lists_of_every_kind(tmp_path: Path, dtype: pa.DataType) -> None:
    table = pa.table({"u": [1, 2], "i": [7, 8], "r": [1, 0], "v": pa.array([[3, 4], [0, 2]], dtype)})
    pq.write_table(table, tmp_path / "t.parquet")
    corpus = corpora.load_table(tmp_path / "t.parquet", **MAP, vectors="v")
    assert corpus.items.vectors is not None
    np.testing.assert_allclose(corpus.items.vectors, [[0.6, 0.8], [0.0, 1.0]], atol=1e-15)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("value", [None, [], [1.0, None], [1.0, float("nan")], [float("inf"), 1.0]])
def test_a_row_without_a_vector_is_malformed(tmp_path: Path, ending: str, value: object) -> None:
    rows = [*ROWS[:3], {**ROWS[3], "v": value}, *ROWS[4:]]
    path = write(tmp_path / f"t.{ending}", rows)
    with pytest.raises(InvalidInput) as refused:
        corpora.load_table(path, **MAP, vectors="v")
    assert (refused.value.field, refused.value.where) == ("v", f"t.{ending} row {5 if ending == 'csv' else 4}")
    assert corpora.load_table(path, **MAP, vectors="v", max_bad_rows=1).bad_rows == 1


@pytest.mark.parametrize(
    ("value", "rule"),
    [([1.0], "must have 2 numbers"), ([3.0, 4.0], "must be the same in all rows"), ([1.0, 2.0, 3.0], "must have 2 numbers")],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_vectors_that_disagree_are_refused_with_their_item(tmp_path: Path, ending: str, value: list[float], rule: str) -> None:
    path = write(tmp_path / f"t.{ending}", [*ROWS[:5], {**ROWS[5], "v": value}, *ROWS[6:]])
    with pytest.raises(InvalidInput, match=rule) as refused:
        corpora.load_table(path, **MAP, vectors="v")
    assert (refused.value.field, refused.value.where) == ("v", "x")
    flat = [{**row, "v": [0.0, 0.0]} if row["i"] == "y" else row for row in ROWS]
    with pytest.raises(InvalidInput, match="must not be zero") as refused:
        corpora.load_table(write(tmp_path / f"z.{ending}", flat), **MAP, vectors="v")
    assert refused.value.where == "y"


def test_vectors_reach_the_catalogue_and_scored_pools(tmp_path: Path) -> None:
    extra = [{"u": "p", "i": "rare", "r": 0, "v": [1.0, 1.0], "t": "b"}]
    path = write(tmp_path / "t.jsonl", [*ROWS, *extra])
    corpus = corpora.load_table(path, **MAP, vectors="v", tags="t", min_item=2)
    assert corpus.items.vectors is not None
    assert corpus.items.vectors.shape == (3, 2)  # the rare item is gone, and its row with it
    catalog = learn.catalog_of(corpus)
    assert catalog.similarity.kind == "vectors"
    scored = learn.score_pools(learn.learner("popularity").fit(corpus), corpus, pa.table({"ids": [["z", "x"]]}))
    assert scored.column_names == ["ids", "scores", "widths", "targets", "vectors"]
    assert scored["vectors"].to_pylist() == [corpus.items.vectors[[2, 0]].tolist()]
    assert PoolBatch.from_arrow(scored)[0].similarity.kind == "vectors"
    tagged = pa.table({"ids": [["z", "x"]], "tags": [[[0], [1]]]})
    again = learn.score_pools(learn.learner("popularity").fit(corpus), corpus, tagged)
    assert "vectors" not in again.column_names
