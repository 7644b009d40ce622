"""Pools that no catalogue knows, many at once, for selecting again: ids, facts and logged similarities as columns.

Where a similarity was not asked for, its lower bound stands. No objective is then below its true value, so where the kernel gives
the logged slate and all similarities of chosen items and runner-ups are there, the slate follows from the log, as in ``queried``.

Scope: stability only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slateproof.errors import InvalidInput
from slateproof.types.columns import frozen
from slateproof.types.poolbatch import Matrices, PoolBatch

__all__ = ["flat", "handfuls", "own_pools", "same_ids"]

ROOM = 1 << 22
"""Similarities that are laid out at a time, 8 bytes each."""


def flat(part: pa.RecordBatch, name: str) -> tuple[Any, Any]:
    """(values, offsets from 0) of a list column of numbers without nulls."""
    values, offsets = _flat_array(part, name)
    return values.to_numpy(zero_copy_only=False), offsets


def _flat_array(part: pa.RecordBatch, name: str) -> tuple[pa.Array, Any]:
    column = part.column(name)
    offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    return column.values.slice(offsets[0], offsets[-1] - offsets[0]), offsets - offsets[0]


def handfuls(rows: Any, sizes: Any) -> list[Any]:
    """``rows`` cut so that the matrices of their pools, of these ``sizes``, have ``ROOM``; at least one at a time."""
    reach = np.cumsum(sizes.astype(np.int64) ** 2) // ROOM
    return np.split(rows, np.flatnonzero(np.diff(reach)) + 1)


def own_pools(part: pa.RecordBatch) -> tuple[PoolBatch, Any]:
    """The pools as logged, and per record whether its logged similarities settle the logged choice; refuses what a pool would."""
    scores, offsets = flat(part, "scores")
    sizes = np.diff(offsets)
    facts = {name: _facts(part, name, offsets) for name in ("scores", "targets", "widths")}
    if not sizes.all() or facts["targets"].min() < 0.0 or facts["targets"].max() > 1.0:
        raise InvalidInput("targets", "must lie in [0, 1], one per candidate")
    if facts["widths"] is not None and facts["widths"].min() < 0.0:
        raise InvalidInput("widths", "must be at least 0")
    names, integers = _names(part, offsets)
    everyone = np.arange(scores.size)
    matrices, settled = _matrices(part, offsets) if part.column("similarity_known").null_count == 0 else (None, True)
    pools = PoolBatch(
        offsets=frozen(offsets),
        scores=facts["scores"],
        targets=facts["targets"],
        widths=facts["widths"],
        rank=frozen(names.to_numpy().astype(np.int64) if integers else everyone),
        rows=frozen(everyone),
        matrices=matrices,
        names=names,
        ranks_are_ids=integers,
    )
    return pools, settled


def _facts(part: pa.RecordBatch, name: str, offsets: Any) -> Any:
    if part.column(name).null_count:
        return None
    values, ends = flat(part, name)
    if not np.array_equal(ends, offsets) or not np.isfinite(values).all():
        raise InvalidInput(name, "must be finite, one per candidate")
    return values


def _names(part: pa.RecordBatch, offsets: Any) -> tuple[pa.Array, bool]:
    """The candidate ids, and whether they are integers; refuses ids that do not rise within each pool."""
    integers = part.column("candidate_int").null_count == 0
    names, ends = _flat_array(part, "candidate_int" if integers else "candidate_str")
    rising = np.asarray(pc.less(names[:-1], names[1:]))
    if not np.array_equal(ends, offsets) or not (rising | np.isin(np.arange(1, len(names)), offsets)).all():
        raise InvalidInput("candidates", "must stand in id order, each once")
    return names, integers


def _matrices(part: pa.RecordBatch, offsets: Any) -> tuple[Matrices, Any]:
    """One matrix per pool from the logged values, the lower bound elsewhere; and which records' choices they settle."""
    sizes = np.diff(offsets)
    pool = np.repeat(np.arange(sizes.size), sizes)
    starts = np.concatenate([[0], np.cumsum(sizes * sizes)])
    (known, ends), (values, value_ends) = flat(part, "similarity_known"), flat(part, "similarity_values")
    chosen, step_ends = flat(part, "chosen")
    steps = np.diff(step_ends)
    if not np.array_equal(ends, offsets) or not steps.all() or known.min() < 0 or (known > steps[pool]).any():
        raise InvalidInput("similarity_known", "must count the logged similarities of every candidate")
    if not np.array_equal(np.add.reduceat(known, offsets[:-1], dtype=np.int64), np.diff(value_ends)):
        raise InvalidInput("similarity_values", "must hold what similarity_known counts")
    if (chosen < 0).any() or (chosen >= np.repeat(sizes, steps)).any():
        raise InvalidInput("chosen", "must be places among the candidates")
    lower, higher = (part.column(f"similarity_{name}").to_numpy(zero_copy_only=False) for name in ("lower", "higher"))
    candidate = np.repeat(np.arange(known.size), known)
    owner = pool[candidate]
    if not (np.isfinite(lower) & np.isfinite(higher)).all() or not ((values >= lower[owner]) & (values <= higher[owner])).all():
        raise InvalidInput("similarity_values", "must be finite and within their bounds")
    within = np.arange(values.size) - np.repeat(np.cumsum(known) - known, known)
    i, j = candidate - offsets[owner], chosen[step_ends[owner] + within]
    there, back = starts[owner] + i * sizes[owner] + j, starts[owner] + j * sizes[owner] + i
    table = np.repeat(lower, sizes * sizes)
    table[back] = values
    table[there] = values
    # A pair that was logged twice with different values has no place in a matrix.
    at_odds = np.bincount(owner[(table[there] != values) | (table[back] != values)], minlength=sizes.size) > 0
    return Matrices(frozen(table), frozen(starts), lower, higher), ~at_odds & _settled(part, offsets, known)


def _settled(part: pa.RecordBatch, offsets: Any, known: Any) -> Any:
    """Per record, whether chosen items and runner-ups were compared with all items before them, if anything was."""
    good = np.ones(len(part), bool)
    for name in ("chosen", "runners"):
        places, ends = flat(part, name)
        record = np.repeat(np.arange(len(part)), np.diff(ends))
        step = np.arange(places.size) - ends[record]
        fits = places < np.diff(offsets)[record]
        asked = known[offsets[record] + np.where(fits, np.maximum(places, 0), 0)]
        good &= np.bincount(record[~(fits & ((places < 0) | (asked >= step)))], minlength=len(part)) == 0
    unasked = part.column("diversity").to_numpy(zero_copy_only=False) == 0.0
    return good | unasked | (part.column("rule_kind")[0].as_py() == "top-k")


def same_ids(part: pa.RecordBatch, pools: PoolBatch, flat_chosen: Any, starts: Any) -> Any:
    """Per record, whether the slate's ids in the log are those of the candidates at ``flat_chosen``; ``starts``: the steps."""
    assert pools.names is not None
    name, other = ("slate_int", "slate_str") if pools.ranks_are_ids else ("slate_str", "slate_int")
    if part.column(name).null_count or part.column(other).null_count < len(part) or part.column("slate_at").null_count < len(part):
        return np.zeros(len(part), bool)
    logged, ends = _flat_array(part, name)
    if not np.array_equal(ends, starts):
        return np.zeros(len(part), bool)
    return np.logical_and.reduceat(np.asarray(pc.equal(logged, pools.names.take(pa.array(flat_chosen)))), starts[:-1])
