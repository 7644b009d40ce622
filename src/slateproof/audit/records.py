"""Stored records as the inputs of a selection, and as the outcome it must give.

Scope: conditional; a record inherits the privacy status of what stands in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.idlists import decode_ids
from slateproof.errors import InvalidInput
from slateproof.types import Catalog, Levers, Pool, Rule, Similarity, State
from slateproof.types.columns import frozen
from slateproof.types.ids import ItemId

__all__ = ["Inputs", "Records"]


class Inputs(NamedTuple):
    """Everything that a selection needs.

    Scope: conditional.
    """

    pool: Pool
    levers: Levers
    state: State
    rule: Rule
    policy_digest: str | None


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
        catalog = self._catalog(row)
        return tuple([catalog.ids[place] for place in _rising(rows, len(catalog)).tolist()])

    def inputs(self, row: int) -> Inputs:
        """The selection's inputs; refuses what no pool, state, levers or rule could be."""
        pool = self._pool_of_catalog(row) if self.value("catalog_digest", row) is not None else self._pool(row)
        levers = Levers(**self._values(row, "target_shift", "exploration", "diversity", "size"))
        state = State(**self._values(row, "knowledge", "engagement", "uncertainty"), shown=self.ids("shown", row))
        settings = self._values(row, "target_gain", "window", "novelty", "dissimilarity", "node_budget")
        rule = Rule(self.value("rule_kind", row), **settings)
        return Inputs(pool, levers, state, rule, self.value("policy_digest", row))

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
        kind = self.value("similarity_kind", row)
        if kind == "none":
            return pool
        source = (
            self._whole_source(row, pool.size) if self.numbers("similarity_known", row) is None else self._queried(row, pool.size)
        )
        names = ("_ids", "scores", "targets", "widths", "rows", "rank", "catalog")
        return Pool._trusted(**{name: getattr(pool, name) for name in names}, similarity=source)

    def _queried(self, row: int, size: int) -> Similarity:
        """A matrix that holds the logged similarities and NaN elsewhere: a value that was not logged cannot be used unnoticed."""
        known, values = self.numbers("similarity_known", row), self.numbers("similarity_values", row)
        chosen = self.numbers("chosen", row)
        if known.size != size or values is None or known.min() < 0 or known.max() > chosen.size or known.sum() != values.size:
            raise InvalidInput("similarity_known", "must count the logged similarities of every candidate")
        if chosen.size and (chosen.min() < 0 or chosen.max() >= size):
            raise InvalidInput("chosen", f"must be places among the {size} candidates")
        matrix = np.full((size, size), np.nan)
        candidate = np.repeat(np.arange(size), known)
        step = np.arange(values.size) - np.repeat(np.cumsum(known) - known, known)
        matrix[candidate, chosen[step]] = values
        return self._source("matrix", matrix, row)

    def _whole_source(self, row: int, size: int) -> Similarity:
        table = self.numbers("similarity_table", row)
        if table is None or table.size == 0 or table.size % size or not np.isfinite(table).all():
            raise InvalidInput("similarity_table", f"must hold a finite row for each of the {size} candidates")
        kind = "vectors" if self.value("similarity_kind", row) == "vectors" else "matrix"
        if kind == "matrix" and table.size != size * size:
            raise InvalidInput("similarity_table", f"must be {size} x {size}", table.size)
        return self._source(kind, table.reshape(size, -1), row)

    def _source(self, kind: Any, table: Any, row: int) -> Similarity:
        bounds = [self.value(name, row) for name in ("similarity_lower", "similarity_higher")]
        if any(bound is None for bound in bounds):
            raise InvalidInput("similarity_lower", "and similarity_higher must stand beside logged similarities")
        field = {"vectors": "vectors", "matrix": "matrix"}[kind]
        return Similarity(kind=kind, rows=len(table), lower=bounds[0], higher=bounds[1], **{field: frozen(table)})


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
