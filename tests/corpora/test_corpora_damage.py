"""What is broken in a file is told by the row it stands in: quotes, archives, numbers out of range, first lines, wide ids."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slateproof.corpora import load_amazon, load_ednet, load_movielens, load_oulad, load_table
from slateproof.errors import InvalidInput

MAP = {"user": "u", "item": "i", "response": "r"}
HEAD = "u,i,r,note\n"


def refused(path: Path, text: str | bytes, **options: object) -> InvalidInput:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidInput) as caught:
        load_table(path, **{**MAP, **options})
    return caught.value


@pytest.mark.parametrize(
    "rows", ['a,x,1,\nb,x,0,"open\n' + "c,x,1,\n" * 5000, 'a,x,1,\nb,x,0,"open\nc,x,1,\n', 'a,x,1,\nb,x,0,"open']
)
@pytest.mark.parametrize("tags", [None, "note"])
@pytest.mark.parametrize("limit", [0, 9])
def test_a_quote_that_is_not_closed_stops_the_load_where_its_row_begins(
    tmp_path: Path, rows: str, tags: str | None, limit: int
) -> None:
    """Neither reader may swallow the rows behind it, and no limit on malformed rows allows for as many as are lost."""
    error = refused(tmp_path / "t.csv", HEAD + rows, tags=tags, max_bad_rows=limit)
    assert (error.field, error.rule, error.value) == ("row", "has a quote that is not closed", 'b,x,0,"open')
    assert error.where == "t.csv row 3"


def test_a_cell_without_end_is_refused_in_one_short_line(tmp_path: Path) -> None:
    error = refused(tmp_path / "t.csv", HEAD + 'a,x,1,\n"' + "b,x,1,\n" * 50_000)
    assert (error.field, error.where) == ("row", "t.csv row 3")
    assert len(str(error)) < 250
    error = refused(tmp_path / "t.csv", HEAD + "a,x,1," + ",long" * 4000 + "\n")
    assert (error.rule, error.where) == ("must have 4 cells", "t.csv row 2")
    assert len(str(error)) < 200
    error = refused(tmp_path / "t.csv", '"' + HEAD * 3)
    assert error.where == "t.csv row 1"


def test_quotes_around_line_ends_and_single_quotes_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(HEAD + 'a,x,1,"two\nlines"\nb,x,0,5" nail\nc,x,bad,\n', "utf-8")
    corpus = load_table(path, **MAP, max_bad_rows=1)
    assert (corpus.user_ids.tolist(), corpus.bad_rows) == (["a", "b"], 1)
    with pytest.raises(InvalidInput) as caught:
        load_table(path, **MAP)
    assert caught.value.where == "t.csv row 5"  # rows, not lines, differ in number before it


def test_a_damaged_gz_is_refused(tmp_path: Path) -> None:
    text = "".join(f"a{k * 7919 % 10007},x{k},1,{k * k}\n" for k in range(20_000))
    data = bytearray(gzip.compress((HEAD + text).encode()))
    data[10:20] = b"\xff" * 10  # no deflate stream begins so
    assert "is not a whole .gz file" in refused(tmp_path / "t.csv.gz", bytes(data)).rule
    assert "is not a whole .gz file" in refused(tmp_path / "u.csv.gz", HEAD + text).rule


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(HEAD, "utf-8")
    path.chmod(0)
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_table(path, **MAP)


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_table(tmp_path / ("n" * 300 + ".csv"), **MAP)


def test_wide_ids_in_parquet_are_whole_numbers_where_they_fit_and_text_where_they_do_not(tmp_path: Path) -> None:
    for wide, expected in ((7, [3, 7]), (2**63 + 5, ["3", str(2**63 + 5)])):
        pq.write_table(
            pa.table(
                {"u": pa.array([3, wide], pa.uint64()), "i": pa.array([1, 1], pa.uint32()), "r": pa.array([1, 0], pa.uint8())}
            ),
            tmp_path / "t.parquet",
        )
        corpus = load_table(tmp_path / "t.parquet", **MAP)
        assert (corpus.user_ids.tolist(), corpus.items.ids.tolist()) == (expected, [1])
    times = pa.array([2**63 + 5, 1], pa.uint64())
    pq.write_table(pa.table({"u": [1, 2], "i": [1, 1], "r": [1, 0], "t": times}), tmp_path / "t.parquet")
    with pytest.raises(InvalidInput, match="t: cannot be read as numbers"):
        load_table(tmp_path / "t.parquet", **MAP, time="t")


def test_wide_ids_in_json_are_text(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"u": u, "i": 1, "r": 1}) + "\n" for u in (2**70, 5)), "utf-8")
    assert load_table(path, **MAP).user_ids.tolist() == [str(2**70), "5"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("options", "column", "good", "wrong", "rule"),
    [
        ({}, "r", 1, 2, "must be 0 or 1"),
        ({"positive_at": 40, "difficulty": "score"}, "r", 100, 250, "must lie in [0, 100]"),
        ({"difficulty_column": "d"}, "d", 0.5, -0.25, "must lie in [0, 1]"),
    ],
)
def test_a_number_out_of_range_is_a_malformed_row(
    tmp_path: Path, ending: str, options: dict[str, object], column: str, good: float, wrong: float, rule: str
) -> None:
    rows = [{"u": u, "i": "x", "r": 1, "d": 0.5} | {column: wrong if u == "b" else good} for u in "zab"]
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        path.write_text("u,i,r,d\n" + "".join(",".join(map(str, row.values())) + "\n" for row in rows), "utf-8")
    with pytest.raises(InvalidInput) as caught:
        load_table(path, **{**MAP, **options})
    assert rule in caught.value.rule
    assert (caught.value.field, caught.value.value) == (column, wrong)
    assert caught.value.where == f"t.{ending} row {4 if ending == 'csv' else 3}"
    corpus = load_table(path, **{**MAP, **options}, max_bad_rows=1)
    assert (corpus.user_ids.tolist(), corpus.bad_rows) == (["a", "z"], 1)


def test_scores_and_ratings_have_the_publishers_range(tmp_path: Path) -> None:
    (tmp_path / "assessments.csv").write_text("code_module,id_assessment,assessment_type\nAAA,1,TMA\n", "utf-8")
    answers = "id_assessment,id_student,date_submitted,score\n1,9,3,80\n1,2,3,250\n1,4,3,\n"
    (tmp_path / "studentAssessment.csv").write_text(answers, "utf-8")
    ratings = "userId,movieId,rating,timestamp\n1,5,4.0,1\n2,5,50,2\n3,6,-3,2\n3,7,0.5,2\n"
    (tmp_path / "ratings.csv").write_text(ratings, "utf-8")
    (tmp_path / "movies.csv").write_text('movieId,title,genres\n5,"A, B",Drama\n', "utf-8")
    for load, row, value, kept, bad in ((load_oulad, 3, 250.0, 1, 1), (load_movielens, 3, 50.0, 2, 2)):
        with pytest.raises(InvalidInput) as caught:
            load(tmp_path)
        assert (caught.value.value, str(caught.value.where).partition(" ")[2]) == (value, f"row {row}")
        corpus = load(tmp_path, max_bad_rows=bad)
        assert (len(corpus), corpus.bad_rows) == (kept, bad)
    assert corpus.notes == ("1 of 2 items are not in movies.csv: kept, without tags",)
    assert "note: 1 of 2 items" in corpus.describe().to_text()
    assert corpus.describe().to_dict()["notes"] == list(corpus.notes)


def test_a_dat_row_is_counted_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_text("1::5::4::1\n\n2::5::9::1\n3:9:5::4::1\n4::5::3::1\n", "utf-8")
    (tmp_path / "movies.dat").write_text("5::A::Drama\n", "utf-8")
    for limit, where in ((0, "ratings.dat row 3"), (1, None)):
        with pytest.raises(InvalidInput) as caught:
            load_movielens(tmp_path, max_bad_rows=limit)
        assert caught.value.where == where
    assert "row: must hold nothing between" in str(caught.value)
    assert load_movielens(tmp_path, max_bad_rows=2).user_ids.tolist() == [1, 4]


def test_amazon_columns_in_another_order(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("i1,A,5,1\n\ni2,A,7,1\ni2,B,4,1\n", "utf-8")
    with pytest.raises(InvalidInput) as caught:
        load_amazon(path, columns="item,user,rating,time")
    assert (caught.value.value, caught.value.where) == (7.0, "r.csv row 3")
    corpus = load_amazon(path, columns="item, user, rating, time", max_bad_rows=1)
    assert (corpus.user_ids.tolist(), corpus.items.ids.tolist()) == (["A", "B"], ["i1", "i2"])
    for wrong in ("item,user,rating", "item,user,rating,rating", "asin,user,rating,time"):
        with pytest.raises(InvalidInput, match="columns: must name"):
            load_amazon(path, columns=wrong)


@pytest.mark.parametrize("first", ['{"u": "a", "i": 1, "r": 1}', '{"u": "a", "i": 1, "r": 1, "t": null}'])
def test_a_key_may_begin_on_a_later_line(tmp_path: Path, first: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(first + '\n{"u": "b", "i": 2, "r": 0, "t": "x|y", "d": 0.5}\n', "utf-8")
    corpus = load_table(path, **MAP, tags="t")
    assert [corpus.items.tags(i) for i in range(2)] == [(), ("x", "y")]
    with pytest.raises(InvalidInput) as caught:
        load_table(path, **MAP, difficulty_column="d")
    assert (caught.value.field, caught.value.where) == ("d", "t.jsonl row 1")
    with pytest.raises(InvalidInput, match="the column is missing"):
        load_table(path, **MAP, time="when")


@pytest.mark.parametrize("line", ["not json", "[1]", '{"u": ' + "9" * 5000 + "}", "[" * 100_000])
def test_a_malformed_first_line_is_one_row(tmp_path: Path, line: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(line + '\n{"u": "b", "i": 2, "r": 0}\n', "utf-8")
    with pytest.raises(InvalidInput) as caught:
        load_table(path, **MAP)
    assert (caught.value.field, caught.value.where) == ("row", "t.jsonl row 1")
    assert len(str(caught.value)) < 300
    corpus = load_table(path, **MAP, max_bad_rows=1)
    assert (len(corpus), corpus.bad_rows) == (1, 1)
    path.write_text(line + "\n", "utf-8")
    with pytest.raises(InvalidInput, match="has no rows"):
        load_table(path, **MAP, max_bad_rows=1)


def test_amazon_reviews_may_begin_with_a_malformed_line(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    review = {"reviewerID": "A", "asin": "i", "overall": 5, "unixReviewTime": 1}
    path.write_text("broken\n" + json.dumps(review) + "\n", "utf-8")
    assert load_amazon(path, max_bad_rows=1).bad_rows == 1
    with pytest.raises(InvalidInput, match="must be one JSON object"):
        load_amazon(path)


def test_an_ednet_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "contents").mkdir()
    (tmp_path / "KT1" / "u1.csv").mkdir(parents=True)
    (tmp_path / "contents" / "questions.csv").write_text("question_id,correct_answer,part,tags\nq1,a,1,1\n", "utf-8")
    with pytest.raises(InvalidInput, match="file: cannot be read"):
        load_ednet(tmp_path, level="KT1")
