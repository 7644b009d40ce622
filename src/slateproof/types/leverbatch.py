"""Levers and states of a batch as columns, from whatever a caller has: one for all, a sequence, or columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slateproof.errors import InvalidInput
from slateproof.types.arrowlists import null_places
from slateproof.types.columns import Floats, Ints, as_numbers, frozen
from slateproof.types.ids import ItemId, as_ids
from slateproof.types.levers import Levers
from slateproof.types.row import Row, refuse
from slateproof.types.state import PRIOR, State

__all__ = ["LeverBatch", "StateBatch", "column_of"]

LEVERS = ("target_shift", "exploration", "diversity", "size")
STATES = ("knowledge", "engagement", "uncertainty")

_RANGES = {"target_shift": (-1.0, 1.0), "exploration": (0.0, np.inf), "diversity": (0.0, 1.0), "size": (1.0, np.inf)}


def column_of(columns: Any, name: str, size: int, low: float, high: float, default: float | None = None) -> Floats:
    """Column ``name`` of a mapping or Arrow table as ``size`` finite floats in [low, high], a private copy.

    With a ``default`` it stands for a missing column, and for the nulls of an Arrow column. Bad rows are refused together.
    """
    present = columns.column_names if isinstance(columns, (pa.Table, pa.RecordBatch)) else columns
    if name not in present:
        if default is None:
            raise InvalidInput(name, "the column is missing")
        return frozen(np.full(size, default))
    value = columns[name]
    if isinstance(value, (pa.ChunkedArray, pa.Array)):
        value = _without_nulls(value, name, default)
    try:
        column = np.array(as_numbers(value), np.float64)
    except (TypeError, ValueError) as why:
        raise InvalidInput(name, f"must be a column of numbers ({why})") from why
    if column.shape != (size,):
        raise InvalidInput(name, f"must have one value per pool ({size})", column.shape)
    bad = np.flatnonzero(~((column >= low) & (column <= high) & np.isfinite(column)))
    rule = f"must be finite and at least {low:g}" if high == np.inf else f"must lie in [{low:g}, {high:g}]"
    refuse([InvalidInput(name, rule, float(column[row]), where=Row(int(row))) for row in bad])
    return frozen(column)


def _without_nulls(column: Any, name: str, default: float | None) -> Any:
    """An Arrow column of numbers with ``default`` for its nulls; refuses those rows where there is none."""
    if column.null_count:
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if default is None:
            refuse([InvalidInput(name, "must not be null", where=Row(int(row))) for row in null_places(column)])
        if pa.types.is_null(column.type):
            return np.full(len(column), default)
        if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
            return column.cast(pa.float64(), safe=False).fill_null(default).to_numpy(zero_copy_only=False)
    return column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()


@dataclass(frozen=True, slots=True, eq=False)
class LeverBatch:
    """One value per pool of each lever; the same ranges as ``Levers``.

    Scope: none; a setting carries no claim.
    """

    target_shift: Floats
    exploration: Floats
    diversity: Floats
    size: Ints

    @classmethod
    def of(cls, levers: Any, size: int) -> LeverBatch:
        """From ``Levers`` (the same for all), a sequence of them, or columns (mapping or Arrow table)."""
        if isinstance(levers, LeverBatch):
            return _sized(levers, levers.size.size, size, "levers")
        if isinstance(levers, Levers):
            return cls(*(frozen(np.full(size, getattr(levers, name))) for name in LEVERS))
        if isinstance(levers, (Mapping, pa.Table, pa.RecordBatch)):
            shift, exploration, diversity, length = (column_of(levers, name, size, *_RANGES[name]) for name in LEVERS)
            broken = np.flatnonzero((np.floor(length) != length) | (length >= 2.0**63))
            rule = "must be a whole number"
            refuse([InvalidInput("size", rule, float(length[row]), where=Row(int(row))) for row in broken])
            return cls(shift, exploration, diversity, frozen(length.astype(np.int64)))
        listed = _listed(levers, Levers, "levers", size)
        shift, exploration, diversity = (
            frozen(np.array([getattr(one, name) for one in listed], np.float64)) for name in LEVERS[:3]
        )
        return cls(shift, exploration, diversity, frozen(np.array([one.size for one in listed], np.int64)))

    def __getitem__(self, b: int) -> Levers:
        """The levers of pool ``b``."""
        return Levers(*(getattr(self, name)[b].item() for name in LEVERS))


@dataclass(frozen=True, slots=True, eq=False)
class StateBatch:
    """One state per pool, as columns; ``shown`` is one tuple of ids per pool, or a single one for all.

    Scope: none; whether a state may support a privacy claim is declared in the policy.
    """

    knowledge: Floats
    engagement: Floats
    uncertainty: Floats
    shown: tuple[tuple[ItemId, ...], ...]

    @classmethod
    def of(cls, states: Any, size: int) -> StateBatch:
        """From a ``State`` (the same for all), a sequence of them, or columns (mapping or Arrow; missing or null is neutral)."""
        if isinstance(states, StateBatch):
            return _sized(states, states.knowledge.size, size, "states")
        if isinstance(states, State):
            columns = {name: frozen(np.full(size, getattr(states, name))) for name in STATES}
            return cls(**columns, shown=(states.shown,))
        if isinstance(states, (Mapping, pa.Table, pa.RecordBatch)):
            columns = {name: column_of(states, name, size, 0.0, 1.0, PRIOR) for name in STATES}
            return cls(**columns, shown=_shown_column(states, size))
        listed = _listed(states, State, "states", size)
        columns = {name: frozen(np.array([getattr(one, name) for one in listed])) for name in STATES}
        return cls(**columns, shown=tuple(one.shown for one in listed))

    def shown_of(self, b: int) -> tuple[ItemId, ...]:
        """The novelty memory of pool ``b``."""
        return self.shown[b] if len(self.shown) > 1 else self.shown[0]

    def __getitem__(self, b: int) -> State:
        """The state of pool ``b``."""
        knowledge, engagement, uncertainty = float(self.knowledge[b]), float(self.engagement[b]), float(self.uncertainty[b])
        return State(knowledge, engagement, uncertainty, self.shown_of(b))


def _sized(batch: Any, found: int, size: int, field: str) -> Any:
    if found != size:
        raise InvalidInput(field, f"must have one entry per pool ({size})", found)
    return batch


def _listed(values: Any, kind: type, field: str, size: int) -> list[Any]:
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        raise InvalidInput(field, f"must be one {kind.__name__}, a sequence of them, or columns", type(values).__name__)
    _sized(values, len(values), size, field)
    for place, value in enumerate(values):
        if not isinstance(value, kind):
            raise InvalidInput(field, f"must hold {kind.__name__} values", type(value).__name__, where=Row(place))
    return list(values)


def _shown_column(states: Any, size: int) -> tuple[tuple[ItemId, ...], ...]:
    present = states.column_names if isinstance(states, (pa.Table, pa.RecordBatch)) else states
    if "shown" not in present:
        return ((),)
    value = states["shown"]
    listed = value.to_pylist() if hasattr(value, "to_pylist") else list(value)
    _sized(listed, len(listed), size, "shown")
    memories: list[tuple[ItemId, ...]] = []
    bad = []
    for row, ids in enumerate(listed):
        try:
            memories.append(() if ids is None else as_ids(ids, field="shown"))
        except InvalidInput as why:
            bad.append(InvalidInput(why.field, why.rule, why.value, where=Row(row)))
    refuse(bad)
    return tuple(memories)
