"""Tables in and out: Parquet, Arrow IPC and JSON lines, in batches, never leaving a partial file under the final name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from slateproof.errors import InvalidInput

__all__ = ["TableWriter", "count_rows", "read_batches", "read_table"]

PARQUET, ARROW, LINES = (".parquet",), (".arrow", ".feather", ".ipc"), (".jsonl", ".ndjson")
_KINDS = PARQUET + ARROW + LINES


def _kind(path: Path, field: str) -> str:
    if path.suffix not in _KINDS:
        raise InvalidInput(field, f"the name must end in one of {', '.join(_KINDS)}", str(path))
    return path.suffix


@contextmanager
def _readable(path: Path, field: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as why:
        raise InvalidInput(field, f"cannot be read ({why})", str(path)) from why


def count_rows(path: Path, field: str) -> int | None:
    """Rows of a file where the file says so without being read; else None."""
    if _kind(path, field) not in PARQUET:
        return None
    with _readable(path, field):
        return int(pq.read_metadata(path).num_rows)


def read_batches(path: Path, size: int, field: str) -> Iterator[pa.Table]:
    """The rows of a file, ``size`` at a time."""
    kind = _kind(path, field)
    with _readable(path, field):
        if kind in PARQUET:
            for batch in pq.ParquetFile(path).iter_batches(size):
                yield pa.Table.from_batches([batch])
        elif kind in ARROW:
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            for start in range(0, table.num_rows, size):
                yield table.slice(start, size)
        else:
            yield from _read_lines(path, size, field)


def _read_lines(path: Path, size: int, field: str) -> Iterator[pa.Table]:
    rows: list[dict[str, Any]] = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                rows.append(_object(line, number, field))
            if len(rows) == size:
                yield _table(rows, field)
                rows = []
    if rows:
        yield _table(rows, field)


def _object(line: str, number: int, field: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as why:
        raise InvalidInput(field, f"line {number} is not JSON ({why.msg})") from why
    if not isinstance(value, dict):
        raise InvalidInput(field, f"line {number} must be an object", type(value).__name__)
    return value


def _table(rows: list[dict[str, Any]], field: str) -> pa.Table:
    try:
        return pa.Table.from_pylist(rows)
    except pa.ArrowException as why:
        raise InvalidInput(field, f"the lines do not have one type per column ({why})") from why


def read_table(path: Path, field: str) -> pa.Table:
    """A whole file."""
    tables = list(read_batches(path, 1 << 20, field))
    if not tables:
        raise InvalidInput(field, "has no rows", str(path))
    return pa.concat_tables(tables)


class TableWriter:
    """Writes batches beside ``path`` and moves the finished file there; an error leaves nothing under that name."""

    def __init__(self, path: Path, field: str) -> None:
        self._path, self._kind, self._field = path, _kind(path, field), field
        self._partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        self._sink: Any = None
        path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, table: pa.Table) -> None:
        """Add rows; the first batch decides the schema."""
        if self._sink is None:
            self._sink = self._open(table.schema)
        if self._kind in LINES:
            self._sink.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
        else:
            self._sink.write_table(table)

    def _open(self, schema: pa.Schema) -> Any:
        if self._kind in PARQUET:
            return pq.ParquetWriter(self._partial, schema)
        return pa.ipc.new_file(str(self._partial), schema) if self._kind in ARROW else self._partial.open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._sink is not None:
            self._sink.close()
        if kind is None and self._sink is not None:
            os.replace(self._partial, self._path)
        else:
            self._partial.unlink(missing_ok=True)
