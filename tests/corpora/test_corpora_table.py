"""The table loader: any CSV, Parquet or JSON lines file, by a column mapping."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slateproof.corpora import jsonfile, load_table
from slateproof.errors import InvalidInput

MAP = {"user": "who", "item": "what", "response": "ok"}
ROWS = [
    {"who": "b", "what": 7, "ok": 1, "at": 20, "tags": "x|y", "d": 0.25},
    {"who": "a", "what": 7, "ok": 0, "at": 30, "tags": "y|z", "d": 0.25},
    {"who": "b", "what": 3, "ok": 1, "at": 10, "tags": "", "d": 0.5},
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix in (".json", ".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            out.writeheader()
            out.writerows(rows)
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json", "jsonl"])
def test_every_format_says_the_same(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"mine.{ending}", ROWS)
    corpus = load_table(path, **MAP, time="at", tags="tags", difficulty_column="d")
    assert corpus.name == "mine"
    assert corpus.user_ids.tolist() == ["a", "b"]
    assert corpus.items.ids.tolist() == [3, 7]
    assert corpus.user.tolist() == [0, 1, 1]
    assert corpus.item.tolist() == [1, 0, 1]
    assert corpus.positive.tolist() == [False, True, True]
    assert corpus.time is not None
    assert corpus.time.tolist() == [30, 10, 20]
    assert corpus.items.difficulty.tolist() == [0.5, 0.25]
    assert corpus.difficulty_rule == "given"
    assert [corpus.items.tags(i) for i in range(2)] == [(), ("x", "y", "z")]
    assert corpus.items.skill.tolist()[0] == -1


def test_the_skill_is_what_most_rows_name_first(tmp_path: Path) -> None:
    rows = ["a,1,z|a", "b,1,b|z", "a,1,z", "a,2,q|b", "b,2,b", "b,3,"]
    text = "who,what,ok,tags\n" + "".join(f"{who},{what},1,{tags}\n" for who, what, tags in (r.split(",") for r in rows))
    for order in (text, "\n".join([text.split("\n")[0], *reversed(text.strip().split("\n")[1:])]) + "\n"):
        (tmp_path / "t.csv").write_text(order, "utf-8")
        corpus = load_table(tmp_path / "t.csv", user="who", item="what", response="ok", tags="tags")
        named = [None if t < 0 else corpus.items.tag_names[t] for t in corpus.items.skill.tolist()]
        assert named == ["z", "b", None]  # item 2: one row each, so the one that sorts first


def test_without_a_time_the_file_order_stays(tmp_path: Path) -> None:
    corpus = load_table(write(tmp_path / "t.csv", ROWS), **MAP)
    assert corpus.time is None
    assert corpus.items.ids[corpus.item].tolist() == [7, 7, 3]


IDS = st.lists(
    st.one_of(st.integers(-50, 50).map(str), st.sampled_from(["007", "+1", "-0", "x", "é", "1.0"])), min_size=1, max_size=12
)


@given(IDS)
def test_csv_ids_are_integers_only_when_all_are_spelled_like_one(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> None:
    path = tmp_path_factory.mktemp("ids") / "t.csv"
    write(path, [{"who": i, "what": "k", "ok": 1} for i in ids])
    found = load_table(path, **MAP).user_ids.tolist()
    if all(i.lstrip("-").isdecimal() and str(int(i)) == i for i in ids):
        assert found == sorted({int(i) for i in ids})
    else:
        assert found == sorted(set(ids))


def test_parquet_text_ids_stay_text(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", [{"who": "7", "what": "1", "ok": True}, {"who": "10", "what": "1", "ok": False}])
    corpus = load_table(path, **MAP)
    assert corpus.user_ids.tolist() == ["10", "7"]
    assert corpus.positive.tolist() == [False, True]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_a_zone_or_none_gives_microseconds(tmp_path: Path, ending: str) -> None:
    moments = ["2024-01-02T03:04:05+00:00", "2024-01-02 03:04:05.000001"]
    rows: list[dict[str, Any]] = [{"who": "a", "what": "i", "ok": 1, "at": m} for m in moments]
    if ending == "parquet":
        rows = [{**row, "at": datetime.fromisoformat(row["at"]).replace(tzinfo=UTC)} for row in rows]
    corpus = load_table(write(tmp_path / f"t.{ending}", rows), **MAP, time="at")
    assert corpus.time is not None
    assert corpus.time.tolist() == [1704164645000000, 1704164645000001]


def test_fractional_times_and_booleans_as_text(tmp_path: Path) -> None:
    rows = [{"who": "a", "what": "i", "ok": "true", "at": 2.5}, {"who": "a", "what": "j", "ok": "False", "at": 1.25}]
    corpus = load_table(write(tmp_path / "t.csv", rows), **MAP, time="at")
    assert corpus.response.tolist() == [0.0, 1.0]
    assert corpus.time is not None
    assert corpus.time.tolist() == [1.25, 2.5]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_ratings_need_a_threshold(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"t.{ending}", [{"who": 1, "what": 2, "ok": 4.5}, {"who": 2, "what": 2, "ok": 1.0}])
    with pytest.raises(InvalidInput) as refused:
        load_table(path, **MAP)
    assert (refused.value.field, refused.value.value) == ("ok", 4.5)
    corpus = load_table(path, **MAP, positive_at=4.0)
    assert (corpus.positive.tolist(), corpus.positive_rule) == ([True, False], "ok >= 4")


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
@pytest.mark.parametrize(("column", "field"), [("who", "who"), ("ok", "ok"), ("at", "at")])
def test_a_hole_is_a_malformed_row(tmp_path: Path, ending: str, column: str, field: str) -> None:
    rows = [dict(row) for row in ROWS]
    rows[1][column] = None
    path = write(tmp_path / f"t.{ending}", rows)
    row = {"csv": 3, "json": 2, "parquet": 2}[ending]
    with pytest.raises(InvalidInput) as refused:
        load_table(path, **MAP, time="at")
    assert (refused.value.field, refused.value.where) == (field, f"t.{ending} row {row}")
    corpus = load_table(path, **MAP, time="at", max_bad_rows=1)
    assert (len(corpus), corpus.bad_rows) == (2, 1)


def test_not_a_number_in_parquet_is_a_malformed_row(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", [{"who": 1, "what": 2, "ok": 1.0}, {"who": 1, "what": 2, "ok": float("nan")}])
    with pytest.raises(InvalidInput, match=r"t.parquet row 2"):
        load_table(path, **MAP)


def test_times_must_be_of_one_kind(tmp_path: Path) -> None:
    rows = [{"who": 1, "what": 2, "ok": 1, "at": "2024-01-01"}, {"who": 1, "what": 2, "ok": 1, "at": "17"}]
    with pytest.raises(InvalidInput) as refused:
        load_table(write(tmp_path / "t.csv", rows), **MAP, time="at")
    assert (refused.value.field, refused.value.value, refused.value.where) == ("at", "17", "t.csv row 3")


@pytest.mark.parametrize(
    ("values", "value", "where", "rule"),
    [([0.25, 0.25, 1.5], 1.5, "t.csv row 4", "must lie"), ([0.25, 0.5, 0.5], 0.25, 7, "must be the same")],
)
def test_a_given_difficulty_is_checked(tmp_path: Path, values: list[float], value: float, where: int | str, rule: str) -> None:
    rows = [{**row, "d": d} for row, d in zip(ROWS, values, strict=True)]
    with pytest.raises(InvalidInput, match=rule) as refused:
        load_table(write(tmp_path / "t.csv", rows), **MAP, difficulty_column="d")
    assert (refused.value.field, refused.value.value, refused.value.where) == ("d", value, where)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ROWS)
    for ending in ("csv", "json", "parquet"):
        with pytest.raises(InvalidInput, match="the column is missing") as refused:
            load_table(write(tmp_path / f"t.{ending}", ROWS), user="nobody", item="what", response="ok")
        assert refused.value.field == "nobody"
    with pytest.raises(InvalidInput, match="a column of its own"):
        load_table(path, user="who", item="who", response="ok")
    with pytest.raises(InvalidInput, match="must end in"):
        load_table(tmp_path / "t.xlsx", **MAP)
    (tmp_path / "half.parquet").write_bytes((tmp_path / "t.parquet").read_bytes()[:-9])
    with pytest.raises(InvalidInput, match="not a whole Parquet file"):
        load_table(tmp_path / "half.parquet", **MAP)
    pq.write_table(pa.table({"who": [1], "what": [[1]], "ok": [1]}), tmp_path / "list.parquet")
    with pytest.raises(InvalidInput, match="text or whole numbers"):
        load_table(tmp_path / "list.parquet", **MAP)
    for ending in ("csv", "json", "parquet"):
        (tmp_path / f"no.{ending}").write_bytes(b"")
        with pytest.raises(InvalidInput, match="the file is empty"):
            load_table(tmp_path / f"no.{ending}", **MAP)
    (tmp_path / "blank.json").write_text("\n\n", "utf-8")
    with pytest.raises(InvalidInput, match="has no rows"):
        load_table(tmp_path / "blank.json", **MAP)


def test_whole_number_tags_in_json_are_text(tmp_path: Path) -> None:
    rows = [{"who": 1, "what": 2, "ok": 1, "skill": 9}, {"who": 1, "what": 3, "ok": 1, "skill": None}]
    corpus = load_table(write(tmp_path / "t.json", rows), **MAP, tags="skill")
    assert [corpus.items.tags(i) for i in range(2)] == [("9",), ()]


def test_json_of_one_type_takes_the_fast_path_and_mixed_ids_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = load_table(write(tmp_path / "m.json", [*ROWS[:2], {**ROWS[2], "what": "3b"}]), **MAP)
    assert mixed.items.ids.tolist() == ["3b", "7"]
    with pytest.raises(InvalidInput, match=r"r.json row 2"):
        load_table(write(tmp_path / "r.json", [ROWS[0], {**ROWS[1], "who": ""}]), **MAP)
    monkeypatch.setattr(jsonfile, "_careful", None)
    for ok in (True, 1, 1.0):
        rows = [{**row, "ok": ok, "at": float(row["at"])} for row in ROWS]
        corpus = load_table(write(tmp_path / "t.json", rows), **MAP, time="at", tags="tags", difficulty_column="d")
        assert corpus.items.ids.tolist() == [3, 7]
        assert corpus.response.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_an_empty_id_and_a_first_row_without_a_time_are_malformed(tmp_path: Path, ending: str) -> None:
    first = 2 if ending == "csv" else 1
    with pytest.raises(InvalidInput) as refused:
        load_table(write(tmp_path / f"a.{ending}", [{**ROWS[0], "who": ""}, *ROWS[1:]]), **MAP)
    assert (refused.value.field, refused.value.where) == ("who", f"a.{ending} row {first}")
    with pytest.raises(InvalidInput) as refused:
        load_table(write(tmp_path / f"b.{ending}", [{**ROWS[0], "at": None}, *ROWS[1:]]), **MAP, time="at")
    assert (refused.value.field, refused.value.where) == ("at", f"b.{ending} row {first}")


@pytest.mark.parametrize("value", [[1], {"a": 1}])
@pytest.mark.parametrize("column", ["who", "ok", "at"])
def test_a_nested_json_value_is_malformed(tmp_path: Path, column: str, value: object) -> None:
    path = write(tmp_path / "t.json", [ROWS[0], {**ROWS[1], column: value}])
    with pytest.raises(InvalidInput) as refused:
        load_table(path, **MAP, time="at")
    assert (refused.value.field, refused.value.value, refused.value.where) == (column, value, "t.json row 2")
