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
from slateproof.corpora.csvfile import need_file
from slateproof.corpora.fields import Field
from slateproof.errors import InvalidInput

__all__ = ["read_parquet"]


def read_parquet(path: Path, fields: Mapping[str, Field], bad: BadRows) -> pa.Table:
    """The wanted columns under our names. Rows with a null or a number that is not finite are malformed."""
    need_file(path)
    try:
        names = pq.read_schema(path).names
        for field in fields.values():
            if field.name not in names:
                raise InvalidInput(field.name, "the column is missing", names, where=path.name)
        source = pq.read_table(path, columns=sorted({field.name for field in fields.values()}))
    except (pa.ArrowInvalid, OSError) as why:
        raise InvalidInput("file", f"is not a whole Parquet file ({why})", path.name) from why
    if source.num_rows == 0:
        raise InvalidInput("rows", "the file has no rows", path.name)
    columns = {ours: _typed(source[field.name], field, path.name) for ours, field in fields.items()}
    keep = np.ones(source.num_rows, bool)
    for ours, field in fields.items():
        if not field.missing:
            keep &= _good(columns[ours], field, keep, bad, path.name)
    table = pa.table(columns)
    return table if keep.all() else table.filter(pa.array(keep))


def _typed(column: pa.ChunkedArray, field: Field, file: str) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        column = column.cast(pa.string())
        kind = column.type
    whole, number = pa.types.is_integer(kind), pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if field.kind == "text" and (whole or pa.types.is_string(kind)):
        return column.cast(pa.int64()) if whole and not field.missing else column.cast(pa.string())
    if field.kind in ("float", "flag") and (whole or number or (field.kind == "flag" and pa.types.is_boolean(kind))):
        return column.cast(pa.int8()).cast(pa.float64()) if pa.types.is_boolean(kind) else column.cast(pa.float64())
    if field.kind == "time" and (whole or number):
        return column.cast(pa.int64() if whole else pa.float64())
    if field.kind == "time" and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    wanted = {"text": "text or whole numbers", "time": "numbers, timestamps or dates"}.get(field.kind, "numbers")
    raise InvalidInput(field.name, f"must hold {wanted}", str(kind), where=file)


def _good(column: pa.ChunkedArray, field: Field, keep: np.ndarray, bad: BadRows, file: str) -> np.ndarray:
    good = pc.is_valid(column)
    if pa.types.is_floating(column.type):
        good = pc.and_(good, pc.fill_null(pc.is_finite(column), False))
    elif pa.types.is_string(column.type):
        good = pc.and_(good, pc.fill_null(pc.not_equal(column, ""), False))
    mask: np.ndarray = good.to_numpy()
    for place in np.flatnonzero(~mask & keep).tolist():
        bad.add(field.name, "must be there, and finite where it is a number", column[place].as_py(), file, place + 1)
    return mask
