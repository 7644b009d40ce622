"""Where similarities come from: unit vectors, a dense matrix, item tags, or nothing.

A source is a table of rows; a pool maps its candidates to rows. Values are computed only when a selector asks for them, always
in the same order of operations, so a similarity is the same number on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from slateproof.errors import InvalidInput
from slateproof.types.columns import Floats, Ints, as_listed, as_numbers, frozen

__all__ = ["NONE", "Similarity", "SimilarityKind", "unit"]

SimilarityKind = Literal["none", "vectors", "matrix", "tags"]

UNIT_TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}
"""How far a row's norm may lie from 1, by storage: a float32 row cannot be nearer than its own rounding."""

MEAN_SLACK = 1e-9
"""Relative room for the rounding of a mean of up to a million similarities (each addition errs by at most 2^-53)."""

_NO_VECTORS: Floats = frozen(np.zeros((0, 0)))
_NO_INTS: Ints = frozen(np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Similarity:
    """One similarity source over ``rows`` items.

    * ``vectors``: (rows, d) float64 or float32, unit rows; sim = dot product summed in index order in float64.
    * ``matrix``: (rows, rows) float64, finite, exactly symmetric; sim = the entry.
    * ``tags``: integer tag sets in CSR form (``tag_ptr``, ``tag_ids`` sorted per row); sim = Jaccard index, the correctly rounded
      quotient of two integers, 0 for two items without tags.
    * ``none``: nothing is similar to anything; sim = 0.

    ``code`` is the kind as the small integer that kernels branch on, ``flat`` the matrix as one row-major column. No similarity of
    the source, and no mean of some, lies outside [``lower``, ``higher``]; lazy evaluation relies on it.

    Scope: none; an input carries no claim.
    """

    kind: SimilarityKind = "none"
    rows: int = 0
    vectors: NDArray[Any] = field(default_factory=lambda: _NO_VECTORS)
    matrix: Floats = field(default_factory=lambda: _NO_VECTORS)
    tag_ptr: Ints = field(default_factory=lambda: _NO_INTS)
    tag_ids: Ints = field(default_factory=lambda: _NO_INTS)
    lower: float = 0.0
    higher: float = 0.0
    code: int = field(init=False)
    flat: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", get_args(SimilarityKind).index(self.kind))
        object.__setattr__(self, "flat", self.matrix.reshape(-1))

    @classmethod
    def of_vectors(cls, vectors: Any, ids: Sequence[Any], field: str = "vectors") -> Similarity:
        """Unit row vectors; refuses a wrong shape, non-finite entries and rows not of norm 1 (``sp.unit`` makes them so)."""
        table = _table(vectors, field, keep_float32=True)
        if table.shape[0] != len(ids):
            raise InvalidInput(field, f"must have one row per id ({len(ids)})", table.shape[0])
        if table.shape[1] == 0:
            raise InvalidInput(field, "must have at least one dimension", table.shape)
        tolerance = UNIT_TOLERANCE[table.dtype]
        wide = table.astype(np.float64, copy=False)
        norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
        # `not (|norm - 1| <= tol)` also catches NaN and infinities.
        bad = ~(np.abs(norms - 1.0) <= tolerance)
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            raise InvalidInput(
                field,
                f"rows must be finite unit vectors (norm within {tolerance:g} of 1; see sp.unit)",
                float(norms[place]),
                where=ids[place],
            )
        # Cauchy-Schwarz with both norms at the tolerance, and room for the rounding of the sum.
        reach = (1.0 + tolerance) ** 2 + 1e-9
        return cls(kind="vectors", rows=len(ids), vectors=frozen(table), lower=-reach, higher=reach)

    @classmethod
    def of_matrix(cls, matrix: Any, ids: Sequence[Any], field: str = "similarity") -> Similarity:
        """A dense similarity matrix; refuses a wrong shape, non-finite entries and asymmetry (entries must agree exactly)."""
        table = _table(matrix, field, keep_float32=False)
        if table.shape != (len(ids), len(ids)):
            raise InvalidInput(field, f"must be square with one row per id ({len(ids)})", table.shape)
        if not np.isfinite(table).all():
            row, column = (int(x[0]) for x in np.nonzero(~np.isfinite(table)))
            raise InvalidInput(field, "must be finite", float(table[row, column]), where=(ids[row], ids[column]))
        if (table != table.T).any():
            row, column = (int(x[0]) for x in np.nonzero(table != table.T))
            pair = (float(table[row, column]), float(table[column, row]))
            raise InvalidInput(field, "must be exactly symmetric; (S + S.T) / 2 is", pair, where=(ids[row], ids[column]))
        lower, higher = float(table.min()), float(table.max())
        slack = MEAN_SLACK * max(-lower, higher)
        return cls(kind="matrix", rows=len(ids), matrix=frozen(table), lower=lower - slack, higher=higher + slack)

    @classmethod
    def of_tags(cls, tags: Iterable[Iterable[int]], ids: Sequence[Any], field: str = "tags") -> Similarity:
        """Integer tag sets, one iterable per id; a repeated tag counts once. Refuses tags that are not 64-bit integers."""
        listed = list(as_listed(tags, field))
        if len(listed) != len(ids):
            raise InvalidInput(field, f"must have one set of tags per id ({len(ids)})", len(listed))
        sets = [_tag_set(value, field, ids[place]) for place, value in enumerate(listed)]
        ptr = np.zeros(len(sets) + 1, np.int64)
        np.cumsum([len(s) for s in sets], out=ptr[1:])
        flat = np.array([tag for s in sets for tag in s], np.int64)
        return cls(kind="tags", rows=len(ids), tag_ptr=frozen(ptr), tag_ids=frozen(flat), lower=0.0, higher=1.0 + MEAN_SLACK)

    def take(self, rows: Ints) -> Similarity:
        """The source restricted to ``rows``, in that order."""
        if self.kind == "vectors":
            return _replace(self, rows=len(rows), vectors=frozen(self.vectors[rows]))
        if self.kind == "matrix":
            return _replace(self, rows=len(rows), matrix=frozen(np.ascontiguousarray(self.matrix[np.ix_(rows, rows)])))
        if self.kind == "tags":
            sizes = self.tag_ptr[rows + 1] - self.tag_ptr[rows]
            ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            parts = [self.tag_ids[self.tag_ptr[r] : self.tag_ptr[r + 1]] for r in rows]
            return _replace(self, rows=len(rows), tag_ptr=frozen(ptr), tag_ids=frozen(np.concatenate([_NO_INTS, *parts])))
        return self


NONE = Similarity()
"""The source of a pool without similarities."""


def _replace(source: Similarity, **changes: Any) -> Similarity:
    fields = {
        name: getattr(source, name) for name in ("kind", "rows", "vectors", "matrix", "tag_ptr", "tag_ids", "lower", "higher")
    }
    return Similarity(**{**fields, **changes})


def _table(values: Any, field: str, *, keep_float32: bool) -> NDArray[Any]:
    """A private two-dimensional copy in C order; float32 is kept where allowed, all else becomes float64."""
    try:
        given = as_numbers(values)
        wanted = np.float32 if keep_float32 and given.dtype == np.float32 else np.float64
        table = np.array(given, dtype=wanted, order="C")
    except (TypeError, ValueError) as why:
        raise InvalidInput(field, f"must be a table of numbers ({why})") from why
    if table.ndim != 2:
        raise InvalidInput(field, "must have two dimensions", table.shape)
    return table


def _tag_set(values: Iterable[int], field: str, item: Any) -> list[int]:
    listed = list(as_listed(values.tolist() if isinstance(values, np.ndarray) else values, field, item))
    for tag in listed:
        if isinstance(tag, bool) or not isinstance(tag, (int, np.integer)) or not -(2**63) <= tag < 2**63:
            raise InvalidInput(field, "a tag must be a 64-bit integer", tag, where=item)
    return sorted({int(tag) for tag in listed})


def unit(vectors: Any) -> Floats:
    """Rows scaled to unit norm, in float64: (n, d) in, (n, d) out. Refuses rows of norm 0 and non-finite entries.

    Scope: none; preparation of an input.
    """
    table = _table(vectors, "vectors", keep_float32=False)
    # Scale by the largest entry first, so that no square over- or underflows.
    largest = np.abs(table).max(axis=1, initial=0.0, keepdims=True)
    bad = ~(np.isfinite(largest[:, 0]) & (largest[:, 0] > 0.0))
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise InvalidInput("vectors", "a row must be finite and not zero to have a direction", where=place)
    scaled = table / largest
    result: Floats = scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    return result
