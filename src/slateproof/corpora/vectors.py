"""Item vectors from a column of a table: read row by row, one per item, scaled to unit length.

Scope: none; vectors computed from people's responses are a *conditioned* selector input.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slateproof.corpora.columns import Codes, Floats, Ids
from slateproof.errors import InvalidInput

__all__ = ["VECTOR", "check_vector", "finite_lists", "item_vectors", "lists_of", "vector_of"]

VECTOR = pa.list_(pa.float64())


def vector_of(text: str) -> list[float]:
    """Numbers between spaces, commas or semicolons, in brackets or not; ValueError for anything else."""
    return check_vector([float(part) for part in text.strip().strip("[]").replace(",", " ").replace(";", " ").split()])


def check_vector(value: Any) -> list[float]:
    """``value`` as a list of finite numbers, at least one; ValueError for anything else."""
    if not isinstance(value, list) or not value:
        raise ValueError(value)
    if any(isinstance(x, bool) or not isinstance(x, (int, float)) or not math.isfinite(x) for x in value):
        raise ValueError(value)
    return [float(x) for x in value]


def lists_of(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A text column as lists of numbers, each text parsed once; None where one of them is no vector."""
    coded = column.combine_chunks().dictionary_encode()
    try:
        parsed = pa.array([vector_of(text) for text in coded.dictionary.to_pylist()], VECTOR)
    except ValueError:
        return None
    return pa.chunked_array([parsed.take(coded.indices)])


def finite_lists(column: pa.ChunkedArray) -> Any:
    """Which rows of a column of lists are vectors (bool)."""
    column = column.combine_chunks()
    good = pc.fill_null(pc.greater(pc.list_value_length(column), 0), False).to_numpy(zero_copy_only=False).copy()
    wrong = pc.invert(pc.fill_null(pc.is_finite(pc.list_flatten(column)), False))
    good[pc.list_parent_indices(column).filter(wrong).to_numpy()] = False
    return good


def item_vectors(item: Codes, ids: Ids, column: pa.ChunkedArray, name: str) -> Floats:
    """Rows of unit length in code order. All rows of an item must say the same, and all items have the same length, not 0."""
    column = column.combine_chunks()
    length = column.value_lengths().to_numpy()
    if (other := length != length[0]).any():
        _refuse(name, f"must have {length[0]} numbers, as in the first row", int(length[other][0]), ids, item, other)
    rows = pc.list_flatten(column).to_numpy().reshape(-1, int(length[0]))
    first = np.zeros(ids.size, np.int64)
    first[item[::-1]] = np.arange(item.size)[::-1]
    if (other := (rows != rows[first[item]]).any(axis=1)).any():
        _refuse(name, "must be the same in all rows of an item", json.dumps(rows[other][0].tolist())[:80], ids, item, other)
    size = np.abs(rows[first]).max(axis=1, keepdims=True)
    if (other := size[:, 0][item] == 0.0).any():
        _refuse(name, "must not be zero: it has no direction", None, ids, item, other)
    scaled = rows[first] / size  # the squares of the largest numbers overflow, those of the smallest vanish
    return np.asarray(scaled / np.sqrt((scaled * scaled).sum(axis=1, keepdims=True)), np.float64)


def _refuse(name: str, rule: str, value: object, ids: Ids, item: Codes, wrong: Any) -> None:
    raise InvalidInput(name, rule, value, where=ids[item[int(np.flatnonzero(wrong)[0])]].item())
