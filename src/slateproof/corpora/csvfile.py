"""Delimited text into Arrow columns: fast where every row is well formed, row by row where one is not.

The fast path is PyArrow's reader, in parallel. Anything it cannot read (a value of the wrong kind, an empty cell, a row with
another number of cells, a byte that is not UTF-8) or would misread (quotes around line ends) sends the file through ``_careful``,
which knows the row and the value.

Scope: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from slateproof.corpora.badrows import BadRows
from slateproof.corpora.csvrows import csv_rows, rows_are_lines
from slateproof.corpora.fields import ARROW, Field, Unlawful, clock_of, parse
from slateproof.corpora.files import need_file, open_text
from slateproof.corpora.vectors import VECTOR, finite_lists, lists_of
from slateproof.errors import InvalidInput

__all__ = ["finish", "read_csv"]

_CHUNK = 100_000
_BLOCK = 8 << 20


def read_csv(
    path: Path,
    fields: Mapping[str, Field],
    bad: BadRows,
    *,
    header: Sequence[str] | None = None,
    delimiter: str = ",",
    may_be_empty: bool = False,
) -> pa.Table:
    """The wanted columns of a file, under our names: int64, float64, text; nulls only where the field allows them.

    ``header`` names the columns of a file that does not name them itself. An empty file is refused, and so is one without rows
    unless it ``may_be_empty``.
    """
    need_file(path)
    names = list(header) if header is not None else _header(path, fields, delimiter)
    table = _fast(path, fields, names, header is None, delimiter)
    if table is None:
        table = _careful(path, fields, names, header is None, delimiter, bad)
    if table.num_rows == 0 and not may_be_empty:
        raise InvalidInput("rows", "the file has no rows", path.name)
    return table


def _header(path: Path, fields: Mapping[str, Field], delimiter: str) -> list[str]:
    with open_text(path) as text:
        names = next((cells for _, cells in csv_rows(text, path.name, delimiter)), [])
    for field in fields.values():
        if field.name not in names:
            raise InvalidInput(field.name, "the column is missing", names, where=path.name)
        if names.count(field.name) > 1:
            raise InvalidInput(field.name, "the column stands in the header more than once", names, where=path.name)
    return names


def _fast(path: Path, fields: Mapping[str, Field], names: list[str], has_header: bool, delimiter: str) -> pa.Table | None:
    wanted = {field.name: ARROW[field.kind] for field in fields.values()}
    missing = sorted({text for field in fields.values() for text in field.missing})
    try:
        with pa.input_stream(str(path), compression="detect") as source:
            table = pacsv.read_csv(
                source,
                read_options=pacsv.ReadOptions(column_names=names, skip_rows=1 if has_header else 0, block_size=_BLOCK),
                parse_options=pacsv.ParseOptions(delimiter=delimiter),
                convert_options=pacsv.ConvertOptions(
                    column_types=wanted,
                    include_columns=list(wanted),
                    null_values=["", *missing],
                    strings_can_be_null=True,
                ),
            )
    except (pa.ArrowInvalid, OSError):  # the careful reader says which row, or that the .gz is cut short
        return None
    if not rows_are_lines(path, table.num_rows + has_header):
        return None
    return finish({ours: table[field.name] for ours, field in fields.items()}, fields)


def finish(columns: Mapping[str, pa.ChunkedArray], fields: Mapping[str, Field]) -> pa.Table | None:
    """Times and flags turned into numbers; None where a value is not what its field asks for."""
    out = {}
    for ours, field in fields.items():
        column = columns[ours]
        if field.kind == "blank":
            if column.null_count != len(column):
                return None
            continue
        if column.null_count and not field.missing:
            return None
        if pa.types.is_string(column.type) and field.kind in ("time", "flag"):
            target = {"int": pa.int64(), "float": pa.float64()}.get(
                "float" if field.kind == "flag" else clock_of(column[0].as_py() or "") if len(column) else "int"
            )
            if target is None:
                return None
            try:
                column = column.cast(target)
            except pa.ArrowInvalid:
                return None
        if field.kind == "vector":
            lists = lists_of(column) if pa.types.is_string(column.type) else column
            if lists is None or not finite_lists(lists).all():
                return None
            column = lists
        if field.kind == "text" and not field.missing and pa.types.is_string(column.type) and pc.any(pc.equal(column, "")).as_py():
            return None
        if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column)).as_py():
            return None
        if field.within is not None and not field.within.holds(column.to_numpy()).all():
            return None
        out[ours] = column
    return pa.table(out)


def _careful(path: Path, fields: Mapping[str, Field], names: list[str], has_header: bool, delimiter: str, bad: BadRows) -> pa.Table:
    """Row by row: every value checked, malformed rows counted with their line."""
    places = {ours: names.index(field.name) for ours, field in fields.items()}
    stored = [ours for ours, field in fields.items() if field.kind != "blank"]
    kinds: dict[str, str] = {ours: field.kind for ours, field in fields.items()}
    chunks: dict[str, list[pa.Array]] = {ours: [] for ours in stored}
    rows: list[list[Any]] = []
    with open_text(path) as text:
        reader = csv_rows(text, path.name, delimiter)
        if has_header:
            next(reader)
        for line, cells in reader:
            if len(cells) != len(names):
                bad.add("row", f"must have {len(names)} cells", delimiter.join(cells), path.name, line)
                continue
            row = _row(cells, fields, places, kinds, bad, path.name, line)
            if row is not None:
                rows.append(row)
            if len(rows) == _CHUNK:
                _flush(rows, kinds, chunks)
    _flush(rows, kinds, chunks)
    return pa.table({ours: pa.chunked_array(parts) for ours, parts in chunks.items()})


def _row(
    cells: list[str],
    fields: Mapping[str, Field],
    places: Mapping[str, int],
    kinds: dict[str, str],
    bad: BadRows,
    file: str,
    line: int,
) -> list[Any] | None:
    row: list[Any] = []
    for ours, field in fields.items():
        cell = cells[places[ours]]
        if field.missing and cell in ("", *field.missing):
            row.append(None)
            continue
        if kinds[ours] == "time":
            kinds[ours] = clock_of(cell)
        try:
            value = parse(cell, kinds[ours], field)
        except Unlawful as why:
            bad.add(field.shown, why.rule, why.value, file, line)
            return None
        if field.kind != "blank":
            row.append(value)
    return row


_STORED = {
    "int": pa.int64(),
    "iso": pa.int64(),
    "time": pa.int64(),
    "float": pa.float64(),
    "flag": pa.float64(),
    "text": pa.string(),
    "vector": VECTOR,
}


def _flush(rows: list[list[Any]], kinds: Mapping[str, str], chunks: dict[str, list[pa.Array]]) -> None:
    columns = zip(*rows, strict=True) if rows else ([] for _ in chunks)
    for (ours, parts), values in zip(chunks.items(), columns, strict=True):
        parts.append(pa.array(values, _STORED[kinds[ours]]))
    rows.clear()
