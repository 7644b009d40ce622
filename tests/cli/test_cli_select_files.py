"""Files in and out of `slateproof select`: what is carried, what is refused, and that nothing ends in a traceback."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slateproof as sp
from slateproof.policy.table import RESULT_COLUMNS
from tests.cli.test_cli_select import policy, read, rows, run, write

__all__ = ["policy"]


def select(monkeypatch: pytest.MonkeyPatch, table: pa.Table, policy: Path, out: Path, *more: Any, source: str = ".parquet") -> int:
    pools = write(policy.parent / f"pools{source}", table)
    return run(monkeypatch, "select", pools, "--policy", policy, "--out", out, *more)


def carrying(**columns: Any) -> pa.Table:
    table = pa.Table.from_pylist(rows(4))
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
CARRIED = {
    "when": (pa.array([MOMENT] * 4), "2024-01-02T03:04:05+00:00"),
    "day": (pa.array([MOMENT.date()] * 4), "2024-01-02"),
    "price": (pa.array([decimal.Decimal("1.50")] * 4), "1.50"),
    "text": (pa.array(["a", None, "b", None]).dictionary_encode(), "a"),
    "nested": (pa.array([{"x": [1, 2]}] * 4), {"x": [1, 2]}),
}


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".arrow"])
def test_columns_of_every_kind_are_carried(suffix: str, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / f"slates{suffix}"
    table = carrying(**{name: column for name, (column, _) in CARRIED.items()})
    assert select(monkeypatch, table, policy, out, "--batch", 1) == 0
    for name, (column, as_json) in CARRIED.items():
        found = read(out)[0][name]
        assert found == (as_json if suffix == ".jsonl" else column[0].as_py()), name


def test_dictionaries_may_differ_between_pieces(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()])
    out = tmp_path / "slates.arrow"
    assert select(monkeypatch, carrying(label=labels), policy, out, "--batch", 2) == 0
    assert [row["label"] for row in read(out)] == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([b"a"] * 4), "thing: JSON lines cannot hold binary"),
        (pa.array([[b"a"]] * 4), "thing: JSON lines cannot hold list<"),
        (pa.array([datetime.timedelta(1)] * 4), "thing: JSON lines cannot hold duration[us]"),
    ],
)
def test_what_json_cannot_hold_is_refused_by_name(
    column: Any, said: str, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert select(monkeypatch, carrying(thing=column), policy, tmp_path / "slates.jsonl") == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not list(tmp_path.glob("*slates*"))
    assert select(monkeypatch, carrying(thing=column), policy, tmp_path / "slates.parquet") == 0


@pytest.mark.parametrize("name", [name for name in RESULT_COLUMNS if name != "ids"])
def test_a_column_that_would_hide_one_of_the_result_is_refused(
    name: str, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert select(monkeypatch, carrying(**{name: pa.array([1.0] * 4)}), policy, tmp_path / "slates.jsonl") == 2
    assert capsys.readouterr().err.startswith(f"error: {name}: is ")


def test_a_label_that_comes_late_in_json_lines(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = rows(4)
    for row, note in zip(every, (None, None, "late", [1]), strict=True):
        row["note"] = note
    pools = tmp_path / "pools.jsonl"
    pools.write_text("".join(json.dumps(row) + "\n" for row in every))
    for suffix in (".jsonl", ".parquet", ".arrow"):
        out = tmp_path / f"slates{suffix}"
        assert run(monkeypatch, "select", pools, "--policy", policy, "--out", out, "--batch", 1, "--on-error", "skip") == 0
        assert [row["note"] for row in read(out)] == [None, None, "late"]
        assert [note["row"] for note in read(tmp_path / f"slates{suffix}.skipped.jsonl")] == [3]


@pytest.mark.parametrize("batch", [1, 100])
def test_a_catalogue_of_tags_or_of_whole_numbers(batch: int, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(
        "".join(json.dumps({"id": i, "target": 0.1 * (i % 9), "vector": [i % 2, 1 - i % 2]}) + "\n" for i in range(30))
    )
    pools = tmp_path / "pools.jsonl"
    pools.write_text("".join(json.dumps({"ids": [b + i for i in range(9)], "scores": list(range(9))}) + "\n" for b in range(5)))
    out = tmp_path / "slates.jsonl"
    assert run(monkeypatch, "select", pools, "--policy", policy, "--out", out, "--catalog", items, "--batch", batch) == 0
    catalog = sp.Catalog(range(30), [0.1 * (i % 9) for i in range(30)], vectors=[[i % 2, 1 - i % 2] for i in range(30)])
    expected = sp.Policy.load(policy).select(catalog.pool(range(3, 12), range(9)))
    assert read(out)[3]["ids"] == list(expected.ids)
    assert read(out)[3]["margins"] == expected.margins.tolist()


def test_ids_that_the_catalogue_does_not_have_are_skipped(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text where the catalogue has integers is another id, not the same one."""
    items = write(tmp_path / "items.parquet", pa.table({"id": range(9), "target": np.linspace(0, 1, 9)}))
    table = pa.table({"ids": [["1", "2"] * 1, ["3", "4"]], "scores": [[0.1, 0.2]] * 2})
    assert select(monkeypatch, table, policy, tmp_path / "o.jsonl", "--catalog", items, "--on-error", "skip") == 2
    table = pa.table({"ids": [list(range(8)), list(range(2, 10)), list(range(1, 9))], "scores": [np.arange(8.0)] * 3})
    out = tmp_path / "slates.jsonl"
    assert select(monkeypatch, table, policy, out, "--catalog", items, "--on-error", "skip") == 0
    assert [row["row"] for row in read(out)] == [0, 2]
    assert read(tmp_path / "slates.jsonl.skipped.jsonl")[0]["error"] == "ids: is not in the catalogue (got 9 at row 1)"


