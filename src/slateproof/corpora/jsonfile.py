"""JSON lines into Arrow columns: fast where every row is well formed, line by line where one is not.

Scope: none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pajson

from slateproof.corpora.badrows import BadRows
from slateproof.corpora.csvfile import finish
from slateproof.corpora.fields import ARROW, Field, Unlawful, clock_of, parse, rule_of
from slateproof.corpora.files import need_file, open_text
from slateproof.corpora.vectors import VECTOR, check_vector
from slateproof.errors import InvalidInput

__all__ = ["read_json", "sample"]

_BLOCK = 16 << 20
_SAMPLE = 1000


def sample(path: Path, names: Collection[str]) -> dict[str, Any]:
    """The keys that the objects of a file have, each with its first value that is not null, or None.

    Reads until all of ``names`` were seen with a value, or were seen in the first ``_SAMPLE`` rows; else to the end. Lines that are
    no object are left to whoever reads the rows.
    """
    need_file(path)
    seen: dict[str, Any] = {}
    rows = 0
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            if not line.strip():
                continue
            rows += 1
            try:
                row = _object(line, path.name, number)
            except InvalidInput:
                continue
            seen |= {key: value for key, value in row.items() if seen.get(key) is None}
            lacking = [name for name in names if seen.get(name) is None]
            if not lacking or (rows >= _SAMPLE and all(name in seen for name in lacking)):
                break
    if rows == 0:
        raise InvalidInput("rows", "the file has no rows", path.name)
    return seen


def read_json(path: Path, fields: Mapping[str, Field], bad: BadRows) -> pa.Table:
    """The wanted keys of every line, under our names: int64, float64, text. Ids may be text or whole numbers.

    A key that no row has is refused as a missing column; a row without it is a malformed row, unless the field allows it.
    """
    seen = sample(path, [field.name for field in fields.values()])
    for field in fields.values():
        if field.name not in seen and seen:
            raise InvalidInput(field.name, "the column is missing", sorted(seen), where=path.name)
    table = _fast(path, fields, seen) if seen else None
    if table is None:
        table = _careful(path, fields, bad)
    if table.num_rows == 0:
        raise InvalidInput("rows", "the file has no rows", path.name)
    return table


def _fast(path: Path, fields: Mapping[str, Field], seen: Mapping[str, Any]) -> pa.Table | None:
    schema = pa.schema([(field.name, _type(field.kind, seen[field.name])) for field in fields.values()])
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
    if kind == "vector":
        return VECTOR
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
    if kind == "text" and values and all(isinstance(v, int) and -(2**63) <= v < 2**63 for v in values):
        return pa.array(values, pa.int64())
    if kind != "text":
        return pa.array(values, VECTOR if kind == "vector" else None)
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _object(line: str, file: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as why:  # a number of thousands of digits is a plain ValueError
        said = why.msg if isinstance(why, json.JSONDecodeError) else str(why)
        raise InvalidInput("row", f"must be one JSON object ({said})", line.strip()[:80], where=f"{file} row {number}") from why
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
        try:
            out.append(_value(value, kinds[ours], field))
        except Unlawful as why:
            bad.add(field.name, why.rule, value, file, number)
            return None
    return out


def _value(value: Any, kind: str, field: Field) -> Any:
    """One JSON value as its kind; an id may be a whole number."""
    if kind == "text" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "vector":
        try:
            return check_vector(value)
        except ValueError:
            raise Unlawful(rule_of(kind), value) from None
    right = isinstance(value, str) if kind == "text" else value is not None and (kind == "flag" or not isinstance(value, bool))
    if kind == "time" or not right:
        raise Unlawful(rule_of(kind), value)
    return parse(str(value), kind, field)
