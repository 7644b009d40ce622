"""Stored records as the inputs of a selection, and as the outcome it must give.

Scope: conditional; a record inherits the privacy status of what stands in it.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.idlists import decode_ids
from slateproof.audit.queried import Queried
from slateproof.errors import InvalidInput
from slateproof.types import Catalog, Levers, Pool, Rule, Similarity, State
from slateproof.types.columns import frozen
from slateproof.types.ids import ItemId

__all__ = ["Inputs", "Records", "holding"]


class Inputs(NamedTuple):
    """Everything that a selection needs; ``queried`` where similarities are logged values and the pool has no source of its own.

    Scope: conditional.
    """

    pool: Pool
    levers: Levers
    state: State
    rule: Rule
    policy_digest: str | None
    queried: Queried | None


class Records:
    """A batch of stored records, read column by column, value by value where asked; lists come as views.

    Scope: conditional.
    """

    def __init__(self, batch: pa.RecordBatch, shelf: CatalogShelf) -> None:
        self.batch = batch
        self._shelf = shelf
        self._lists: dict[str, tuple[Any, Any, Any]] = {}
        self._scalars: dict[str, list[Any]] = {}

    def __len__(self) -> int:
        return len(self.batch)

    def value(self, name: str, row: int) -> Any:
        """A number, string or truth value; None where absent."""
        if name not in self._scalars:
            self._scalars[name] = self.batch.column(name).to_pylist()
        return self._scalars[name][row]

    def numbers(self, name: str, row: int) -> Any:
        """A list of numbers as a read-only array; None where absent."""
        if name not in self._lists:
            column = self.batch.column(name)
            offsets = column.offsets.to_numpy(zero_copy_only=False).tolist()
            self._lists[name] = (column.values.to_numpy(zero_copy_only=False), offsets, column.is_valid().to_pylist())
        values, offsets, present = self._lists[name]
        return values[offsets[row] : offsets[row + 1]] if present[row] else None

    def ids(self, name: str, row: int) -> tuple[ItemId, ...]:
        """A list of ids."""
        ints, at = self.numbers(f"{name}_int", row), self.numbers(f"{name}_at", row) if name != "candidate" else None
        strings = self.batch.column(f"{name}_str")[row].as_py() if self.batch.column(f"{name}_str").null_count < len(self) else None
        return decode_ids(None if ints is None else ints.tolist(), strings, None if at is None else at.tolist())

    def candidates(self, row: int) -> tuple[ItemId, ...]:
        """The candidate ids, smallest first."""
        rows = self.numbers("candidate_rows", row)
        if rows is None:
            return self.ids("candidate", row)
        if self.value("catalog_digest", row) is None:
            raise InvalidInput("catalog_digest", "is missing, and the record names rows of a catalogue")
        catalog = self._catalog(row)
        return tuple([catalog.ids[place] for place in _rising(rows, len(catalog)).tolist()])

    def inputs(self, row: int) -> Inputs:
        """The selection's inputs; refuses what no pool, state, levers or rule could be, and what the log does not write down."""
        self._check_form(row)
        pool = self._pool_of_catalog(row) if self.value("catalog_digest", row) is not None else self._pool(row)
        levers = Levers(**self._values(row, "target_shift", "exploration", "diversity", "size"))
        state = State(**self._values(row, "knowledge", "engagement", "uncertainty"), shown=self.ids("shown", row))
        settings = self._values(row, "target_gain", "window", "novelty", "dissimilarity", "node_budget")
        rule = Rule(self.value("rule_kind", row), **settings)
        return Inputs(pool, levers, state, rule, self.value("policy_digest", row), self._queried(row, pool.size))

    def _check_form(self, row: int) -> None:
        """One record, one form: what is looked up or was not asked for must not stand in it, where only other readers look."""
        by_lookup, kind = self.value("catalog_digest", row) is not None, self.value("similarity_kind", row)
        if by_lookup != (kind == "catalog") or kind not in _KINDS:
            raise InvalidInput("similarity_kind", f"must be one of {', '.join(_KINDS)}, the first for pools of a catalogue", kind)
        absent = ["candidate_int", "candidate_str", "targets"] if by_lookup else ["candidate_rows"]
        if kind in ("catalog", "none"):
            absent += _LOGGED
        else:
            absent += _LOGGED[2:4] if self.value("rule_kind", row) == "window" else _LOGGED[4:]
        for name in absent:
            if holding(self.batch.slice(row, 1), name).any():
                raise InvalidInput(name, "has no place in a record like this, and would not be checked")

    def _values(self, row: int, *names: str) -> dict[str, Any]:
        return {name: self.value(name, row) for name in names}

    def _catalog(self, row: int) -> Catalog:
        return self._shelf.get(self.value("catalog_digest", row))

    def _pool_of_catalog(self, row: int) -> Pool:
        catalog = self._catalog(row)
        rows = self.numbers("candidate_rows", row)
        if rows is None:
            raise InvalidInput("candidate_rows", "are missing, and the record names a catalogue")
        places = frozen(_rising(rows, len(catalog)).astype(np.int64))
        scores = _finite(self.numbers("scores", row), "scores", rows.size)
        widths = self._widths(row, rows.size)
        facts = frozen(catalog.targets[places])
        return Pool._trusted(
            _ids=None,
            scores=scores,
            targets=facts,
            widths=widths,
            similarity=catalog.similarity,
            rows=places,
            rank=places,
            catalog=catalog,
        )

    def _widths(self, row: int, size: int) -> Any:
        widths = self.numbers("widths", row)
        if widths is not None and _finite(widths, "widths", size).min() < 0.0:
            raise InvalidInput("widths", "must be at least 0")
        return widths

    def _pool(self, row: int) -> Pool:
        ids = self.ids("candidate", row)
        pool = Pool(ids, self.numbers("scores", row), self.numbers("targets", row), self.numbers("widths", row))
        if (pool.rank != np.arange(pool.size)).any():
            raise InvalidInput("candidates", "must stand in id order")
        if self.value("similarity_kind", row) == "none" or self.numbers("similarity_known", row) is not None:
            return pool
        names = ("_ids", "scores", "targets", "widths", "rows", "rank", "catalog")
        return Pool._trusted(**{name: getattr(pool, name) for name in names}, similarity=self._whole_source(row, pool.size))

    def _queried(self, row: int, size: int) -> Queried | None:
        known = self.numbers("similarity_known", row)
        if known is None:
            return None
        bounds = (self.value("similarity_lower", row), self.value("similarity_higher", row))
        return Queried.read(known, self.numbers("similarity_values", row), self.numbers("chosen", row), bounds, size)

    def _whole_source(self, row: int, size: int) -> Similarity:
        table = self.numbers("similarity_table", row)
        if table is None or table.size == 0 or table.size % size or not np.isfinite(table).all():
            raise InvalidInput("similarity_table", f"must hold a finite row for each of the {size} candidates")
        kind: Literal["vectors", "matrix"] = "vectors" if self.value("similarity_kind", row) == "vectors" else "matrix"
        if kind == "matrix" and table.size != size * size:
            raise InvalidInput("similarity_table", f"must be {size} x {size}", table.size)
        bounds = [self.value(name, row) for name in ("similarity_lower", "similarity_higher")]
        if any(bound is None for bound in bounds):
            raise InvalidInput("similarity_lower", "and similarity_higher must stand beside logged similarities")
        rows = frozen(table.reshape(size, -1))
        source = {"vectors": rows} if kind == "vectors" else {"matrix": rows}
        return Similarity(kind=kind, rows=size, lower=bounds[0], higher=bounds[1], **source)


_KINDS = ("catalog", "vectors", "matrix", "tags", "none")
_LOGGED = ["similarity_lower", "similarity_higher", "similarity_known", "similarity_values", "similarity_table"]


def holding(batch: pa.RecordBatch, name: str) -> Any:
    """Per record, whether a column holds anything; an empty list is nothing."""
    column = batch.column(name)
    if column.null_count == len(column):
        return np.zeros(len(column), bool)
    if pa.types.is_list(column.type):
        return np.asarray(column.value_lengths().fill_null(0)) > 0
    return np.asarray(column.is_valid())


def _rising(rows: Any, size: int) -> Any:
    """Catalogue rows in id order, each once."""
    if rows.size == 0 or rows[0] < 0 or rows[-1] >= size or (rows[1:] <= rows[:-1]).any():
        raise InvalidInput("candidate_rows", f"must rise, within the catalogue's {size} rows")
    return rows


def _finite(column: Any, field: str, size: int) -> Any:
    if column is None or column.size != size:
        raise InvalidInput(field, f"must have one value per candidate ({size})")
    if not np.isfinite(column).all():
        raise InvalidInput(field, "must be finite")
    return column
