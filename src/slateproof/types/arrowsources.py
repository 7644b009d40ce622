"""The similarity source of a table of pools: vectors, matrices or tags, one list of each per row.

Scope: none; validation only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slateproof.errors import InvalidInput
from slateproof.types.arrowlists import Lists, decoded, floats_of, is_list, row_of, rows_with_nulls
from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.poolbatch import Matrices
from slateproof.types.row import Row, refuse
from slateproof.types.similarity import NONE, UNIT_TOLERANCE, Similarity

__all__ = ["SOURCES", "read_source"]

SOURCES = ("vectors", "similarity", "tags")

Source = tuple[Similarity, Matrices | None]


def read_source(lists: dict[str, Lists], flat: Any, dimension: int | None) -> Source:
    """The source of pools with the ids ``flat``; ``dimension`` is that of their vectors (None: that of the first good row)."""
    offsets = lists["ids"].offsets
    if "vectors" in lists:
        return _vectors(lists["vectors"], offsets, flat, dimension), None
    if "similarity" in lists:
        return NONE, _matrices(lists["similarity"], offsets, flat)
    return (_tags(lists["tags"], offsets, flat) if "tags" in lists else NONE), None


def _check_lengths(field: str, column: Lists, wanted: Ints) -> None:
    found = np.diff(column.offsets)
    wrong = np.flatnonzero(found != wanted)
    refuse([InvalidInput(field, f"must have {wanted[b]} entries", int(found[b]), where=Row(int(b))) for b in wrong])


def _inner(field: str, column: Lists, offsets: Ints, what: str) -> tuple[Ints, Any, list[InvalidInput]]:
    """(Lengths, values, rows with nulls) of the lists inside a list column."""
    kind = column.values.type
    if not is_list(kind):
        raise InvalidInput(field, f"must be a column of lists of {what}", str(kind))
    refuse(rows_with_nulls(column.values, field, offsets))
    lengths = pc.list_value_length(column.values).to_numpy(zero_copy_only=False).astype(np.int64)
    numbers = decoded(column.values.flatten())
    places = np.concatenate([[0], np.cumsum(lengths)])
    return lengths, numbers, rows_with_nulls(numbers, field, places[offsets])


def _vectors(column: Lists, offsets: Ints, flat: Any, dimension: int | None) -> Similarity:
    _check_lengths("vectors", column, np.diff(offsets))
    lengths, values, nulls = _inner("vectors", column, offsets, "vectors")
    refuse(nulls)
    numbers = values.to_numpy(zero_copy_only=False) if pa.types.is_float32(values.type) else floats_of(values, "vectors")
    tolerance = UNIT_TOLERANCE[numbers.dtype]
    norms = _norms(numbers, lengths)
    refuse(_bad_vectors(lengths, norms, tolerance, offsets, flat, dimension))
    vectors = frozen(np.ascontiguousarray(numbers).reshape(len(lengths), -1))
    reach = (1.0 + tolerance) ** 2 + 1e-9
    return Similarity("vectors", len(vectors), vectors=vectors, lower=-reach, higher=reach)


def _norms(numbers: Any, lengths: Ints) -> Floats:
    """Euclidean norms of vectors that stand one after another; one pass per length, of which there is normally one."""
    norms, starts = np.zeros(lengths.size), np.cumsum(lengths) - lengths
    for length in np.unique(lengths):
        which = np.flatnonzero(lengths == length)
        alone = which.size == lengths.size and length > 0
        table = numbers.reshape(-1, length) if alone else numbers[starts[which, None] + np.arange(length)]
        norms[which] = np.sqrt(np.einsum("ij,ij->i", table, table, dtype=np.float64))
    return norms


def _bad_vectors(
    lengths: Ints, norms: Floats, tolerance: float, offsets: Ints, flat: Any, dimension: int | None
) -> list[InvalidInput]:
    """Rows with vectors that are not unit, or not of the one length: ``dimension``, else that of the first row without a fault."""
    # `not (|norm - 1| <= tol)` also catches NaN and infinities.
    wrong = ~(np.abs(norms - 1.0) <= tolerance)
    row = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    own = lengths[offsets[:-1]]
    faults = np.zeros(offsets.size - 1, bool)
    faults[row[wrong | (lengths != own[row])]] = True
    good = np.flatnonzero(~faults)
    expected = own if dimension is None and not good.size else np.full(own.size, own[good[0]] if dimension is None else dimension)
    rule = f"rows must be finite unit vectors (norm within {tolerance:g} of 1; see sp.unit)"
    bad = []
    for place in np.flatnonzero(wrong | (lengths != expected[row])):
        where = Row(int(row[place]), flat[int(place)].as_py())
        if lengths[place] != expected[row[place]]:
            bad.append(InvalidInput("vectors", f"must all have {expected[row[place]]} entries", int(lengths[place]), where=where))
        else:
            bad.append(InvalidInput("vectors", rule, float(norms[place]), where=where))
    return bad


def _matrices(column: Lists, offsets: Ints, flat: Any) -> Matrices:
    sizes, starts = np.diff(offsets), column.offsets
    _check_lengths("similarity", column, sizes * sizes)
    refuse(rows_with_nulls(column.values, "similarity", starts))
    numbers = floats_of(column.values, "similarity")
    bad = []
    for b, n in enumerate(sizes.tolist()):
        square = numbers[starts[b] : starts[b + 1]].reshape(n, n)
        wrong = ~np.isfinite(square) | (square != square.T)
        if wrong.any():
            i, j = (int(x[0]) for x in np.nonzero(wrong))
            item = flat[int(offsets[b]) + i].as_py()
            rule = "must be finite and exactly symmetric"
            bad.append(InvalidInput("similarity", rule, (float(square[i, j]), float(square[j, i])), where=Row(b, item)))
    refuse(bad)
    return Matrices.of(numbers, starts)


def _tags(column: Lists, offsets: Ints, flat: Any) -> Similarity:
    _check_lengths("tags", column, np.diff(offsets))
    _, values, nulls = _inner("tags", column, offsets, "tags")
    if not (pa.types.is_integer(values.type) or pa.types.is_null(values.type)):
        raise InvalidInput("tags", "a tag must be a 64-bit integer", str(values.type))
    refuse(nulls)
    listed = column.values.to_pylist()
    large = [place for place, tags in enumerate(listed) if tags and max(tags) >= 2**63]
    rule = "a tag must be a 64-bit integer"
    refuse([InvalidInput("tags", rule, max(listed[p]), where=Row(row_of(offsets, p), flat[p].as_py())) for p in large])
    return Similarity.of_tags(listed, flat)
