"""A candidate pool: what the learner hands to the selector for one round."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats, Ints, as_floats, check_range, frozen
from slateproof.types.ids import ItemId, as_ids, rank_ids
from slateproof.types.opened import open_twin
from slateproof.types.similarity import NONE, Similarity

if TYPE_CHECKING:
    from slateproof.types.catalog import Catalog

__all__ = ["Pool"]


class Pool:
    """Candidate pool C_t: ids with ``scores`` (mu), ``targets`` (d in [0, 1]), ``widths`` (sigma >= 0) and a similarity source.

    At most one of ``vectors`` (n, d; unit rows), ``similarity`` (n, n; symmetric) and ``tags`` (one integer set per id) is given.
    Without ``widths`` the exploration bonus is 0 for every candidate; without a similarity source every similarity is 0; without
    ``targets`` a selector that shapes towards a target refuses the pool. All columns stand in the order of ``ids``; that order
    never influences a slate. Refused: an empty pool, duplicate ids, other lengths, NaN and infinities, negative widths, targets
    outside [0, 1], vectors that are not unit rows, an asymmetric matrix.

    Immutable: columns are private read-only copies.

    Scope: none; an input carries no claim.
    """

    __slots__ = ("_ids", "_order", "_positions", "catalog", "rank", "rows", "scores", "similarity", "targets", "widths")

    scores: Floats
    targets: Floats | None
    widths: Floats | None
    similarity: Similarity
    rows: Ints
    rank: Ints
    catalog: Catalog | None
    _ids: tuple[ItemId, ...] | None
    _order: Ints | None
    _positions: dict[ItemId, int] | None

    def __init__(
        self,
        ids: Any,
        scores: Any,
        targets: Any = None,
        widths: Any = None,
        vectors: Any = None,
        similarity: Any = None,
        tags: Any = None,
    ) -> None:
        names = as_ids(ids)
        size = len(names)
        if size == 0:
            raise InvalidInput("ids", "a pool needs at least one candidate")
        rank = rank_ids(names)
        mu = as_floats(scores, "scores", size, names)
        facts = None if targets is None else as_floats(targets, "targets", size, names)
        sigma = None if widths is None else as_floats(widths, "widths", size, names)
        if facts is not None:
            check_range(facts, "targets", 0.0, 1.0, names)
        if sigma is not None:
            check_range(sigma, "widths", 0.0, np.inf, names)
        source, rows = _source(names, vectors, similarity, tags), frozen(np.arange(size))
        object.__setattr__(self, "__class__", _OpenPool)
        _fill(
            self, _ids=names, scores=mu, targets=facts, widths=sigma,
            similarity=source, rows=rows, rank=frozen(rank), catalog=None,
        )  # fmt: skip

    @classmethod
    def _trusted(cls, **fields: Any) -> Pool:
        """A pool of parts that were validated elsewhere (catalogue, batch)."""
        pool: Pool = _OpenPool()
        _fill(pool, **fields)
        return pool

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a pool is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a pool is immutable: cannot delete {name!r}")

    @property
    def ids(self) -> tuple[ItemId, ...]:
        """The candidate ids, as given. A catalogue pool knows its rows, and makes the tuple when it is first asked for."""
        if self._ids is None:
            ids = self.ids_at(range(self.size))
            object.__setattr__(self, "_ids", ids)
            return ids
        return self._ids

    def ids_at(self, places: Iterable[int]) -> tuple[ItemId, ...]:
        """The ids at some positions."""
        if self._ids is not None:
            return tuple(map(self._ids.__getitem__, places))
        if self.catalog is None:
            raise InvalidInput("ids", "a pool has ids of its own or those of a catalogue")
        names = self.catalog.ids
        return tuple([names[self.rows[i]] for i in places])

    @property
    def size(self) -> int:
        """Number of candidates."""
        return self.scores.size

    def __len__(self) -> int:
        return self.scores.size

    @property
    def order(self) -> Ints:
        """Positions in id order: ``ids[order[0]]`` is the smallest id."""
        if self._order is None:
            order: Ints = frozen(np.argsort(self.rank, kind="stable"))
            object.__setattr__(self, "_order", order)
            return order
        return self._order

    def position(self, item: ItemId) -> int:
        """Where ``item`` stands in this pool; refuses an id that is not a candidate."""
        place = self._places.get(item)
        if place is None:
            raise InvalidInput("id", "is not a candidate of this pool", item)
        return place

    @property
    def _places(self) -> dict[ItemId, int]:
        if self._positions is None:
            places = dict(zip(self.ids, range(len(self.ids)), strict=True))
            object.__setattr__(self, "_positions", places)
            return places
        return self._positions

    def ranks_of(self, shown: frozenset[ItemId]) -> Ints:
        """Sorted ranks of those ``shown`` ids that could be candidates here; all other ids are left out."""
        if not shown:
            return _NO_RANKS
        if self.catalog is not None:
            found = [row for row in map(self.catalog.row_or_none, shown) if row is not None]
        else:
            places = self._places
            found = [int(self.rank[places[item]]) for item in shown if item in places]
        return np.array(sorted(found), np.int64)

    def with_scores(self, scores: Any, widths: Any = None) -> Pool:
        """The same candidates under other scores (in the order of ``ids``); ``widths`` stay unless given."""
        column = as_floats(scores, "scores", self.size, self.ids)
        fields: dict[str, Any] = {name: getattr(self, name) for name in _PARTS}
        if widths is not None:
            fields["widths"] = as_floats(widths, "widths", self.size, self.ids)
            check_range(fields["widths"], "widths", 0.0, np.inf, self.ids)
        return Pool._trusted(**{**fields, "scores": column})

    def __repr__(self) -> str:
        return f"Pool({self.size} candidates, similarity={self.similarity.kind})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, tuple(getattr(self, name) for name in _PARTS))


_NO_RANKS: Ints = frozen(np.zeros(0, np.int64))


def _rebuild(*parts: Any) -> Pool:
    return Pool._trusted(**dict(zip(_PARTS, parts, strict=True)))


_PARTS = ("_ids", "scores", "targets", "widths", "similarity", "rows", "rank", "catalog")


def _fill(
    pool: Any,
    *,
    _ids: tuple[ItemId, ...] | None,
    scores: Floats,
    targets: Floats | None,
    widths: Floats | None,
    similarity: Similarity,
    rows: Ints,
    rank: Ints,
    catalog: Catalog | None,
) -> None:
    """Set every slot of a new pool, whose guard is off, and close it: this stands on the way of every selection."""
    pool._ids, pool.scores, pool.targets, pool.widths = _ids, scores, targets, widths
    pool.similarity, pool.rows, pool.rank, pool.catalog = similarity, rows, rank, catalog
    pool._order = pool._positions = None
    pool.__class__ = Pool


_OpenPool = open_twin(Pool)


def _source(ids: tuple[ItemId, ...], vectors: Any, similarity: Any, tags: Any) -> Similarity:
    given = [name for name, value in (("vectors", vectors), ("similarity", similarity), ("tags", tags)) if value is not None]
    if len(given) > 1:
        raise InvalidInput(given[1], f"a pool has one similarity source, and {given[0]} is given too")
    if vectors is not None:
        return Similarity.of_vectors(vectors, ids)
    if similarity is not None:
        return Similarity.of_matrix(similarity, ids)
    return NONE if tags is None else Similarity.of_tags(tags, ids)
