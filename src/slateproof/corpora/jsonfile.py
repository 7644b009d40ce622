"""JSON lines into Arrow columns: fast where every row is well formed, line by line where one is not.

Scope: none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pajson

from slateproof.corpora.badrows import BadRows
from slateproof.corpora.csvfile import finish, need_file, open_text
from slateproof.corpora.fields import ARROW, Field, clock_of, parser
from slateproof.errors import InvalidInput

__all__ = ["first_object", "read_json"]

_BLOCK = 16 << 20


def first_object(path: Path) -> dict[str, Any]:
    """The object on the first line that is not blank: it shows which publisher's names a file uses."""
    need_file(path)
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                return _object(line, path.name, number)
    raise InvalidInput("rows", "the file has no rows", path.name)


def read_json(path: Path, fields: Mapping[str, Field], bad: BadRows) -> pa.Table:
    """The wanted keys of every line, under our names: int64, float64, text. Ids may be text or whole numbers.

    A key that no row has is refused as a missing column; a row without it is a malformed row.
    """
    first = first_object(path)
    for field in fields.values():
        if field.name not in first:
            raise InvalidInput(field.name, "the column is missing", sorted(first), where=path.name)
    table = _fast(path, fields, first)
    if table is None:
        table = _careful(path, fields, bad)
    if table.num_rows == 0:
        raise InvalidInput("rows", "the file has no rows", path.name)
    return table


def _fast(path: Path, fields: Mapping[str, Field], first: Mapping[str, Any]) -> pa.Table | None:
    schema = pa.schema([(field.name, _type(field.kind, first[field.name])) for field in fields.values()])
    try:
        with pa.input_stream(str(path), compression="detect") as source:
            table = pajson.read_json(
                source,
                read_options=pajson.ReadOptions(block_size=_BLOCK),
                parse_options=pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
    except (pa.ArrowInvalid, OSError):  # the careful reader says which line
        return None
    columns = {ours: table[field.name] for ours, field in fields.items()}
    for ours, column in columns.items():
        if pa.types.is_boolean(column.type):
            columns[ours] = column.cast(pa.int8()).cast(pa.float64())
    return finish(columns, fields)


def _type(kind: str, first: Any) -> pa.DataType:
    """The Arrow type of a column, by its kind and its first value: ids may be whole numbers, flags true or false."""
    if kind == "flag":
        return pa.bool_() if isinstance(first, bool) else pa.string() if isinstance(first, str) else pa.float64()
    if kind in ("text", "time") and isinstance(first, int):
        return pa.int64()
    return pa.float64() if kind == "time" and isinstance(first, float) else ARROW[kind]


def _careful(path: Path, fields: Mapping[str, Field], bad: BadRows) -> pa.Table:
    columns: dict[str, list[Any]] = {ours: [] for ours in fields}
    kinds: dict[str, str] = {ours: field.kind for ours, field in fields.items()}
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            if not line.strip():
                continue
            try:
                row = _object(line, path.name, number)
            except InvalidInput as error:
                bad.add("row", error.rule, error.value, path.name, number)
                continue
            values = _values(row, fields, kinds, bad, path.name, number)
            if values is not None:
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
    return pa.table({ours: _array(values, kinds[ours]) for ours, values in columns.items()})


def _array(values: list[Any], kind: str) -> pa.Array:
    if kind == "text" and values and all(isinstance(v, int) for v in values):
        return pa.array(values, pa.int64())
    if kind != "text":
        return pa.array(values)
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _object(line: str, file: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as why:
        raise InvalidInput("row", f"must be one JSON object ({why.msg})", line.strip()[:80], where=f"{file} row {number}") from why
    if not isinstance(row, dict):
        raise InvalidInput("row", "must be one JSON object", line.strip()[:80], where=f"{file} row {number}")
    return row


def _values(
    row: dict[str, Any], fields: Mapping[str, Field], kinds: dict[str, str], bad: BadRows, file: str, number: int
) -> list[Any] | None:
    out: list[Any] = []
    for ours, field in fields.items():
        value = row.get(field.name)
        if field.missing and (value is None or value in field.missing):
            out.append(None)
            continue
        if kinds[ours] == "time" and value is not None:
            kinds[ours] = clock_of(str(value))
        rule = parser(kinds[ours])[1] if kinds[ours] != "time" else "must be a number or an ISO 8601 time"
        try:
            out.append(_value(value, kinds[ours]))
        except ValueError:
            bad.add(field.name, rule, value, file, number)
            return None
    return out


def _value(value: Any, kind: str) -> Any:
    """One JSON value as its kind; an id may be a whole number."""
    if value is None:
        raise ValueError(value)
    if kind == "text" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "text" and not isinstance(value, str):
        raise ValueError(value)
    if isinstance(value, bool) and kind != "flag":
        raise ValueError(value)
    return parser(kind)[0](str(value))
