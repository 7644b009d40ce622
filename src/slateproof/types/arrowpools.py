"""Pools from an Arrow table: the documented batch schema (``docs/batches.md``), checked column by column.

Every stage of checks refuses all its bad rows together (``BadRows``); a row is judged by itself, never by its neighbours.

Scope: none; validation only.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from slateproof.errors import InvalidInput
from slateproof.types.arrowlists import Lists, floats_of, list_column, row_of, rows_with_nulls
from slateproof.types.arrowsources import SOURCES, read_source
from slateproof.types.checks import CLEAN, DUPLICATE, NEGATIVE_WIDTH, SCORE, TARGET, WIDTH, check_ragged
from slateproof.types.columns import Floats, Ints, frozen
from slateproof.types.ids import ItemId
from slateproof.types.poolbatch import PoolBatch
from slateproof.types.row import Row, refuse

if TYPE_CHECKING:
    from slateproof.types.catalog import Catalog

__all__ = ["PoolReader"]

RULES = {
    SCORE: ("scores", "must be finite"),
    WIDTH: ("widths", "must be finite"),
    NEGATIVE_WIDTH: ("widths", "must be at least 0"),
    TARGET: ("targets", "must lie in [0, 1]"),
    DUPLICATE: ("ids", "must not repeat an id"),
}
NUMBERS = ("scores", "targets", "widths")
NEAR_MISSES = {"target": "targets", "width": "widths", "vector": "vectors", "tag": "tags", "similarities": "similarity"}
"""Names that would be carried along without a word, and their column lost."""

_NONE: Floats = frozen(np.zeros(0))


class PoolReader:
    """Reads tables of pools, one or many with the same columns; the first good row decides the dimension of the vectors of all.

    Scope: none; validation only.
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = catalog
        self._dimension: int | None = None

    def read(self, table: Any) -> PoolBatch:
        """The pools of a table, one per row. Refuses all rows that break a rule of one stage (``BadRows``), or a wrong column."""
        catalog = self._catalog
        check_columns(table, catalog)
        if table.num_rows == 0:
            raise InvalidInput("pools", "a batch needs at least one pool")
        lists = {name: list_column(table, name) for name in ("ids", *NUMBERS, *SOURCES) if name in table.column_names}
        refuse([null for column in lists.values() for null in column.nulls])
        offsets, flat = lists["ids"].offsets, lists["ids"].values
        numbers = _numbers(lists, np.diff(offsets))
        rank, rows, are_ids = _ranks(flat, offsets, catalog)
        refuse(_broken_rules(flat, offsets, rank, numbers))
        if catalog is not None:
            # Half the memory of the largest column that a batch adds to its input.
            rank = rows = frozen(rank.astype(np.int32))
            source, matrices = catalog.similarity, None
        else:
            source, matrices = read_source(lists, flat, self._dimension)
            if source.kind == "vectors":
                self._dimension = source.vectors.shape[1]
        return PoolBatch(
            offsets=offsets, scores=numbers["scores"], targets=numbers["targets"], widths=numbers["widths"],
            rank=rank, rows=rows, source=source, matrices=matrices, names=flat, catalog=catalog, ranks_are_ids=are_ids,
        )  # fmt: skip


def check_columns(table: Any, catalog: Catalog | None) -> None:
    """Refuse what is no table, a missing column, more than one similarity source, and names that are nearly right."""
    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        raise InvalidInput("table", "must be an Arrow table or record batch", type(table).__name__)
    present = table.column_names
    for name, meant in NEAR_MISSES.items():
        if name in present:
            raise InvalidInput(name, f"is no column of a table of pools; {meant} is")
    for name in sorted(set(present)):
        if present.count(name) > 1:
            raise InvalidInput(name, "the column must not be there twice")
    for name in ("ids", "scores"):
        if name not in present:
            raise InvalidInput(name, f"the column is missing (there are: {', '.join(present) or 'none'})")
    given = [name for name in SOURCES if name in present]
    facts = [name for name in ("targets", *SOURCES) if name in present]
    if catalog is not None and facts:
        raise InvalidInput(facts[0], "stands in the catalogue; a table that refers to one has ids, scores and widths only")
    if len(given) > 1:
        raise InvalidInput(given[1], f"a pool has one similarity source, and {given[0]} is given too")


def _numbers(lists: dict[str, Lists], sizes: Ints) -> dict[str, Any]:
    """The columns of numbers; refuses empty pools, nulls, and rows whose length is not that of ids."""
    bad = [InvalidInput("ids", "a pool needs at least one candidate", where=Row(int(b))) for b in np.flatnonzero(sizes == 0)]
    bad += rows_with_nulls(lists["ids"].values, "ids", lists["ids"].offsets)
    for name in NUMBERS:
        if name in lists:
            lengths = np.diff(lists[name].offsets)
            bad += [
                InvalidInput(name, f"must have one value per id ({sizes[b]})", int(lengths[b]), where=Row(int(b)))
                for b in np.flatnonzero(lengths != sizes)
            ]
            bad += rows_with_nulls(lists[name].values, name, lists[name].offsets)
    refuse(bad)
    return {name: floats_of(lists[name].values, name) if name in lists else None for name in NUMBERS}


def _ranks(flat: Any, offsets: Ints, catalog: Catalog | None) -> tuple[Ints, Ints, bool]:
    """(rank, rows, whether ranks are the ids themselves): integers rank themselves, strings by their dictionary."""
    kind = flat.type
    integers, strings = pa.types.is_integer(kind), pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not integers and not strings:
        raise InvalidInput("ids", "must be integers or strings", str(kind))
    if pa.types.is_uint64(kind):
        large = np.flatnonzero(flat.to_numpy() > np.iinfo(np.int64).max)
        refuse(_at(large, offsets, "an integer id must fit in 64 bits", flat))
    if catalog is not None:
        rows, unknown = _catalog_rows(flat, catalog)
        refuse(_at(unknown, offsets, "is not in the catalogue", flat))
        return rows, rows, False
    everyone = frozen(np.arange(len(flat)))
    if integers:
        return frozen(np.ascontiguousarray(flat.cast(pa.int64()).to_numpy())), everyone, True
    coded = flat.dictionary_encode()
    names = coded.dictionary.to_pylist()
    position = np.empty(len(names), np.int64)
    position[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return frozen(position[coded.indices.to_numpy()]), everyone, False


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


def _at(places: Ints, offsets: Ints, rule: str, flat: Any) -> list[InvalidInput]:
    return [InvalidInput("ids", rule, flat[int(p)].as_py(), where=Row(row_of(offsets, int(p)))) for p in places]


def _broken_rules(flat: Any, offsets: Ints, rank: Ints, numbers: dict[str, Floats | None]) -> list[InvalidInput]:
    """The first broken rule of every row, found in one compiled pass."""
    codes, places = np.empty(offsets.size - 1, np.int64), np.empty(offsets.size - 1, np.int64)
    seen = np.empty(2 << int(np.diff(offsets).max()).bit_length(), np.int64)
    columns = (_NONE if numbers[name] is None else numbers[name] for name in NUMBERS)
    check_ragged(offsets, rank, *columns, seen, codes, places)
    bad = []
    for b in np.flatnonzero(codes != CLEAN):
        field, rule = RULES[int(codes[b])]
        place, column = int(places[b]), numbers.get(field)
        item: ItemId = flat[place].as_py()
        value = item if column is None else float(column[place])
        bad.append(InvalidInput(field, rule, value, where=Row(int(b), None if column is None else item)))
    return bad