def test_a_catalogue_in_json_lines_with_integers_and_strings_is_refused(
    tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": 1, "target": 0.1}\n{"id": "a", "target": 0.2}\n')
    assert select(monkeypatch, carrying(), policy, tmp_path / "o.jsonl", "--catalog", items) == 2
    assert "id: must be int64, as in what stands before it (got 'string' at row 1)" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b'{"id": "\xff", "target": 0.1}\n', b"\xff\xfe", b'{"id": "\\ud800", "target": 0.1}\n'])
def test_a_catalogue_that_is_not_utf_8(
    content: bytes, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items = tmp_path / "items.jsonl"
    items.write_bytes(content)
    assert select(monkeypatch, carrying(), policy, tmp_path / "o.jsonl", "--catalog", items) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize("out", ["policy.toml/slates.parquet", "/proc/slates.parquet", "folder.parquet"])
@pytest.mark.parametrize("log", [False, True])
def test_a_place_that_cannot_be_written_is_one_line_and_leaves_no_log(
    out: str, log: bool, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.parquet" / "full").mkdir(parents=True)
    more = ("--log", tmp_path / "log") if log else ()
    assert select(monkeypatch, carrying(), policy, tmp_path / out, *more) == 2
    told = capsys.readouterr().err
    assert "out: cannot be written" in told
    assert told.count("\n") == 1
    assert not (tmp_path / "log").exists()
    assert not list(tmp_path.glob(".*partial"))


def test_a_list_of_skipped_rows_does_not_outlive_its_run(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, out = carrying(), tmp_path / "slates.parquet"
    notes = tmp_path / "slates.parquet.skipped.jsonl"
    spoiled = table.set_column(table.column_names.index("knowledge"), "knowledge", pa.array([0.5, 2.0, 0.5, 0.5]))
    assert select(monkeypatch, spoiled, policy, out, "--on-error", "skip") == 0
    assert [note["row"] for note in read(notes)] == [1]
    assert select(monkeypatch, table, policy, out) == 0
    assert not notes.exists()
