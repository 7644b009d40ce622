"""Numeric columns, checked and frozen: float64, one dimension, finite.

Scope: none; validation only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from slateproof.errors import InvalidInput

__all__ = ["Floats", "Ints", "as_floats", "as_listed", "as_numbers", "check_range", "finite_scalar", "frozen"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, closed for writing."""
    array.flags.writeable = False
    return array


def as_numbers(values: Any) -> NDArray[Any]:
    """``values`` as an array of real numbers, of whatever width.

    Text, truth values, complex numbers, dates and masked entries are not repaired into numbers. Raises ``TypeError`` or
    ``ValueError``, for the caller to name the field.
    """
    if np.ma.is_masked(values):
        raise TypeError("with masked entries")
    array = np.asarray(values)
    if array.dtype.kind in "USVcmMb":
        raise TypeError(f"of type {array.dtype}")
    if isinstance(values, (list, tuple)):
        _check_kinds(values)
    if array.dtype.kind != "O":
        return array
    _check_kinds(array.ravel().tolist())
    try:
        return array.astype(np.float64)
    except OverflowError as why:
        raise ValueError(str(why)) from why


def _check_kinds(values: Any) -> None:
    """Refuse text and truth values, which NumPy would turn into numbers, in a list or in a list of lists."""
    kinds: set[type] = set(map(type, values))
    if not kinds.isdisjoint((list, tuple)):
        for row in values:
            if isinstance(row, (list, tuple)):
                kinds.update(map(type, row))
    for kind in kinds:
        if issubclass(kind, (bool, np.bool_, str, bytes)):
            raise TypeError(f"of type {kind.__name__}")


def as_listed(values: Any, field: str, where: object = None) -> Iterable[Any]:
    """``values`` where one can go through them; refuses everything else, and text, by name."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInput(field, "must be a sequence", type(values).__name__, where=where)
    return values


def as_floats(values: Any, field: str, size: int, ids: Sequence[Any]) -> Floats:
    """A private, read-only float64 copy of ``values``; refuses another length and anything that is not a finite number.

    ``ids`` names the offender: the error carries the first id whose value breaks the rule.
    """
    try:
        column = np.array(as_numbers(values), dtype=np.float64, order="C")
    except (TypeError, ValueError) as why:
        raise InvalidInput(field, f"must be a column of numbers ({why})") from why
    if column.ndim != 1:
        raise InvalidInput(field, "must have one dimension", column.shape)
    if column.size != size:
        raise InvalidInput(field, f"must have one value per id ({size})", column.size)
    # One reduction tells whether all is well: inf - inf and NaN survive no sum of v * 0.
    if not np.isfinite(column).all():
        place = int(np.flatnonzero(~np.isfinite(column))[0])
        raise InvalidInput(field, "must be finite", float(column[place]), where=ids[place])
    return frozen(column)


def check_range(column: Floats, field: str, low: float, high: float, ids: Sequence[Any]) -> None:
    """Refuse values outside ``[low, high]``, naming the first id that breaks the rule."""
    bad = (column < low) | (column > high)
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        rule = f"must be at least {low:g}" if high == np.inf else f"must lie in [{low:g}, {high:g}]"
        raise InvalidInput(field, rule, float(column[place]), where=ids[place])


def finite_scalar(value: Any, field: str, low: float = -np.inf, high: float = np.inf) -> float:
    """``value`` as a float in ``[low, high]``; refuses booleans, NaN, infinities and everything that is not a number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidInput(field, "must be a number", value)
    try:
        number = float(value)
    except OverflowError as why:
        raise InvalidInput(field, "must be finite (the integer is too large for a float)") from why
    if not np.isfinite(number):
        raise InvalidInput(field, "must be finite", number)
    if not low <= number <= high:
        rule = f"must be at least {low:g}" if high == np.inf else f"must lie in [{low:g}, {high:g}]"
        raise InvalidInput(field, rule, number)
    return number
