"""Bad rows of every kind: refused one by one, with their number in the file, whatever the format and the size of the pieces."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slateproof.audit import AuditLog
from tests.cli.test_cli_select import policy, read, rows, run, write

__all__ = ["policy"]

KINDS = {
    "greedy": "[selector]\nkind = 'greedy'\n",
    "window": "[selector]\nkind = 'window'\n",
    "top-k": "[selector]\nkind = 'top-k'\n",
}


def with_source(source: str, count: int = 9) -> list[dict[str, Any]]:
    """Rows of 12 candidates with inline vectors, similarity or tags."""
    rng = np.random.default_rng(8)
    out = rows(count)
    for row in out:
        vectors = row.pop("vectors")
        if source == "vectors":
            row["vectors"] = vectors
        elif source == "similarity":
            half = rng.uniform(-1, 1, (12, 12))
            row["similarity"] = (half + half.T).reshape(-1).tolist()
        elif source == "tags":
            row["tags"] = [rng.integers(0, 5, 2).tolist() for _ in range(12)]
    return out


def lines(path: Path, every: list[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in every), encoding="utf-8")
    return path


def outcome(monkeypatch: pytest.MonkeyPatch, pools: Path, policy: Path, batch: int) -> tuple[Any, Any]:
    """(Slates, skipped rows) of a run that skips."""
    out = pools.with_name("slates.jsonl")
    assert run(monkeypatch, "select", pools, "--policy", policy, "--out", out, "--on-error", "skip", "--batch", batch) == 0
    notes = out.with_name(out.name + ".skipped.jsonl")
    return read(out), (read(notes) if notes.exists() else [])


def check_pieces(monkeypatch: pytest.MonkeyPatch, pools: Path, policy: Path) -> tuple[Any, Any]:
    found = [outcome(monkeypatch, pools, policy, batch) for batch in (1, 2, 100)]
    assert found[0] == found[1] == found[2]
    return found[0]


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("source", ["none", "vectors", "similarity", "tags"])
def test_the_size_of_the_pieces_decides_nothing(source: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tmp_path / "policy.toml"
    rules.write_text(KINDS[kind])
    for suffix in (".jsonl", ".parquet", ".arrow"):
        pools = write(tmp_path / f"pools{suffix}", pa.Table.from_pylist(with_source(source)))
        slates, skipped = check_pieces(monkeypatch, pools, rules)
        assert len(slates) == 9
        assert skipped == []


def test_columns_that_only_some_lines_have(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State and memory default row by row; a pool column that some line has is needed by all; anything else is carried."""
    whole = rows(8)
    some = copy.deepcopy(whole)
    del some[0]["knowledge"], some[0]["shown"], some[3]["engagement"], some[5]["round_id"]
    some[1]["knowledge"] = some[1]["shown"] = None
    some[2]["uncertainty"] = 0.9
    some[6]["note"] = "late"
    del some[4]["widths"]
    some[7]["targets"] = None
    slates, skipped = check_pieces(monkeypatch, lines(tmp_path / "pools.jsonl", some), policy)
    assert [(note["row"], note["error"]) for note in skipped] == [
        (4, "widths: must not be null (at row 4)"), (7, "targets: must not be null (at row 7)"),
    ]  # fmt: skip
    assert [slate["row"] for slate in slates] == [0, 1, 2, 3, 5, 6]
    assert [slate["note"] for slate in slates] == [None] * 5 + ["late"]
    assert [slate["round_id"] for slate in slates] == ["r0", "r1", "r2", "r3", None, "r6"]
    filled = [row for b, row in enumerate(whole) if b not in (4, 7)]
    for row, given in zip(filled, [row for b, row in enumerate(some) if b not in (4, 7)], strict=True):
        row |= {"knowledge": 0.5, "engagement": 0.5, "uncertainty": 0.5, "shown": []} | {
            k: v for k, v in given.items() if v is not None
        }
    spelled, _ = outcome(monkeypatch, lines(tmp_path / "spelled.jsonl", filled), policy, 100)
    assert [slate["ids"] for slate in slates] == [slate["ids"] for slate in spelled]
    assert [slate["margins"] for slate in slates] == [slate["margins"] for slate in spelled]


