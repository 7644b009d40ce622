"""A catalogue from an Arrow table: one item per row.

Scope: none; validation only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slateproof.errors import InvalidInput
from slateproof.types.arrowlists import decoded, floats_of, is_list, null_places, whole
from slateproof.types.catalog import Catalog
from slateproof.types.row import Row

__all__ = ["read_catalog"]

COLUMNS = ("id", "target", "vector", "tags")
NEAR_MISSES = {
    "ids": "id", "targets": "target", "vectors": "vector", "tag": "tags", "similarity": "vector or tags",
}  # fmt: skip
"""Names that would be left aside without a word, and every similarity would be 0."""


def read_catalog(table: Any) -> Catalog:
    """Columns ``id`` (integers or strings), ``target`` and, where there is one, ``vector`` (lists of one length) or ``tags``."""
    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        raise InvalidInput("table", "must be an Arrow table or record batch", type(table).__name__)
    names = table.column_names
    for name, meant in NEAR_MISSES.items():
        if name in names:
            raise InvalidInput(name, f"is no column of a catalogue; {meant} is")
    for name in ("id", "target"):
        if name not in names:
            raise InvalidInput(name, f"the column is missing (there are: {', '.join(names) or 'none'})")
    if table.num_rows == 0:
        raise InvalidInput("id", "a catalogue needs at least one item")
    columns = {name: whole(table[name]) for name in COLUMNS if name in names}
    for name, column in columns.items():
        if column.null_count:
            raise InvalidInput(name, "must not be null", where=Row(int(null_places(column)[0])))
    facts: dict[str, Any] = {}
    if "vector" in names:
        facts["vectors"] = _vectors(columns["vector"])
    if "tags" in names:
        facts["tags"] = columns["tags"].to_pylist()
    return Catalog(columns["id"].to_pylist(), columns["target"].to_numpy(zero_copy_only=False), **facts)


def _vectors(column: Any) -> Any:
    """The vectors as one table; float32 is kept."""
    if not is_list(column.type):
        raise InvalidInput("vector", "must be a column of lists of numbers", str(column.type))
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    other = np.flatnonzero(lengths != lengths[0])
    if other.size:
        raise InvalidInput("vector", f"must have {lengths[0]} entries", int(lengths[other[0]]), where=Row(int(other[0])))
    flat = decoded(column.flatten())
    nulls = null_places(flat)
    if nulls.size:
        raise InvalidInput("vector", "must not hold nulls", where=Row(int(nulls[0]) // int(lengths[0])))
    narrow = pa.types.is_float32(flat.type)
    return (flat.to_numpy(zero_copy_only=False) if narrow else floats_of(flat, "vector")).reshape(len(column), int(lengths[0]))
