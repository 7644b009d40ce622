"""Selecting whole batches of records again through the kernels, and comparing column by column.

The fast road of verification: it says which records agree bit for bit. Whatever it cannot take, or finds otherwise, goes the slow
road of ``replay``, record by record, which says what is wrong.

Scope: stability only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.audit.catalogs import CatalogShelf
from slateproof.audit.errors import LogUnreadable
from slateproof.audit.idlists import encode_flat
from slateproof.audit.ownpools import flat, handfuls, own_pools, same_ids
from slateproof.audit.records import Records, holding
from slateproof.audit.shaping import shaped_scores
from slateproof.errors import InvalidInput
from slateproof.select import selector_of
from slateproof.types import Catalog, Rule
from slateproof.types.columns import Ints, frozen
from slateproof.types.ids import ItemId
from slateproof.types.leverbatch import LeverBatch, StateBatch
from slateproof.types.poolbatch import PoolBatch
from slateproof.types.slatebatch import SlateBatch
from slateproof.types.trace import TIE_RULE

__all__ = ["agreeing"]

_RULE = ("rule_kind", "target_gain", "window", "novelty", "dissimilarity", "node_budget")
_ALIKE = (*_RULE, "tie_rule", "catalog_digest", "similarity_kind")
_FULL = ("scores", "shaped", "chosen", "runners", "margins")
_STEPS = ("chosen_objective", "runner_objective", "chosen_similarity", "runner_similarity")
_STATES = ("knowledge", "engagement", "uncertainty")
_LEVERS = ("target_shift", "exploration", "diversity")
_EMPTY = ("certified_margin", "certified_radius", "similarity_table", "set_window", "set_nodes", "set_bound", "set_proved")
_LOGGED = ("similarity_lower", "similarity_higher", "similarity_known", "similarity_values")
_IDS = ("candidate_int", "candidate_str")


def agreeing(batch: pa.RecordBatch, shelf: CatalogShelf, version: int) -> Any:
    """Per record of a log of schema ``version``, whether the kernels give the logged outcome again, bit for bit.

    False says nothing more than that the record has to be looked at alone.
    """
    out = np.zeros(len(batch), bool)
    for rows in _groups(batch):
        part = batch if rows.size == len(batch) else batch.take(pa.array(rows))
        try:
            same = _agreeing(part, shelf)
            out[rows] = same if version < 2 else same & _same_sizes(part)
        except (InvalidInput, LogUnreadable):
            # Something in the group is no input of a selector, or no catalogue; the slow road names it.
            continue
    return out


def _there(batch: pa.RecordBatch, names: Iterable[str]) -> Any:
    """Per record, whether all of these columns have a value."""
    out = np.ones(len(batch), bool)
    for name in names:
        out &= batch.column(name).is_valid().to_numpy(zero_copy_only=False)
    return out


def _empty(batch: pa.RecordBatch, names: Iterable[str]) -> Any:
    """Per record, whether none of these columns holds anything."""
    out = np.ones(len(batch), bool)
    for name in names:
        out &= ~holding(batch, name)
    return out


def _groups(batch: pa.RecordBatch) -> list[Any]:
    """Records that can go together: greedy or top-K under one rule, from one catalogue or from pools of their own, of one form."""
    able = _there(batch, (*_FULL, *_STEPS, "size", "target", *_STATES, *_LEVERS)) & _empty(batch, _EMPTY)
    by_lookup = _there(batch, ("catalog_digest", "candidate_rows")) & _empty(batch, (*_IDS, "targets", *_LOGGED))
    own = _there(batch, ("targets",)) & _empty(batch, ("catalog_digest", "candidate_rows"))
    own &= (_there(batch, _IDS[:1]) & _empty(batch, _IDS[1:])) | (_there(batch, _IDS[1:]) & _empty(batch, _IDS[:1]))
    own &= _there(batch, _LOGGED) | _empty(batch, _LOGGED)
    codes = [_codes(batch.column(name)) for name in _ALIKE]
    forms = [_there(batch, (name,)) for name in ("widths", "candidate_int", "similarity_known")]
    table = np.column_stack([able & (by_lookup | own), *forms, *codes])
    if (table == table[0]).all():
        groups = [np.arange(len(batch))]
    else:
        kind = np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)
        groups = [np.flatnonzero(kind == number) for number in range(int(kind.max()) + 1)]
    sizes = np.asarray(batch.column("scores").value_lengths().fill_null(0))
    taken: list[Any] = []
    for rows in groups:
        first = rows[0]
        if able[first] and (by_lookup | own)[first] and _taken(batch, first):
            taken += handfuls(rows, sizes[rows]) if own[first] else [rows]
    return taken


def _codes(column: pa.Array) -> Any:
    """A small number for every value of a column: the same number, the same value."""
    return column.dictionary_encode("encode").indices.to_numpy(zero_copy_only=False)


def _taken(batch: pa.RecordBatch, row: int) -> bool:
    """Whether there is a kernel for records like this one."""
    names = ("rule_kind", "tie_rule", "dissimilarity", "similarity_kind", "catalog_digest")
    rule, tie, dissimilarity, kind, digest = (batch.column(name)[row].as_py() for name in names)
    if rule not in ("greedy", "top-k") or tie != TIE_RULE or (kind == "catalog") != (digest is not None):
        return False
    logged = batch.column("similarity_known")[row].is_valid
    if kind in ("catalog", "none"):
        return not logged
    # A mean over values that are partly bounds is another bound than the slow road's.
    return kind in ("vectors", "matrix", "tags") and dissimilarity == "max" and logged


def _agreeing(part: pa.RecordBatch, shelf: CatalogShelf) -> Any:
    records = Records(part, shelf)
    rule = Rule(*(records.value(name, 0) for name in _RULE))
    digest = records.value("catalog_digest", 0)
    catalog = None if digest is None else shelf.get(digest)
    pools, settled = own_pools(part) if catalog is None else (_pools(part, catalog), True)
    # Batches are checked side by side, so each of them keeps to its thread.
    slates = selector_of(rule).select_batch(pools, _levers(part), _states(records), trace=False, threads=1)
    lengths = np.diff(slates.starts)
    chosen = np.repeat(slates.pools.offsets[:-1], lengths) + slates.chosen
    named = _same_ids(part, slates, chosen, catalog, shelf) if catalog else same_ids(part, pools, chosen, slates.starts)
    return _same_steps(part, slates) & _same_columns(part, slates) & named & settled


def _pools(part: pa.RecordBatch, catalog: Catalog) -> PoolBatch:
    """The pools as logged; refuses anything that a pool would refuse."""
    rows, offsets = flat(part, "candidate_rows")
    rows = rows.astype(np.int64)
    sizes = np.diff(offsets)
    rising = np.diff(rows) > 0
    rising[offsets[1:-1] - 1] = True
    if not sizes.all() or rows.min() < 0 or rows.max() >= len(catalog) or not rising.all():
        raise InvalidInput("candidate_rows", "must rise, within the catalogue")
    columns: dict[str, Any] = {"scores": None, "widths": None}
    for name in columns:
        if part.column(name).null_count == 0:
            values, ends = flat(part, name)
            if not np.array_equal(ends, offsets) or not np.isfinite(values).all():
                raise InvalidInput(name, "must be finite, one per candidate")
            columns[name] = values
    if columns["widths"] is not None and columns["widths"].min() < 0.0:
        raise InvalidInput("widths", "must be at least 0")
    places = frozen(rows)
    return _CatalogPools(
        offsets=frozen(offsets),
        scores=columns["scores"],
        targets=frozen(catalog.targets[rows]),
        widths=columns["widths"],
        rank=places,
        rows=places,
        source=catalog.similarity,
        catalog=catalog,
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _CatalogPools(PoolBatch):
    """Pools of one catalogue, whose rows are ranks: what was shown has the same ranks in all of them, and is looked up once."""

    known: dict[frozenset[ItemId], Ints] = field(default_factory=dict, kw_only=True)

    def ranks_of(self, b: int, shown: frozenset[ItemId]) -> Ints:
        """Sorted rows of those ``shown`` ids that are in the catalogue."""
        found = self.known.get(shown)
        if found is None:
            assert self.catalog is not None
            rows = [row for row in map(self.catalog.row_or_none, shown) if row is not None]
            found = self.known[shown] = np.array(sorted(rows), np.int64)
        return found


def _column(part: pa.RecordBatch, name: str) -> Any:
    return part.column(name).to_numpy(zero_copy_only=False)


def _levers(part: pa.RecordBatch) -> LeverBatch:
    return LeverBatch.of({name: _column(part, name) for name in (*_LEVERS, "size")}, len(part))


def _states(records: Records) -> StateBatch:
    columns = StateBatch.of({name: _column(records.batch, name) for name in _STATES}, len(records))
    return StateBatch(columns.knowledge, columns.engagement, columns.uncertainty, _shown(records))


def _shown(records: Records) -> tuple[tuple[Any, ...], ...]:
    """The novelty memories; those of integers alone, or of one memory for all, without a look at each."""
    names = ("shown_int", "shown_str", "shown_at")
    ints, strings, places = (records.batch.column(name) for name in names)
    if ints.null_count or strings.null_count < len(strings) or places.null_count < len(places):
        return tuple([records.ids("shown", row) for row in range(len(records))])
    values, offsets = flat(records.batch, "shown_int")
    size = int(offsets[1])
    if (np.diff(offsets) == size).all() and (values.reshape(len(records), size) == values[:size]).all():
        return (tuple(values[:size].tolist()),)
    items, ends = values.tolist(), offsets.tolist()
    return tuple([tuple(items[start:end]) for start, end in pairwise(ends)])


def _per_record(same: Any, offsets: Any) -> Any:
    """Per record, whether all its values are the same; every record has some."""
    return np.logical_and.reduceat(same, offsets[:-1])


def _bits(values: Any) -> Any:
    return np.ascontiguousarray(values).view(np.int64)


def _same_steps(part: pa.RecordBatch, slates: SlateBatch) -> Any:
    """Chosen, runner-ups, objectives, similarities and margins; a replayed pool stands in id order."""
    good = np.ones(len(part), bool)
    for name in ("chosen", "runners", "margins", *_STEPS):
        logged, offsets = flat(part, name)
        if not np.array_equal(offsets, slates.starts):
            raise InvalidInput(name, "must have one value per step")
        found = getattr(slates, name)
        same = logged == found if name in ("chosen", "runners") else _bits(logged) == _bits(found)
        good &= _per_record(same, offsets)
    return good


def _same_columns(part: pa.RecordBatch, slates: SlateBatch) -> Any:
    """Shaped scores and target values."""
    logged, offsets = flat(part, "shaped")
    if not np.array_equal(offsets, slates.pools.offsets):
        raise InvalidInput("shaped", "must have one value per candidate")
    pools = slates.pools
    columns = (pools.scores, pools.targets, pools.widths)
    shaped = shaped_scores(columns, offsets, slates.target, slates.levers.exploration, slates.rule)
    return _per_record(_bits(logged) == _bits(shaped), offsets) & (_bits(_column(part, "target")) == _bits(slates.target))


def _same_sizes(part: pa.RecordBatch) -> Any:
    """The pool size that stands beside the slate."""
    sizes = part.column("scores").value_lengths().to_numpy(zero_copy_only=False)
    return part.column("pool_size").fill_null(-1).to_numpy(zero_copy_only=False) == sizes


def _same_ids(part: pa.RecordBatch, slates: SlateBatch, chosen: Any, catalog: Catalog, shelf: CatalogShelf) -> Any:
    """The ids that stand in the log for readers."""
    lengths, rows = np.diff(slates.starts), slates.pools.rows[chosen]
    integers = shelf.integers(catalog)
    if integers is not None and part.column("slate_int").null_count == 0:
        logged, offsets = flat(part, "slate_int")
        alone = not (holding(part, "slate_str").any() or holding(part, "slate_at").any())
        if alone and np.array_equal(offsets, slates.starts):
            return _per_record(logged == integers[rows], offsets)
    found = encode_flat([catalog.ids[row] for row in rows.tolist()], lengths)
    names = ("slate_int", "slate_str", "slate_at")
    if all(column.equals(part.column(name)) for column, name in zip(found, names, strict=True)):
        return True
    pairs = [(column.to_pylist(), part.column(name).to_pylist()) for column, name in zip(found, names, strict=True)]
    return np.array([all(made[row] == logged[row] for made, logged in pairs) for row in range(len(part))])