SPOILED: dict[str, tuple[Any, str]] = {
    "null in scores": (lambda row: row["scores"].__setitem__(2, None), "scores: must not be null (at row 3)"),
    "null scores": (lambda row: row.update(scores=None), "scores: must not be null (at row 3)"),
    "null in targets": (lambda row: row["targets"].__setitem__(0, None), "targets: must not be null (at row 3)"),
    "null in ids": (lambda row: row["ids"].__setitem__(0, None), "ids: must not be null (at row 3)"),
    "nan": (lambda row: row["scores"].__setitem__(1, float("nan")), "scores: must be finite (got nan at row 3, id"),
    "short targets": (lambda row: row["targets"].pop(), "targets: must have one value per id (12) (got 11 at row 3)"),
    "no candidates": (
        lambda row: row.update(ids=[], scores=[], targets=[], widths=[], vectors=[]),
        "ids: a pool needs at least one candidate (at row 3)",
    ),
    "bad id in shown": (lambda row: row.update(shown=["q1", None]), "shown: an id must be an integer or a string (at row 3)"),
    "state out of range": (lambda row: row.update(engagement=1.5), "engagement: must lie in [0, 1] (got 1.5 at row 3)"),
    "vector of another length": (
        lambda row: row["vectors"].__setitem__(4, [1.0, 0.0]),
        "vectors: must all have 3 entries (got 2 at row 3, id",
    ),
    "vectors of another length": (
        lambda row: row.update(vectors=[[1.0, 0.0]] * 12),
        "vectors: must all have 3 entries (got 2 at row 3, id",
    ),
    "null vector": (lambda row: row["vectors"].__setitem__(4, None), "vectors: must not be null (at row 3)"),
    "null in a vector": (lambda row: row["vectors"].__setitem__(4, [1.0, None, 0.0]), "vectors: must not be null (at row 3)"),
    "no unit vector": (lambda row: row["vectors"].__setitem__(4, [1.0, 1.0, 0.0]), "finite unit vectors"),
    "one vector missing": (lambda row: row["vectors"].pop(), "vectors: must have 12 entries (got 11 at row 3)"),
    "overflow": (
        lambda row: row.update(scores=[1.7e308] * 12, widths=[1.7e308] * 12),
        "scores: the objective must stay finite",
    ),
    "fewer than K": (
        lambda row: row.update(ids=row["ids"][:1], scores=[1.0], targets=[0.5], widths=[0.1], vectors=row["vectors"][:1]),
        "levers.size: must not exceed the pool's 1 candidates",
    ),
}  # fmt: skip

IN_LINES: dict[str, tuple[Any, str]] = {
    "no JSON": (lambda row: "{", "pools: line 4 is not JSON"),
    "no object": (lambda row: "[1, 2]", "pools: line 4 must be an object (got 'list' at row 3)"),
    "text among scores": (lambda row: row["scores"].__setitem__(2, "1.5"), "scores: must hold numbers (got '1.5' at row 3)"),
    "truth among scores": (lambda row: row["scores"].__setitem__(2, True), "scores: must hold numbers (got True at row 3)"),
    "scores no list": (lambda row: row.update(scores=1.5), "scores: must be a list (got 1.5 at row 3)"),
    "mixed ids": (lambda row: row["ids"].__setitem__(2, 7), "ids: must be all integers or all strings"),
    "ids of another type": (
        lambda row: row.update(ids=list(range(12))),
        "ids: must be list<item: string>, as in what stands before it (got 'list<item: int64>' at row 3)",
    ),
    "half a surrogate pair": (lambda row: row["ids"].__setitem__(2, "\ud800"), "ids: cannot be held as list<item: string>"),
    "text as state": (lambda row: row.update(knowledge="0.5"), "knowledge: must be a number (got '0.5' at row 3)"),
    "a label of another type": (lambda row: row.update(round_id=3), "round_id: must be string, as in what stands before it"),
}  # fmt: skip


def spoil(case: Any, row: dict[str, Any]) -> Any:
    made = case(row)
    return made if isinstance(made, str) else row


