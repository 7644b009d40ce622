"""Immutable item facts, stored once and named by a digest, so that a trace can refer to them instead of repeating them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from slateproof.errors import InvalidInput
from slateproof.types.checks import CLEAN, DUPLICATE, NEGATIVE_WIDTH, WIDTH, check_catalog_pool, find_rows
from slateproof.types.columns import Floats, Ints, as_floats, as_numbers, check_range, frozen
from slateproof.types.ids import ItemId, as_ids, rank_ids
from slateproof.types.pool import Pool, _source
from slateproof.types.similarity import Similarity

__all__ = ["Catalog"]


class Catalog:
    """Item facts by id: ``targets`` d(i) in [0, 1] and a similarity source (``vectors``, ``similarity`` or ``tags``).

    Rows are kept in id order whatever the order given, and ``digest`` (SHA-256 over the exact bytes of ids and facts) names the
    catalogue: two catalogues with the same facts have the same digest. Refuses what a pool refuses.

    Scope: none; an input carries no claim.
    """

    __slots__ = ("_dense", "_digest", "_index", "ids", "similarity", "targets")

    ids: tuple[ItemId, ...]
    targets: Floats
    similarity: Similarity
    _index: dict[ItemId, int]
    _dense: tuple[int, Ints] | None
    _digest: str | None

    def __init__(self, ids: Any, targets: Any, vectors: Any = None, similarity: Any = None, tags: Any = None) -> None:
        names = as_ids(ids)
        if not names:
            raise InvalidInput("ids", "a catalogue needs at least one item")
        order = np.argsort(rank_ids(names), kind="stable")
        facts = as_floats(targets, "targets", len(names), names)
        check_range(facts, "targets", 0.0, 1.0, names)
        source = _source(names, vectors, similarity, tags)
        set_ = object.__setattr__
        set_(self, "ids", tuple(names[i] for i in order))
        set_(self, "targets", frozen(facts[order]))
        set_(self, "similarity", source.take(order))
        set_(self, "_index", {item: row for row, item in enumerate(self.ids)})
        set_(self, "_dense", _dense_lookup(self.ids))
        set_(self, "_digest", None)

    @classmethod
    def from_arrow(cls, table: Any) -> Catalog:
        """The catalogue of an Arrow table, one item per row: ``id``, ``target`` and one of ``vector`` and ``tags``, or neither."""
        from slateproof.types.arrowcatalog import read_catalog

        return read_catalog(table)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a catalogue is immutable: cannot set {name!r}")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Catalog({len(self.ids)} items, similarity={self.similarity.kind}, digest={self.digest[:12]})"

    @property
    def digest(self) -> str:
        """SHA-256 of the facts, as 64 hexadecimal digits; independent of input order and of the machine."""
        if self._digest is None:
            digest = _digest(self)
            object.__setattr__(self, "_digest", digest)
            return digest
        return self._digest

    def row_or_none(self, item: ItemId) -> int | None:
        """The row of ``item``, or None."""
        return self._index.get(item)

    def rows_of(self, ids: Any) -> Ints:
        """Rows of ``ids``; refuses an id that is not in the catalogue, naming the first one."""
        listed = ids if isinstance(ids, (np.ndarray, list, tuple)) else as_ids(ids)
        if self._dense is not None:
            numbers = _integers(listed)
            if numbers is not None:
                low, table = self._dense
                rows = np.empty(numbers.size, np.int64)
                wrong, place = find_rows(numbers, low, table, rows)
                if wrong != CLEAN:
                    raise InvalidInput("ids", "is not in the catalogue", int(numbers[place]), where=place)
                return rows
        names = as_ids(listed)
        try:
            return np.fromiter(map(self._index.__getitem__, names), np.int64, len(names))
        except KeyError as why:
            raise self._unknown(names) from why

    def _unknown(self, names: tuple[ItemId, ...]) -> InvalidInput:
        place = next(place for place, item in enumerate(names) if item not in self._index)
        return InvalidInput("ids", "is not in the catalogue", names[place], where=place)

    def pool(self, ids: Any, scores: Any, widths: Any = None) -> Pool:
        """A pool of catalogue items: facts are looked up, scores and widths are the learner's. Refuses what ``Pool`` refuses."""
        rows = self.rows_of(ids)
        size = rows.size
        if size == 0:
            raise InvalidInput("ids", "a pool needs at least one candidate")
        mu = _column(scores, "scores", size)
        sigma = np.empty(0) if widths is None else _column(widths, "widths", size)
        facts, seen = np.empty(size), np.empty(2 << size.bit_length(), np.int64)
        wrong, place = check_catalog_pool(rows, mu, sigma, self.targets, facts, seen)
        if wrong != CLEAN:
            raise _refusal(wrong, self.ids[int(rows[place])], mu, sigma, place)
        column: Any
        for column in (rows, mu, sigma, facts):
            column.setflags(False)  # the first argument is ``write``
        return Pool._trusted(
            _ids=None, scores=mu, targets=facts, widths=None if widths is None else sigma,
            similarity=self.similarity, rows=rows, rank=rows, catalog=self,
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (self.ids, self.targets, self.similarity))


