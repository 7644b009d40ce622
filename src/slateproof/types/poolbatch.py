"""Many pools as ragged columns: what a batch selection reads, without one Python object per pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats, Ints, as_listed, frozen
from slateproof.types.ids import ItemId
from slateproof.types.pool import Pool
from slateproof.types.similarity import MEAN_SLACK, NONE, Similarity

if TYPE_CHECKING:
    from slateproof.types.catalog import Catalog

__all__ = ["Matrices", "PoolBatch"]


@dataclass(frozen=True, slots=True, eq=False)
class Matrices:
    """One dense similarity matrix per pool, row-major, one after another: that of pool b is ``flat[starts[b]:starts[b + 1]]``.

    ``lower`` and ``higher`` bound its entries, and every mean of some, pool by pool: a slate must not depend on its neighbours.
    """

    flat: Floats
    starts: Ints
    lower: Floats
    higher: Floats

    @classmethod
    def of(cls, flat: Floats, starts: Ints) -> Matrices:
        """The matrices with the bounds that a single pool has."""
        lower, higher = np.minimum.reduceat(flat, starts[:-1]), np.maximum.reduceat(flat, starts[:-1])
        slack = MEAN_SLACK * np.maximum(-lower, higher)
        return cls(frozen(flat), frozen(starts), frozen(lower - slack), frozen(higher + slack))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PoolBatch:
    """B pools: the candidates of pool b stand at ``offsets[b]:offsets[b + 1]`` of every column.

    ``rank`` orders the candidates of one pool by id; it means nothing between pools. ``rows`` are their rows in ``source``, the
    similarity source of all pools (both int32 where a table refers to a catalogue, else int64); with ``matrices`` each pool has its
    own matrix instead. ``names`` holds the ids as an Arrow column, or None where ``catalog`` has them; ``targets`` may be None too
    where it does (``targets_between``). Made by ``of`` and
    ``from_arrow``, which validate; what is refused in a ``Pool`` is refused here, with the number of the row.

    Scope: none; an input carries no claim.
    """

    offsets: Ints
    scores: Floats
    targets: Floats | None
    widths: Floats | None
    rank: Ints
    rows: Ints
    source: Similarity = NONE
    matrices: Matrices | None = None
    names: pa.Array | None = None
    catalog: Catalog | None = None
    ranks_are_ids: bool = False
    _parts: tuple[Pool, ...] | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, pools: Sequence[Pool]) -> PoolBatch:
        """A batch of pools. Refuses an empty sequence, and pools of which only some have targets, widths or one kind of source."""
        listed = tuple(as_listed(pools, "pools"))
        if not listed:
            raise InvalidInput("pools", "a batch needs at least one pool")
        for place, pool in enumerate(listed):
            if not isinstance(pool, Pool):
                raise InvalidInput("pools", "must hold Pool values", type(pool).__name__, where=place)
        shared = listed[0].catalog if all(pool.catalog is listed[0].catalog for pool in listed) else None
        sizes = np.array([0] + [pool.size for pool in listed], np.int64)
        offsets = np.cumsum(sizes)
        rank = frozen(np.concatenate([pool.rank for pool in listed]))
        # Candidates of one catalogue are ranked by their rows: one column serves as both.
        source, matrices, rows = (shared.similarity, None, rank) if shared else _merge_sources(listed)
        return cls(
            offsets=frozen(offsets),
            scores=frozen(np.concatenate([pool.scores for pool in listed])),
            targets=None if shared else _merge(listed, "targets"),
            widths=_merge(listed, "widths"),
            rank=rank,
            rows=frozen(rows),
            source=source,
            matrices=matrices,
            catalog=shared,
            _parts=listed,
        )

    @classmethod
    def from_arrow(cls, table: Any, catalog: Catalog | None = None) -> PoolBatch:
        """The pools of an Arrow table or record batch in the documented schema (see ``docs/batches.md``), one per row.

        Columns ``ids``, ``scores`` and, as far as there are any, ``targets``, ``widths`` and one of ``vectors``, ``similarity``,
        ``tags``; with a ``catalog`` only ``ids``, ``scores``, ``widths``. Float64 columns are used as they are, without a copy. The
        first bad row is refused with its number.

        Lists may be of any kind, strings and integers dictionary-encoded.
        """
        from slateproof.types.arrowpools import PoolReader
        from slateproof.types.catalog import Catalog

        if catalog is not None and not isinstance(catalog, Catalog):
            raise InvalidInput("catalog", "must be a Catalog", type(catalog).__name__)
        return PoolReader(catalog).read(table)

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __repr__(self) -> str:
        return f"PoolBatch({len(self)} pools, {self.scores.size} candidates)"

    @property
    def sizes(self) -> Ints:
        """Candidates per pool."""
        return np.diff(self.offsets)

    @property
    def has_targets(self) -> bool:
        """Whether the candidates have d, of their own or in the catalogue."""
        return self.targets is not None or self.catalog is not None

    def targets_between(self, first: int, last: int) -> Floats:
        """d of all candidates of pools ``first:last``. Refuses a batch without targets."""
        part = slice(int(self.offsets[first]), int(self.offsets[last]))
        if self.targets is not None:
            return self.targets[part]
        if self.catalog is None:
            raise InvalidInput("targets", "this batch has none")
        facts: Floats = frozen(self.catalog.targets[self.rows[part]])
        return facts

    def __getitem__(self, place: int) -> Pool:
        """Pool ``place``; its columns are views of the batch's."""
        b = range(len(self))[one_place(place)]
        if self._parts is not None:
            return self._parts[b]
        a, z = int(self.offsets[b]), int(self.offsets[b + 1])
        rows: Ints = self.rows[a:z]
        source, rank = self.source, self.rank[a:z]
        if self.catalog is None:
            rank = frozen(np.argsort(np.argsort(rank, kind="stable"), kind="stable"))
            rows, source = frozen(np.arange(z - a)), self._source_of(b, a, z)
        elif rows.dtype != np.int64:
            rows = rank = frozen(rows.astype(np.int64))
        return Pool._trusted(
            _ids=None if self.names is None else tuple(self.names[a:z].to_pylist()),
            scores=self.scores[a:z],
            targets=self.targets_between(b, b + 1) if self.has_targets else None,
            widths=None if self.widths is None else self.widths[a:z],
            similarity=source,
            rows=rows,
            rank=rank,
            catalog=self.catalog,
        )

    def _source_of(self, b: int, a: int, z: int) -> Similarity:
        if self.matrices is None:
            return self.source.take(np.arange(a, z))
        part = self.matrices
        square = part.flat[part.starts[b] : part.starts[b + 1]].reshape(z - a, z - a)
        return Similarity(kind="matrix", rows=z - a, matrix=square, lower=float(part.lower[b]), higher=float(part.higher[b]))

    def item(self, b: int, place: int) -> ItemId:
        """The id of candidate ``place`` of pool ``b``."""
        return self[b].ids_at([place])[0]

    def ranks_of(self, b: int, shown: frozenset[ItemId]) -> Ints:
        """Sorted ranks, as in ``rank``, of those ``shown`` ids that could be candidates of pool ``b``."""
        if not shown:
            return _NO_RANKS
        if self.ranks_are_ids:
            return np.array(sorted(item for item in shown if isinstance(item, int)), np.int64)
        if self._parts is not None or self.catalog is not None:
            return self[b].ranks_of(shown)
        a, z = int(self.offsets[b]), int(self.offsets[b + 1])
        names = self.names[a:z].to_pylist() if self.names is not None else []
        found: Ints = np.sort(self.rank[a:z][np.fromiter((name in shown for name in names), bool, z - a)])
        return found


