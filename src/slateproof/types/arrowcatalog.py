"""A catalogue from an Arrow table: one item per row.

Scope: none; validation only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.errors import InvalidInput
from slateproof.types.catalog import Catalog
from slateproof.types.row import Row

__all__ = ["read_catalog"]


def read_catalog(table: Any) -> Catalog:
    """Columns ``id`` (integers or strings), ``target`` and, where there is one, ``vector`` (lists of one length) or ``tags``."""
    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        raise InvalidInput("table", "must be an Arrow table or record batch", type(table).__name__)
    names = table.column_names
    for name in ("id", "target"):
        if name not in names:
            raise InvalidInput(name, f"the column is missing (there are: {', '.join(names) or 'none'})")
    for name in set(names) & {"id", "target", "vector", "tags"}:
        column = table[name]
        if column.null_count:
            row = column.is_null().to_pylist().index(True)
            raise InvalidInput(name, "must not be null", where=Row(row))
    facts: dict[str, Any] = {}
    if "vector" in names:
        facts["vectors"] = _vectors(table["vector"])
    if "tags" in names:
        facts["tags"] = table["tags"].to_pylist()
    return Catalog(table["id"].to_pylist(), table["target"].to_numpy(), **facts)


def _vectors(column: Any) -> Any:
    """The vectors as one table; float32 is kept."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise InvalidInput("vector", "must be a column of lists of numbers", str(kind))
    lengths = {len(row) for row in column.to_pylist()} if not pa.types.is_fixed_size_list(kind) else {kind.list_size}
    if len(lengths) > 1:
        raise InvalidInput("vector", "must have one length", sorted(lengths))
    flat = column.flatten()
    if not pa.types.is_floating(flat.type):
        raise InvalidInput("vector", "must hold numbers", str(flat.type))
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(column), -1)