def _restore(ids: tuple[ItemId, ...], targets: Floats, similarity: Similarity) -> Catalog:
    """Unpickle: the parts were validated when the catalogue was made."""
    catalog = object.__new__(Catalog)
    fields = {"ids": ids, "targets": targets, "similarity": similarity, "_digest": None, "_dense": _dense_lookup(ids)}
    for name, value in {**fields, "_index": {item: row for row, item in enumerate(ids)}}.items():
        object.__setattr__(catalog, name, value)
    return catalog


def _integers(ids: Any) -> Ints | None:
    """The ids as int64 where all are plain integers of at most 64 bits; None where they must be looked at one by one."""
    if isinstance(ids, np.ndarray):
        return ids.astype(np.int64, copy=False) if ids.dtype.kind == "i" and ids.ndim == 1 else None
    if set(map(type, ids)) != {int}:
        return None
    try:
        return np.array(ids, np.int64)
    except OverflowError:
        return None


def _column(values: Any, field: str, size: int) -> Floats:
    """A private float64 copy of the right shape; finiteness is checked with everything else in one compiled pass."""
    try:
        column = np.array(as_numbers(values), dtype=np.float64)
    except (TypeError, ValueError) as why:
        raise InvalidInput(field, f"must be a column of numbers ({why})") from why
    if column.ndim != 1 or column.size != size:
        raise InvalidInput(field, f"must have one value per id ({size})", column.shape)
    return column


def _refusal(wrong: int, item: ItemId, scores: Floats, widths: Floats, place: int) -> InvalidInput:
    if wrong == DUPLICATE:
        return InvalidInput("ids", "must not repeat an id", item, where=place)
    if wrong in (WIDTH, NEGATIVE_WIDTH):
        rule = "must be finite" if wrong == WIDTH else "must be at least 0"
        return InvalidInput("widths", rule, float(widths[place]), where=item)
    return InvalidInput("scores", "must be finite", float(scores[place]), where=item)


def _dense_lookup(ids: tuple[ItemId, ...]) -> tuple[int, Ints] | None:
    """(smallest id, row by offset or -1) where ids are integers in a range at most eight times their number; else None."""
    if not isinstance(ids[-1], int):
        return None
    low, high = ids[0], ids[-1]
    if not isinstance(low, int) or high - low >= 8 * len(ids) + 1024:
        return None
    table = np.full(high - low + 1, -1, np.int64)
    table[np.array(ids, np.int64) - low] = np.arange(len(ids))
    return low, frozen(table)


def _digest(catalog: Catalog) -> str:
    source = catalog.similarity
    hasher = hashlib.sha256(b"slateproof catalogue 1\n")
    for item in catalog.ids:
        encoded = item.to_bytes(8, "little", signed=True) if isinstance(item, int) else item.encode()
        hasher.update(b"i" if isinstance(item, int) else b"s" + len(encoded).to_bytes(8, "little"))
        hasher.update(encoded)
    for name, array in (
        ("targets", catalog.targets),
        ("vectors", source.vectors),
        ("matrix", source.matrix),
        ("tag_ptr", source.tag_ptr),
        ("tag_ids", source.tag_ids),
    ):
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        hasher.update(f"\n{name} {little.dtype.str} {little.shape} ".encode())
        hasher.update(little.tobytes())
    return hasher.hexdigest()
