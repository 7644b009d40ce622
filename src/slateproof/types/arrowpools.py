"""Pools from an Arrow table: the documented batch schema (``docs/batches.md``), checked column by column.

Scope: none; validation only.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slateproof.errors import InvalidInput
from slateproof.types.checks import CLEAN, DUPLICATE, NEGATIVE_WIDTH, SCORE, TARGET, WIDTH, check_ragged
from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.ids import ItemId
from slateproof.types.poolbatch import Matrices, PoolBatch
from slateproof.types.row import Row
from slateproof.types.similarity import MEAN_SLACK, NONE, UNIT_TOLERANCE, Similarity

if TYPE_CHECKING:
    from slateproof.types.catalog import Catalog

__all__ = ["find_bad_rows", "read_pools"]

SOURCES = ("vectors", "similarity", "tags")

RULES = {
    SCORE: ("scores", "must be finite"),
    WIDTH: ("widths", "must be finite"),
    NEGATIVE_WIDTH: ("widths", "must be at least 0"),
    TARGET: ("targets", "must lie in [0, 1]"),
    DUPLICATE: ("ids", "must not repeat an id"),
}
_NONE: Floats = frozen(np.zeros(0))


def read_pools(table: Any, catalog: Catalog | None) -> PoolBatch:
    """The pools of a table, one per row; refuses the first bad row."""
    batch, bad = _read(table, catalog)
    if bad:
        raise bad[0]
    return batch


def find_bad_rows(table: Any, catalog: Catalog | None) -> list[InvalidInput]:
    """One refusal per bad row, in row order; structural faults (a missing column, a wrong type) are raised instead."""
    rows = table.num_rows
    good = np.arange(rows)
    found: dict[int, InvalidInput] = {}
    while good.size:
        _, bad = _read(table if good.size == rows else table.take(good), catalog)
        if not bad:
            break
        for error in bad:
            row = int(good[error.where.number])  # type: ignore[attr-defined]
            item = error.where.item  # type: ignore[attr-defined]
            found[row] = InvalidInput(error.field, error.rule, error.value, where=Row(row, item))
        good = np.setdiff1d(good, list(found))
    return [found[row] for row in sorted(found)]


def _read(table: Any, catalog: Catalog | None) -> tuple[PoolBatch, list[InvalidInput]]:
    """The batch, and the refusals of one stage of checks; the batch means something only where there are none."""
    _check_columns(table, catalog)
    if table.num_rows == 0:
        raise InvalidInput("pools", "a batch needs at least one pool")
    offsets, flat = _flat(table, "ids")
    sizes = np.diff(offsets)
    bad = [InvalidInput("ids", "a pool needs at least one candidate", where=Row(int(b))) for b in np.flatnonzero(sizes == 0)]
    scores, wrong = _numbers(table, "scores", sizes)
    bad += wrong
    columns: dict[str, Floats | None] = {"targets": None, "widths": None}
    for name in columns:
        if name in table.column_names and not (name == "targets" and catalog is not None):
            columns[name], wrong = _numbers(table, name, sizes)
            bad += wrong
    if bad:
        return _first_per_row(_EMPTY, bad)
    rank, rows, are_ids, bad = _ranks(flat, offsets, catalog)
    if bad:
        return _first_per_row(_EMPTY, bad)
    targets, widths = columns["targets"], columns["widths"]
    bad = _check_values(flat, offsets, rank, scores, targets, widths)
    if bad:
        return _first_per_row(_EMPTY, bad)
    source, matrices = NONE, None
    if catalog is not None:
        # Half the memory of the largest column that a batch adds to its input.
        source, rank = catalog.similarity, frozen(rank.astype(np.int32))
        rows = rank
    else:
        source, matrices, bad = _source(table, offsets, flat)
    return _first_per_row(
        PoolBatch(
            offsets=offsets, scores=scores, targets=targets, widths=widths, rank=rank, rows=rows, source=source,
            matrices=matrices, names=flat, catalog=catalog, ranks_are_ids=are_ids,
        ),
        bad,
    )  # fmt: skip


def _first_per_row(batch: Any, bad: list[InvalidInput]) -> tuple[PoolBatch, list[InvalidInput]]:
    first: dict[int, InvalidInput] = {}
    for error in bad:
        first.setdefault(error.where.number, error)  # type: ignore[attr-defined]
    return batch, [first[row] for row in sorted(first)]


_EMPTY: Any = None


def _check_columns(table: Any, catalog: Catalog | None) -> None:
    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        raise InvalidInput("table", "must be an Arrow table or record batch", type(table).__name__)
    present = table.column_names
    for name in ("ids", "scores"):
        if name not in present:
            raise InvalidInput(name, f"the column is missing (there are: {', '.join(present) or 'none'})")
    given = [name for name in SOURCES if name in present]
    if catalog is not None and given:
        raise InvalidInput(given[0], "stands in the catalogue; a table that refers to one has ids, scores and widths only")
    if len(given) > 1:
        raise InvalidInput(given[1], f"a pool has one similarity source, and {given[0]} is given too")


def _flat(table: Any, name: str) -> tuple[Ints, Any]:
    """Offsets from 0 and the values of a list column; refuses other types and null rows."""
    column = table[name]
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise InvalidInput(name, "must be a column of lists, one per pool", str(column.type))
    if column.null_count:
        raise InvalidInput(name, "must not be null", where=Row(int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))))
    offsets = column.offsets.to_numpy().astype(np.int64)
    values = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    return frozen(offsets - offsets[0]), values


def _numbers(table: Any, name: str, sizes: Ints) -> tuple[Floats, list[InvalidInput]]:
    """A column of lists of numbers as one float64 column, and the rows whose length is not that of ids."""
    offsets, values = _flat(table, name)
    lengths = np.diff(offsets)
    bad = [
        InvalidInput(name, f"must have one value per id ({sizes[b]})", int(lengths[b]), where=Row(int(b)))
        for b in np.flatnonzero(lengths != sizes)
    ]
    return _as_floats(values, name, offsets), bad


def _as_floats(values: Any, name: str, offsets: Ints) -> Floats:
    if not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        raise InvalidInput(name, "must hold numbers", str(values.type))
    if values.null_count:
        place = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
        raise InvalidInput(name, "must not be null", where=Row(_row_of(offsets, place)))
    column: Floats = np.ascontiguousarray(values.to_numpy(zero_copy_only=False), np.float64)
    return frozen(column)


def _row_of(offsets: Ints, place: int) -> int:
    return int(np.searchsorted(offsets, place, side="right")) - 1


def _ranks(flat: Any, offsets: Ints, catalog: Catalog | None) -> tuple[Ints, Ints, bool, list[InvalidInput]]:
    """(rank, rows, whether ranks are the ids themselves, refusals): integers rank themselves, strings by their dictionary."""
    kind = flat.type
    integers, strings = pa.types.is_integer(kind), pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not integers and not strings:
        raise InvalidInput("ids", "must be integers or strings", str(kind))
    if flat.null_count:
        place = int(np.argmax(flat.is_null().to_numpy(zero_copy_only=False)))
        raise InvalidInput("ids", "must not be null", where=Row(_row_of(offsets, place)))
    if catalog is not None:
        rows, unknown = _catalog_rows(flat, catalog)
        return rows, rows, False, _refuse_at(unknown, offsets, "ids", "is not in the catalogue", flat)
    everyone = frozen(np.arange(len(flat)))
    if integers:
        return frozen(np.ascontiguousarray(flat.cast(pa.int64()).to_numpy())), everyone, True, []
    coded = flat.dictionary_encode()
    names = coded.dictionary.to_pylist()
    position = np.empty(len(names), np.int64)
    position[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return frozen(position[coded.indices.to_numpy()]), everyone, False, []


def _catalog_rows(flat: Any, catalog: Catalog) -> tuple[Ints, Ints]:
    """Rows of the ids, and the places of ids that the catalogue does not have."""
    if pa.types.is_integer(flat.type):
        with suppress(InvalidInput):  # then, below, all unknown ids are found, not only the first
            return frozen(catalog.rows_of(np.ascontiguousarray(flat.cast(pa.int64()).to_numpy()))), np.zeros(0, np.int64)
    coded = flat.dictionary_encode()
    of_name = [catalog.row_or_none(name) for name in coded.dictionary.to_pylist()]
    lookup = np.array([-1 if row is None else row for row in of_name], np.int64)
    rows: Ints = frozen(lookup[coded.indices.to_numpy()])
    return rows, np.flatnonzero(rows < 0)


def _refuse_at(places: Ints, offsets: Ints, field: str, rule: str, flat: Any) -> list[InvalidInput]:
    return [InvalidInput(field, rule, flat[int(p)].as_py(), where=Row(_row_of(offsets, int(p)))) for p in places]


def _check_values(
    flat: Any, offsets: Ints, rank: Ints, scores: Floats | None, targets: Floats | None, widths: Floats | None
) -> list[InvalidInput]:
    """The first broken rule of every row, found in one compiled pass."""
    columns = {"scores": scores, "targets": targets, "widths": widths}
    codes, places = np.empty(offsets.size - 1, np.int64), np.empty(offsets.size - 1, np.int64)
    seen = np.empty(2 << int(np.diff(offsets).max()).bit_length(), np.int64)
    check_ragged(offsets, rank, *(_NONE if c is None else c for c in columns.values()), seen, codes, places)
    bad = []
    for b in np.flatnonzero(codes != CLEAN):
        field, rule = RULES[int(codes[b])]
        place, column = int(places[b]), columns.get(field)
        item: ItemId = flat[place].as_py()
        value = item if column is None else float(column[place])
        bad.append(InvalidInput(field, rule, value, where=Row(int(b), None if column is None else item)))
    return bad


def _source(table: Any, offsets: Ints, flat: Any) -> tuple[Similarity, Matrices | None, list[InvalidInput]]:
    present = table.column_names
    if "vectors" in present:
        return _vectors(table, offsets, flat)
    if "similarity" in present:
        return _matrices(table, offsets, flat)
    return (*_tags(table, offsets), []) if "tags" in present else (NONE, None, [])


def _vectors(table: Any, offsets: Ints, flat: Any) -> tuple[Similarity, Matrices | None, list[InvalidInput]]:
    starts, values = _flat(table, "vectors")
    bad = _wrong_lengths("vectors", np.diff(starts), np.diff(offsets))
    if bad:
        return NONE, None, bad
    if pa.types.is_fixed_size_list(values.type):
        width, numbers = values.type.list_size, values.flatten()
    elif pa.types.is_list(values.type):
        lengths = pc.list_value_length(values).to_numpy(zero_copy_only=False)
        width, numbers = int(lengths[0]), values.flatten()
        if (lengths != width).any():
            place = int(np.argmax(lengths != width))
            raise InvalidInput("vectors", f"must all have {width} entries", int(lengths[place]), where=Row(_row_of(offsets, place)))
    else:
        raise InvalidInput("vectors", "must be a column of lists of vectors", str(values.type))
    narrow = pa.types.is_float32(numbers.type)
    dense = numbers.to_numpy(zero_copy_only=False) if narrow else _as_floats(numbers, "vectors", offsets)
    vectors = frozen(np.ascontiguousarray(dense).reshape(-1, width))
    tolerance = UNIT_TOLERANCE[vectors.dtype]
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    wrong = np.flatnonzero(~(np.abs(norms - 1.0) <= tolerance))
    rule = f"rows must be finite unit vectors (norm within {tolerance:g} of 1; see sp.unit)"
    bad = [InvalidInput("vectors", rule, float(norms[p]), where=Row(_row_of(offsets, int(p)), flat[int(p)].as_py())) for p in wrong]
    reach = (1.0 + tolerance) ** 2 + 1e-9
    return Similarity("vectors", len(vectors), vectors=vectors, lower=-reach, higher=reach), None, bad


def _wrong_lengths(field: str, found: Ints, wanted: Ints) -> list[InvalidInput]:
    return [
        InvalidInput(field, f"must have {wanted[b]} entries", int(found[b]), where=Row(int(b)))
        for b in np.flatnonzero(found != wanted)
    ]


def _matrices(table: Any, offsets: Ints, flat: Any) -> tuple[Similarity, Matrices | None, list[InvalidInput]]:
    starts, values = _flat(table, "similarity")
    sizes = np.diff(offsets)
    bad = _wrong_lengths("similarity", np.diff(starts), sizes * sizes)
    if bad:
        return NONE, None, bad
    numbers = _as_floats(values, "similarity", starts)
    for b, n in enumerate(sizes.tolist()):
        square = numbers[starts[b] : starts[b + 1]].reshape(n, n)
        wrong = ~np.isfinite(square) | (square != square.T)
        if wrong.any():
            i, j = (int(x[0]) for x in np.nonzero(wrong))
            item = flat[int(offsets[b]) + i].as_py()
            rule = "must be finite and exactly symmetric"
            bad.append(InvalidInput("similarity", rule, (float(square[i, j]), float(square[j, i])), where=Row(b, item)))
    if bad:
        return NONE, None, bad
    lower, higher = float(numbers.min()), float(numbers.max())
    slack = MEAN_SLACK * max(-lower, higher)
    return NONE, Matrices(numbers, starts, lower - slack, higher + slack), []


def _tags(table: Any, offsets: Ints) -> tuple[Similarity, Matrices | None]:
    starts, values = _flat(table, "tags")
    if (np.diff(starts) != np.diff(offsets)).any():
        row = int(np.argmax(np.diff(starts) != np.diff(offsets)))
        raise InvalidInput("tags", "must have one set of tags per id", int(np.diff(starts)[row]), where=Row(row))
    listed = values.to_pylist()
    return Similarity.of_tags([() if tags is None else tags for tags in listed], listed), None
