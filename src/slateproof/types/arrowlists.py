"""List columns of an Arrow table as offsets and values, whatever kind of list and of string the writer chose.

Scope: none; validation only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.row import Row

__all__ = ["Lists", "decoded", "floats_of", "is_list", "list_column", "null_places", "row_of", "rows_with_nulls", "whole"]


class Lists(NamedTuple):
    """A list column: list b is ``values[offsets[b]:offsets[b + 1]]``; ``nulls`` refuses the rows without a list.

    Where there are such rows the offsets mean nothing.
    """

    offsets: Ints
    values: Any
    nulls: list[InvalidInput]


def list_column(table: Any, name: str) -> Lists:
    """Column ``name`` of a table; refuses other types."""
    column = whole(table[name])
    if pa.types.is_null(column.type):
        column = column.cast(pa.list_(pa.null()))
    if not is_list(column.type):
        raise InvalidInput(name, "must be a column of lists, one per pool", str(column.type))
    nulls = [InvalidInput(name, "must not be null", where=Row(int(b))) for b in null_places(column)]
    return Lists(*_cut(column), nulls)


def _cut(column: Any) -> tuple[Ints, Any]:
    """Offsets from 0, and the values; nulls are not looked at."""
    if pa.types.is_fixed_size_list(column.type):
        return frozen(np.arange(len(column) + 1) * column.type.list_size), decoded(column.flatten())
    offsets = column.offsets.to_numpy().astype(np.int64)
    values = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    return frozen(offsets - offsets[0]), decoded(values)


def is_list(kind: Any) -> bool:
    """Whether a type is a list of some kind."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def whole(column: Any) -> Any:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def decoded(values: Any) -> Any:
    """The values without a dictionary, and strings in one of the two plain layouts."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values


def null_places(values: Any) -> Ints:
    """Where the nulls are."""
    if not values.null_count:
        return np.zeros(0, np.int64)
    return np.flatnonzero(pc.is_null(values).to_numpy(zero_copy_only=False))


def row_of(offsets: Ints, place: int) -> int:
    """The row that value ``place`` belongs to."""
    return int(np.searchsorted(offsets, place, side="right")) - 1


def rows_with_nulls(values: Any, name: str, offsets: Ints) -> list[InvalidInput]:
    """A refusal for every null among the values of a list column."""
    return [InvalidInput(name, "must not be null", where=Row(row_of(offsets, int(place)))) for place in null_places(values)]


def floats_of(values: Any, name: str) -> Floats:
    """Values without nulls as float64; refuses what is no number."""
    if not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        raise InvalidInput(name, "must hold numbers", str(values.type))
    return frozen(np.ascontiguousarray(values.to_numpy(zero_copy_only=False), np.float64))