@pytest.mark.parametrize("kind", ["greedy", "window"])
@pytest.mark.parametrize("name", [*SPOILED, *IN_LINES])
def test_one_bad_row_is_left_out_alone(name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, said = (SPOILED | IN_LINES)[name]
    rules = tmp_path / "policy.toml"
    rules.write_text(KINDS[kind])
    every: list[Any] = rows(5)
    every[3] = spoil(case, every[3])
    expected, _ = outcome(monkeypatch, lines(tmp_path / "good.jsonl", rows(5)), rules, 100)
    places = [lines(tmp_path / "pools.jsonl", every)]
    if name in SPOILED:
        places.append(write(tmp_path / "pools.parquet", pa.Table.from_pylist(every)))
    for pools in places:
        slates, skipped = check_pieces(monkeypatch, pools, rules)
        assert slates == [slate for slate in expected if slate["row"] != 3]
        assert [note["row"] for note in skipped] == [3]
        assert said in skipped[0]["error"]


@pytest.mark.parametrize("batch", [1, 2, 100])
@pytest.mark.parametrize("name", [*SPOILED, *IN_LINES])
def test_the_first_bad_row_is_named_with_its_number_in_the_file(
    name: str, batch: int, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case, said = (SPOILED | IN_LINES)[name]
    every: list[Any] = rows(5)
    every[4]["knowledge"] = 2.0
    every[3] = spoil(case, every[3])
    pools = lines(tmp_path / "pools.jsonl", every)
    assert run(monkeypatch, "select", pools, "--policy", policy, "--out", tmp_path / "out.jsonl", "--batch", batch) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "row 3" in told
    assert told.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.toml", "pools.jsonl"]


TAGGED: dict[str, tuple[Any, str]] = {
    "one tag set missing": (lambda row: row["tags"].pop(), "tags: must have 12 entries (got 11 at row 3)"),
    "null tag set": (lambda row: row["tags"].__setitem__(1, None), "tags: must not be null (at row 3)"),
    "null tag": (lambda row: row["tags"].__setitem__(1, [1, None]), "tags: must not be null (at row 3)"),
}


@pytest.mark.parametrize("name", list(TAGGED))
def test_one_bad_row_of_tags(name: str, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, said = TAGGED[name]
    every = with_source("tags", 5)
    case(every[3])
    for pools in (lines(tmp_path / "pools.jsonl", every), write(tmp_path / "pools.parquet", pa.Table.from_pylist(every))):
        slates, skipped = check_pieces(monkeypatch, pools, policy)
        assert [slate["row"] for slate in slates] == [0, 1, 2, 4]
        assert [note["error"] for note in skipped] == [said]


def test_a_tag_that_is_no_integer(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = with_source("tags", 5)
    every[3]["tags"][1] = ["x"]
    _, skipped = check_pieces(monkeypatch, lines(tmp_path / "pools.jsonl", every), policy)
    assert [note["error"] for note in skipped] == ["tags: must hold integers (got 'x' at row 3)"]


def test_a_line_that_is_not_utf_8(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pools = lines(tmp_path / "pools.jsonl", rows(4))
    every = pools.read_bytes().split(b"\n")
    every[2] = every[2].replace(b"r2", b"r\xff")
    pools.write_bytes(b"\n".join(every))
    slates, skipped = check_pieces(monkeypatch, pools, policy)
    assert [slate["row"] for slate in slates] == [0, 1, 3]
    assert skipped[0]["error"].startswith("pools: line 3 is not UTF-8 (invalid start byte at byte")


def test_many_bad_rows_are_found_together(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the rows overflow and a third has a state out of range: a handful of selections, not one per row."""
    every = rows(60)
    for b, row in enumerate(every):
        if b % 2:
            row.update(scores=[1.7e308] * 12, widths=[1.7e308] * 12)
        if b % 3 == 0:
            row["knowledge"] = -1.0
    calls = []
    from slateproof.cli import select as module

    real = module.select_rows
    monkeypatch.setattr(module, "select_rows", lambda *given, **named: calls.append(1) or real(*given, **named))
    slates, skipped = outcome(monkeypatch, lines(tmp_path / "pools.jsonl", every), policy, 100)
    assert len(slates) + len(skipped) == 60
    assert len(slates) == sum(b % 2 == 0 and b % 3 != 0 for b in range(60))
    assert len(calls) == 3


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_a_refused_run_logs_nothing_and_a_skipping_one_lists_what_it_left_out(
    on_error: str, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = rows(6)
    every[4]["scores"][0] = None
    pools, log = lines(tmp_path / "pools.jsonl", every), tmp_path / "log"
    words = ("select", pools, "--policy", policy, "--log", log, "--batch", 2, "--on-error", on_error)
    notes = tmp_path / "log.skipped.jsonl"
    if on_error == "fail":
        assert run(monkeypatch, *words) == 2
        assert not log.exists()
        assert not notes.exists()
        return
    assert run(monkeypatch, *words) == 0
    assert [note["row"] for note in read(notes)] == [4]
    with AuditLog.open(log) as opened:
        assert len(opened) == 5
    assert run(monkeypatch, "select", lines(pools, rows(6)), *words[2:]) == 0
    assert not notes.exists(), "the list of an earlier run must not stay beside a run that skipped nothing"


def test_what_stands_in_the_log_is_told_where_a_run_breaks_later(
    tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pools, log = write(tmp_path / "pools.parquet", pa.Table.from_pylist(rows(6))), tmp_path / "log"
    from slateproof.cli.tables import TableWriter
    from slateproof.errors import InvalidInput

    real, calls = TableWriter.write, []

    def full(self: Any, table: pa.Table) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise InvalidInput("out", "cannot be written (no space left on device)")
        real(self, table)

    monkeypatch.setattr(TableWriter, "write", full)
    words = ("select", pools, "--policy", policy, "--log", log, "--out", tmp_path / "out.parquet", "--batch", 2)
    assert run(monkeypatch, *words) == 2
    assert "2 slates of this run stand in the log" in capsys.readouterr().err
    with AuditLog.open(log) as opened:
        assert len(opened) == 2
    assert pq.read_table(pools).num_rows == 6
    assert not (tmp_path / "out.parquet").exists()
