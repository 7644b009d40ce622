"""Tables in and out: Parquet, Arrow IPC and JSON lines, in pieces, never leaving a partial file under the final name."""

from __future__ import annotations

import datetime
import decimal
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from slateproof.cli.lines import KNOWN, Lines
from slateproof.errors import InvalidInput

__all__ = ["Piece", "TableWriter", "count_rows", "read_pieces", "read_table"]

PARQUET, ARROW, LINES = (".parquet",), (".arrow", ".feather", ".ipc"), (".jsonl", ".ndjson")
_KINDS = PARQUET + ARROW + LINES


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a file: those that could be read, their numbers in the file, and why others could not.

    Scope: none; reading only.
    """

    table: pa.Table
    numbers: list[int] | range
    refused: list[InvalidInput] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many rows of the file it stands for."""
        return self.table.num_rows + len(self.refused)


def _kind(path: Path, what: str) -> str:
    if path.suffix not in _KINDS:
        raise InvalidInput(what, f"the name must end in one of {', '.join(_KINDS)}", str(path))
    return path.suffix


@contextmanager
def _readable(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as why:
        raise InvalidInput(what, f"cannot be read ({why})", str(path)) from why


def count_rows(path: Path, what: str) -> int | None:
    """Rows of a file where the file says so without being read; else None."""
    if _kind(path, what) not in PARQUET:
        return None
    with _readable(path, what):
        return int(pq.read_metadata(path).num_rows)


def read_pieces(path: Path, size: int, what: str, known: dict[str, Any] = KNOWN) -> Iterator[Piece]:
    """The rows of a file, ``size`` at a time; ``known`` names the columns of JSON lines that have one type."""
    kind, first = _kind(path, what), 0
    with _readable(path, what):
        if kind in LINES:
            for piece in Lines(path, what, known).pieces(size):
                yield Piece(*piece)
            return
        for table in _parquet(path, size) if kind in PARQUET else _arrow(path, size):
            yield Piece(table, range(first, first + table.num_rows))
            first += table.num_rows


def _parquet(path: Path, size: int) -> Iterator[pa.Table]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(size):
            yield pa.Table.from_batches([batch])


def _arrow(path: Path, size: int) -> Iterator[pa.Table]:
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    for start in range(0, table.num_rows, size):
        yield table.slice(start, size)


def read_table(path: Path, what: str) -> pa.Table:
    """A whole file; the first line that does not fit is refused."""
    pieces = list(read_pieces(path, 1 << 20, what, {}))
    for piece in pieces:
        if piece.refused:
            raise piece.refused[0]
    if not pieces:
        raise InvalidInput(what, "has no rows", str(path))
    return pa.concat_tables([piece.table for piece in pieces])


class TableWriter:
    """Writes batches beside ``path`` and moves the finished file there; an error leaves nothing under that name."""

    def __init__(self, path: Path, what: str) -> None:
        self._path, self._kind, self._what = path, _kind(path, what), what
        self._partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        self._sink: Any = None
        with self._writable():
            if path.is_dir():
                raise IsADirectoryError("it is a folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            self._partial.touch()

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as why:
            raise InvalidInput(self._what, f"cannot be written ({why})", str(self._path)) from why

    def write(self, table: pa.Table) -> None:
        """Add rows; the first batch decides the schema."""
        with self._writable():
            if self._sink is None:
                self._sink = self._open(table.schema)
            if self._kind in LINES:
                self._sink.writelines(_as_lines(table))
            else:
                self._sink.write_table(table)

    def _open(self, schema: pa.Schema) -> Any:
        if self._kind in PARQUET:
            return pq.ParquetWriter(self._partial, schema)
        if self._kind in ARROW:
            return pa.ipc.new_file(str(self._partial), schema)
        for column in schema:
            if _is_raw(column.type):
                raise InvalidInput(column.name, f"JSON lines cannot hold {column.type}; write .parquet or .arrow")
        return self._partial.open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with self._writable():
                if self._sink is not None:
                    self._sink.close()
                if kind is None and self._sink is not None:
                    os.replace(self._partial, self._path)
        finally:
            self._partial.unlink(missing_ok=True)


def _as_lines(table: pa.Table) -> Iterator[str]:
    try:
        rows = table.to_pylist()
    except ValueError as why:  # nanoseconds, which Python's own times do not have
        raise InvalidInput("out", f"JSON lines cannot hold every value ({why}); write .parquet or .arrow") from why
    return (json.dumps(row, ensure_ascii=False, default=_text) + "\n" for row in rows)


def _is_raw(kind: Any) -> bool:
    """Whether a type holds bytes or durations, somewhere: neither has a form in JSON."""
    if any(kind.field(place) is not None and _is_raw(kind.field(place).type) for place in range(kind.num_fields)):
        return True
    is_ = pa.types
    raw = (is_.is_binary, is_.is_large_binary, is_.is_fixed_size_binary, is_.is_binary_view, is_.is_duration, is_.is_interval)
    return any(test(kind) for test in raw)


def _text(value: Any) -> str:
    """Times as ISO 8601, decimals as their digits."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    raise InvalidInput("out", "JSON lines cannot hold this value; write .parquet or .arrow", value)
