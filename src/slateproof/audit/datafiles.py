"""The Parquet files of a log: how records are written, and read back with everything checked that Parquet can check.

Scope: none; storage.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from slateproof.audit.errors import LogUnreadable, said
from slateproof.audit.files import Folder
from slateproof.audit.schema import COLUMNS, SCHEMA, schema_of

__all__ = ["BYTES", "PREFIX", "ROWS", "DataFile", "add_action", "gathered", "neighbours", "read_file", "write_file"]

ROWS = 4096
"""Rows per row group, and per batch when reading: a few megabytes at 100 candidates."""

BYTES = 32 << 20
"""About how many bytes of records a row group holds, and a batch when reading, however many records that is."""

PREFIX = "records-"
"""How our own files are called; their rows are in order."""


def _path(column: pa.Field) -> str:
    """What Parquet calls the values of a column."""
    return f"{column.name}.list.element" if pa.types.is_list(column.type) else str(column.name)


_DICTIONARIES = [column.name for column in SCHEMA if column.type == pa.string()]
_FLOATS = [_path(column) for column in SCHEMA if column.type == pa.list_(pa.float64())]

_NOISE = [f"{name}.list.element" for name in ("scores", "shaped", "widths")]
"""Most of a record, and nothing that compression finds anything in: it is stored as it is."""

_LISTS = frozenset(column.name for column in COLUMNS if pa.types.is_list(column.type))

_PARQUET: dict[str, Any] = {
    "compression": {_path(column): "none" if _path(column) in _NOISE else "zstd" for column in SCHEMA},
    "compression_level": {_path(column): 1 for column in SCHEMA if _path(column) not in _NOISE},
    "use_dictionary": _DICTIONARIES,
    "column_encoding": {
        **dict.fromkeys(_FLOATS, "BYTE_STREAM_SPLIT"),
        **dict.fromkeys(_NOISE, "PLAIN"),
        **dict.fromkeys(("candidate_rows.list.element", "index"), "DELTA_BINARY_PACKED"),
    },
    "write_page_checksum": True,
    # Readers skip what a statistic rules out, and no digest covers statistics.
    "write_statistics": False,
    "store_schema": False,
}


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file: ``first`` and ``last`` are the places of its records; ``claims`` is all that its entry says of it.

    None of it is checked: ``tablecheck`` compares it with the file.

    Scope: none; storage.
    """

    path: str
    rows: int
    first: int
    last: int
    claims: Mapping[str, Any] = field(default_factory=dict, compare=False)


def write_file(folder: Folder, path: str, records: Iterable[pa.RecordBatch], version: int) -> int:
    """One Parquet file of schema ``version``, one row group per batch; returns the number of rows."""
    rows, schema = 0, schema_of(version)
    with (
        folder.output(path) as stream,
        pq.ParquetWriter(stream, schema, **_PARQUET) as writer,
        ThreadPoolExecutor(1) as compressor,
    ):
        waiting = None
        for batch in records:
            rows += len(batch)
            if waiting is not None:
                waiting.result()
            waiting = compressor.submit(writer.write_batch, batch.select(schema.names), row_group_size=len(batch))
        if waiting is not None:
            waiting.result()
    folder.sync(path)
    return rows


def read_file(
    folder: Folder, file: DataFile, version: int, columns: list[str] | None = None, start: int = 0, stop: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of one file that stand in the row groups covering rows ``start`` to ``stop``; refuses what is not as written.

    They come with the columns of the present schema; those that ``version`` does not have are null, whatever the file says.
    """
    known = frozenset(schema_of(version).names)
    try:
        with folder.input(file.path) as stream, pq.ParquetFile(stream, page_checksum_verification=True) as parquet:
            groups = _groups(parquet.metadata, start, stop)
            if groups:
                for batch in parquet.iter_batches(
                    _rows_at_once(parquet.metadata, groups), row_groups=groups, columns=columns, use_threads=False
                ):
                    yield _checked(batch, columns, known)
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as why:
        raise LogUnreadable(f"{file.path}: cannot be read ({said(why)})") from why


def _checked(batch: pa.RecordBatch, columns: list[str] | None, known: frozenset[str]) -> pa.RecordBatch:
    """The batch with exactly the columns and types of the schema; raises where the file holds something else."""
    fields = [SCHEMA.field(name) for name in columns or SCHEMA.names]
    size = len(batch)
    found = [batch.column(field.name) if field.name in known else pa.nulls(size, field.type) for field in fields]
    batch = pa.RecordBatch.from_arrays(
        [column if column.type == field.type else column.cast(field.type) for column, field in zip(found, fields, strict=True)],
        schema=pa.schema(fields),
    )
    batch.validate(full=True)
    for name in ("index", "leaf_hash"):
        if name in batch.schema.names and batch.column(name).null_count:
            raise ValueError(f"{name} is missing")
    for name in _LISTS.intersection(batch.schema.names):
        # The digest knows absent lists, not absent values in one: to a reader they would look like NaN or an empty text.
        if batch.column(name).values.null_count:
            raise ValueError(f"{name} holds a list with a value missing")
    return batch


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same records in fewer batches, of at most ``ROWS`` records and about ``BYTES`` bytes."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if waiting and (rows + len(batch) > ROWS or size + batch.nbytes > BYTES):
            yield _merged(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows, size = rows + len(batch), size + batch.nbytes
    if waiting:
        yield _merged(waiting)


def _merged(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0] if len(batches) > 1 else batches[0]


def _rows_at_once(metadata: Any, groups: list[int]) -> int:
    """So many that a batch takes about ``BYTES``, by what the file says of its row groups."""
    found = [metadata.row_group(group) for group in groups]
    return max(1, min([ROWS, *(group.num_rows * BYTES // max(1, group.total_byte_size) for group in found)]))


def _groups(metadata: Any, start: int, stop: int | None) -> list[int]:
    groups, row = [], 0
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if row + rows > start and (stop is None or row < stop):
            groups.append(group)
        row += rows
    return groups


def add_action(path: str, size: int, first: int, rows: int, now: int, *, data_change: bool) -> AddAction:
    """The entry of the Delta log for a new file."""
    stats = {"numRecords": rows, "minValues": {"index": first}, "maxValues": {"index": first + rows - 1}}
    return AddAction(path, size, {}, now, data_change, json.dumps(stats))


def neighbours(groups: list[list[DataFile]], most: int) -> list[list[DataFile]]:
    """Runs of our own neighbouring files with at most ``most`` records together."""
    runs: list[list[DataFile]] = []
    rows = most
    for group in groups:
        if len(group) > 1 or not group[0].path.startswith(PREFIX):
            rows = most
            continue
        rows += group[0].rows
        if rows > most or not runs:
            runs.append([])
            rows = group[0].rows
        runs[-1].append(group[0])
    return runs