_NO_RANKS: Ints = frozen(np.zeros(0, np.int64))


def one_place(place: Any) -> int:
    """The number of one entry of a batch; refuses slices and everything else that is no whole number."""
    if isinstance(place, (bool, np.bool_)) or not isinstance(place, (int, np.integer)):
        raise InvalidInput("place", "must be one whole number", place)
    return int(place)


def _merge(pools: tuple[Pool, ...], name: str) -> Floats | None:
    columns = [getattr(pool, name) for pool in pools]
    missing = [place for place, column in enumerate(columns) if column is None]
    if len(missing) == len(columns):
        return None
    if missing:
        raise InvalidInput(name, "must be there in all pools of a batch, or in none", where=missing[0])
    merged: Floats = frozen(np.concatenate(columns))
    return merged


def _merge_sources(pools: tuple[Pool, ...]) -> tuple[Similarity, Matrices | None, Ints]:
    """One source over all candidates in a row, or one matrix per pool."""
    kind = pools[0].similarity.kind
    for place, pool in enumerate(pools):
        if pool.similarity.kind != kind:
            raise InvalidInput(
                "similarity", f"must be of one kind in all pools of a batch ({kind})", pool.similarity.kind, where=place
            )
    parts = [pool.similarity if pool.catalog is None else pool.similarity.take(pool.rows) for pool in pools]
    total = sum(pool.size for pool in pools)
    lower, higher = min(part.lower for part in parts), max(part.higher for part in parts)
    everyone = np.arange(total)
    if kind == "matrix":
        starts = np.cumsum([0] + [part.matrix.size for part in parts])
        return NONE, Matrices.of(np.concatenate([part.flat for part in parts]), starts), everyone
    if kind == "vectors":
        shapes = {part.vectors.shape[1] for part in parts}
        if len(shapes) > 1:
            raise InvalidInput("vectors", "must have one dimension in all pools of a batch", sorted(shapes))
        vectors = frozen(np.concatenate([part.vectors for part in parts]))
        return Similarity(kind, total, vectors=vectors, lower=lower, higher=higher), None, everyone
    if kind == "tags":
        shifts = np.cumsum([0] + [part.tag_ids.size for part in parts])
        ptr = np.concatenate([part.tag_ptr[:-1] + shift for part, shift in zip(parts, shifts, strict=False)] + [shifts[-1:]])
        tags = frozen(np.concatenate([part.tag_ids for part in parts]))
        return Similarity(kind, total, tag_ptr=frozen(ptr), tag_ids=tags, lower=lower, higher=higher), None, everyone
    return NONE, None, everyone
