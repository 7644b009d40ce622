"""What other readers trust beside the records: every lie in it is a problem, and what older and other writers say truly is none."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from audit_world import KEY, slates, write_log
from deltalake import DeltaTable

from slateproof.audit import AuditLog, datafiles, verify_log

PUBLIC = KEY.public_key()


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("records-*.parquet"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    write_log(tmp_path / "log", slates(12), commits=2)
    return tmp_path / "log"


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log with statistics, as they were written before."""
    monkeypatch.setitem(datafiles._PARQUET, "write_statistics", True)
    write_log(tmp_path / "old", slates(12), commits=2)
    return tmp_path / "old"


def table_problems(folder: Path) -> list[str]:
    report = verify_log(folder, None, PUBLIC)
    assert report.failure is None
    assert set(report.counts) <= {"table"}, report.to_text()
    return [problem.message for problem in report.problems]


def test_our_files_hold_columns_and_nothing_else(log: Path) -> None:
    for path in files(log):
        metadata = pq.read_metadata(path)
        for place in range(metadata.num_columns):
            assert not metadata.row_group(0).column(place).is_stats_set
    assert table_problems(log) == []


def test_true_statistics_are_no_problem(old: Path) -> None:
    assert pq.read_metadata(files(old)[0]).row_group(0).column(0).is_stats_set
    assert table_problems(old) == []


def test_a_statistic_that_makes_readers_lose_rows(old: Path) -> None:
    """The largest knowledge in the footer becomes smaller than it is: a query finds nothing where there is something."""
    path = files(old)[0]
    values = pq.read_table(path)["knowledge"].to_pylist()
    query = "select count(*) from read_parquet(?) where knowledge >= ?"
    assert duckdb.execute(query, [str(path), max(values)]).fetchall() == [(1,)]
    blob = path.read_bytes()
    footer = len(blob) - 8 - struct.unpack("<I", blob[-8:-4])[0]
    wrong = blob[footer:].replace(struct.pack("<d", max(values)), struct.pack("<d", min(values)))
    path.write_bytes(blob[:footer] + wrong)
    assert duckdb.execute(query, [str(path), max(values)]).fetchall() == [(0,)]
    assert table_problems(old) == [f"{path.name}: the statistics of knowledge are not those of its values"]


def test_every_flip_in_a_footer_is_harmless_or_found(old: Path) -> None:
    """All bytes of the smallest and largest texts and numbers that the footer holds for a flat column."""
    path = files(old)[0]
    blob = path.read_bytes()
    footer = len(blob) - 8 - struct.unpack("<I", blob[-8:-4])[0]
    metadata = pq.read_metadata(path).row_group(0)
    tried = 0
    for place in range(metadata.num_columns):
        chunk = metadata.column(place)
        if chunk.physical_type != "DOUBLE" or not chunk.is_stats_set or not chunk.statistics.has_min_max:
            continue
        value = struct.pack("<d", chunk.statistics.max)
        if value == bytes(8) or blob.count(value, footer) > 2:
            continue
        at = blob.rindex(value, footer)
        path.write_bytes(blob[: at + 6] + bytes([blob[at + 6] ^ 1]) + blob[at + 7 :])
        assert table_problems(old), chunk.path_in_schema
        tried += 1
    assert tried > 8


@pytest.mark.parametrize(
    "options",
    [{"write_page_index": True}, {"write_statistics": False, "sorting_columns": [pq.SortingColumn(3)]}],
    ids=["page index", "order"],
)
def test_indexes_and_orders_in_our_files_are_not_trusted(log: Path, options: dict[str, Any]) -> None:
    path = files(log)[0]
    pq.write_table(pq.read_table(path), path, **options)
    assert any("beside its columns" in message for message in table_problems(log))


def edit_add(folder: Path, version: int, change: Callable[[dict[str, Any]], None], action: str = "add") -> None:
    path = folder / "_delta_log" / f"{version:020d}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if action in line:
            change(line[action])
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")


def stats(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(add: dict[str, Any]) -> None:
        found = json.loads(add["stats"])
        for name, value in changes.items():
            found[name] = {**found.get(name, {}), **value} if isinstance(value, dict) else value
        add["stats"] = json.dumps(found)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (stats(numRecords=5), "is entered with 5 records"),
        (stats(maxValues={"index": 4}), "is entered with 6 records, 0 to 4"),
        (stats(minValues={"knowledge": 0.9}, maxValues={"knowledge": 0.91}), "other statistics of knowledge"),
        (stats(maxValues={"subject": "a"}, minValues={"subject": "a"}), "other statistics of subject"),
        (stats(nullCount={"subject": 6}), "other statistics of subject"),
    ],
)
def test_statistics_in_the_delta_log(log: Path, change: Callable[[dict[str, Any]], None], words: str) -> None:
    edit_add(log, 1, change)
    messages = table_problems(log)
    assert len(messages) == 1
    assert words in messages[0]


def without(name: str) -> Callable[[dict[str, Any]], None]:
    def change(metadata: dict[str, Any]) -> None:
        schema = json.loads(metadata["schemaString"])
        schema["fields"] = [field for field in schema["fields"] if field["name"] != name]
        metadata["schemaString"] = json.dumps(schema)

    return change


def retyped(name: str, kind: str) -> Callable[[dict[str, Any]], None]:
    def change(metadata: dict[str, Any]) -> None:
        schema = json.loads(metadata["schemaString"])
        for field in schema["fields"]:
            if field["name"] == name:
                field["type"] = kind
        metadata["schemaString"] = json.dumps(schema)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("margins"), "the columns of the table are not those of version 2: margins"),
        (retyped("knowledge", "float"), "the table gives other types for knowledge"),
        (lambda metadata: metadata.update(partitionColumns=["subject"]), "partitioned by subject"),
    ],
)
def test_another_schema(log: Path, change: Callable[[dict[str, Any]], None], words: str) -> None:
    edit_add(log, 0, change, "metaData")
    report = verify_log(log, None, PUBLIC)
    assert not report.ok
    assert report.failure is not None or any(words in problem.message for problem in report.problems)


def test_what_other_tools_write_is_compared(tmp_path: Path) -> None:
    """Delta's OPTIMIZE writes statistics of its own, long texts cut short; a lie in them is found."""
    folder = tmp_path / "log"
    with AuditLog.create(folder, key=KEY) as log:
        for number, slate in enumerate(slates(20)):
            log.append(slate, round_id="a long name " * 12 + str(number), subject="ü" * 80)
            if number % 5 == 4:
                log.commit()
    DeltaTable(folder).optimize.compact()
    assert table_problems(folder) == []
    assert any("come from another tool" in note for note in verify_log(folder).notes)
    version = DeltaTable(folder).version()
    edit_add(folder, version, stats(maxValues={"subject": "ä"}))
    assert any("other statistics of subject" in message for message in table_problems(folder))


def test_a_file_that_readers_would_find_twice_or_not_at_all(log: Path) -> None:
    """The entry of one file names the other one: its records are there twice, the others are gone."""
    edit_add(log, 2, lambda add: add.update(path=files(log)[0].name))
    assert not verify_log(log, None, PUBLIC).ok
