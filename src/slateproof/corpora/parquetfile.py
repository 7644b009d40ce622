"""Parquet columns, checked row by row where one is not what it should be.

Scope: none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slateproof.corpora.badrows import BadRows
from slateproof.corpora.fields import Field
from slateproof.corpora.files import need_file
from slateproof.corpora.vectors import VECTOR, finite_lists
from slateproof.errors import InvalidInput

__all__ = ["read_parquet"]

_WANTED = {"text": "text or whole numbers", "time": "numbers, timestamps or dates", "vector": "lists of numbers"}
_THERE = "must be there, and finite where it is a number"


def read_parquet(path: Path, fields: Mapping[str, Field], bad: BadRows) -> pa.Table:
    """The wanted columns under our names. Rows with a null, or a number that is not finite or not lawful, are malformed."""
    need_file(path)
    try:
        names = pq.read_schema(path).names
        for field in fields.values():
            if field.name not in names:
                raise InvalidInput(field.name, "the column is missing", names, where=path.name)
        source = pq.read_table(path, columns=sorted({field.name for field in fields.values()}))
    except (pa.ArrowException, OSError) as why:
        raise InvalidInput("file", f"is not a whole Parquet file ({why})", path.name) from why
    if source.num_rows == 0:
        raise InvalidInput("rows", "the file has no rows", path.name)
    columns = {ours: _typed(source[field.name], field, path.name) for ours, field in fields.items()}
    keep = np.ones(source.num_rows, bool)
    for ours, field in fields.items():
        keep &= _good(columns[ours], field, keep, bad, path.name)
    table = pa.table(columns)
    return table if keep.all() else table.filter(pa.array(keep))


def _typed(column: pa.ChunkedArray, field: Field, file: str) -> pa.ChunkedArray:
    try:
        return _cast(column, field, file)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as why:
        raise InvalidInput(field.name, f"cannot be read as {_WANTED.get(field.kind, 'numbers')} ({why})", where=file) from why


def _cast(column: pa.ChunkedArray, field: Field, file: str) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        column = column.cast(pa.string())
        kind = column.type
    whole, number = pa.types.is_integer(kind), pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if field.kind == "text" and (whole or pa.types.is_string(kind)):
        return column.cast(pa.int64()) if whole and not field.missing and _fits(column) else column.cast(pa.string())
    if field.kind in ("float", "flag") and (whole or number or (field.kind == "flag" and pa.types.is_boolean(kind))):
        return column.cast(pa.int8()).cast(pa.float64()) if pa.types.is_boolean(kind) else column.cast(pa.float64(), safe=False)
    if field.kind == "time" and (whole or number):
        return column.cast(pa.int64() if whole else pa.float64())
    if field.kind == "time" and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    if field.kind == "vector" and (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return column.cast(VECTOR)
    raise InvalidInput(field.name, f"must hold {_WANTED.get(field.kind, 'numbers')}", str(kind), where=file)


def _fits(column: pa.ChunkedArray) -> bool:
    """Whether whole numbers fit int64; ids that do not stay text, as in CSV."""
    return column.type != pa.uint64() or not pc.any(pc.greater(column, pa.scalar(2**63 - 1, pa.uint64()))).as_py()


def _good(column: pa.ChunkedArray, field: Field, keep: np.ndarray, bad: BadRows, file: str) -> np.ndarray:
    """The rows whose value is there, where the field needs one, and lawful; the others are counted."""
    good = pc.is_valid(column)
    if field.missing:
        good = pc.or_(good, True)
    elif pa.types.is_string(column.type):
        good = pc.and_(good, pc.fill_null(pc.not_equal(column, ""), False))
    if field.kind == "vector":
        good = pa.array(finite_lists(column))
    if pa.types.is_floating(column.type):
        good = pc.and_(good, pc.fill_null(pc.is_finite(column), bool(field.missing)))
    mask: np.ndarray = np.asarray(good)
    outside = mask & ~field.within.holds(column.to_numpy()) if field.within is not None else np.zeros(mask.size, bool)
    for place in np.flatnonzero((~mask | outside) & keep).tolist():
        rule = field.within.rule if field.within is not None and outside[place] else _THERE
        bad.add(field.name, rule, column[place].as_py(), file, place + 1)
    return mask & ~outside
